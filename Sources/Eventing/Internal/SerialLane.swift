public import Dispatch
import Synchronization

/// The lane of a handler that runs one call at a time, in order: on a queue, in a task, or on an actor.
///
/// It is scheduled when something comes and it had run dry, drains what there is in batches, and gives way after some hundred calls,
/// because the main queue, or a pool of two threads, is also for others: 25 ns a call instead of 300 for a block each.
// Safe: `items`, `phase` and `isEnding` are guarded by `lock`; the rest belongs to the one drain that runs, or is scheduled, while the phase is `running`, and to
// whoever has the lock while it is `paused`.
@usableFromInline final class SerialLane<Payload: Sendable>: Lane<Payload>, @unchecked Sendable {
  // The drain's, as all that is inherited.
  @usableFromInline @exclusivity(unchecked) var batch: ContiguousArray<LaneItem<Payload>> = []
  @usableFromInline @exclusivity(unchecked) var at = 0
  @usableFromInline @exclusivity(unchecked) var queue: DispatchQueue?
  private let line = CacheLine()
  // Of those who send.
  @usableFromInline let lock = Lock()
  // Under the lock.
  @usableFromInline @exclusivity(unchecked) var items: ContiguousArray<LaneItem<Payload>> = []
  @usableFromInline @exclusivity(unchecked) var phase = LanePhase.idle
  @exclusivity(unchecked) var isEnding = false
  /// Instead of `items` and `batch`, if the lane is bounded: what is dropped may be anywhere in line, so the drain takes one by one.
  @exclusivity(unchecked) var bounded: LaneQueue<Payload>?

  @usableFromInline let isMain: Bool
  @usableFromInline let isBounded: Bool
  /// There for asynchronous handlers: only they can wait.
  @usableFromInline let seat: Seat?
  @usableFromInline let executor: (any TaskExecutor)?

  @usableFromInline static var callsBeforeGivingWay: Int { 256 }

  @usableFromInline override init(_ record: DetailedRecord, _ home: Home, _ body: Handler<Payload>.Body) {
    var isMain = false
    if case .main = record.place { isMain = true }
    switch body {
    case .direct, .sync:
      self.isMain = isMain
      seat = nil
      executor = nil
    default:
      self.isMain = isMain
      seat = Seat()
      executor = Scheduling.executorOfThisTask
    }
    let buffering = record.place.buffering
    isBounded = buffering.isBounded
    unsafe bounded = isBounded ? LaneQueue(buffering) : nil
    super.init(record, home, body)
    #if DEBUG
      seat?.lane = self
    #endif
  }

  override func needs(_ goal: Running) -> WaitNeeds { seat.map { .any([$0]) } ?? .free }

  // MARK: For the event, from inside it

  /// Takes a handler's part in an occurrence: calls it, or queues it.
  @inlinable @inline(__always) func take(_ payload: Payload, _ tally: inout Tally) {
    if isMain, seat == nil, Scheduling.isOnMainQueue, let outcome = callHere(payload, tally.watched) {
      return tally.count(outcome)
    }
    let flight = tally.flightForLane()
    if let flight, flight.isAwaited { flight.expect(self) }
    if push(.call(payload, flight)) { tally.taken &+= 1 }
  }

  /// Takes its part in a post for which there was nothing to decide: nobody waits, and nobody observes the event.
  @inlinable @inline(__always) func takePost(_ payload: Payload) {
    if isMain, seat == nil, Scheduling.isOnMainQueue, callHere(payload, nil) != nil { return }
    push(.call(payload, CarriedContext.isCarrying ? Flight(.post) : nil))
  }

  @usableFromInline override func finish() -> Bool {
    var held: [LaneItem<Payload>] = []
    lock.lock()
    unsafe isEnding = true
    let isRunning = unsafe phase == .running
    if isRunning {
      if isBounded { _ = unsafe bounded?.append(.end) } else { unsafe items.append(.end) }
    } else if unsafe phase == .paused {
      held = takeAll()
    }
    lock.unlock()
    for case .call(_, let flight) in held { countSkipped(flight) }
    if !isRunning { close() }
    return !isRunning
  }

  override func resume() {
    lock.lock()
    let isPaused = unsafe phase == .paused
    if isPaused { unsafe phase = .running }
    lock.unlock()
    if isPaused { schedule() }
  }

  @usableFromInline override func sendBarrier(_ flight: Flight) {
    if mutant(.barrierOvertakes) { return }
    flight.expect(self)
    push(.barrier(flight))
  }

  /// False if there is no room.
  @inlinable @discardableResult func push(_ item: LaneItem<Payload>) -> Bool {
    if isBounded { return pushBounded(item) }
    lock.lock()
    guard unsafe phase != .paused else {
      lock.unlock()
      return pushPaused(item)
    }
    unsafe items.append(item)
    let start = unsafe phase == .idle || mutant(.laneRunsTwice)
    unsafe phase = .running
    lock.unlock()
    if start { schedule() }
    return true
  }

  /// On main: calls at once if nothing is queued and no call is running, since a call that posts must not be entered again. Nil: queue it.
  @inlinable func callHere(_ payload: Payload, _ watched: Watched?) -> Outcome? {
    lock.lock()
    let isFree = unsafe phase == .idle
    if isFree { unsafe phase = .running }
    lock.unlock()
    guard isFree else { return nil }
    var outcome = unsafe callNow(payload, body, watched)
    while case .skipped = outcome {
      switch refused(payload, .late(watched)) {
      case .skip: break
      case .retry:
        outcome = unsafe callNow(payload, body, watched)
        continue
      case .pause: return .held
      }
      break
    }
    conclude(outcome, nil, at: self)
    lock.lock()
    let isDry = unsafe isBounded ? isBoundedDry : items.isEmpty
    if isDry { unsafe phase = .idle }
    lock.unlock()
    if !isDry { schedule() }
    return outcome
  }

  // MARK: The drain

  @inlinable @inline(never) func schedule() {
    switch record.place {
    case .queue(let queue, _): Scheduling.block(on: queue) { self.drainQueue() }
    case .background(let priority, _):
      let queue = unsafe queue ?? Scheduling.backgroundQueue(priority)
      unsafe self.queue = queue
      Scheduling.block(on: queue) { self.drainQueue() }
    case .main where seat == nil: Scheduling.mainBlock { self.drainQueue() }
    case .main: Scheduling.task(priority: nil, on: executor) { await self.drainTask(on: MainActor.shared) }
    case .actor: Scheduling.task(priority: nil, on: executor) { await self.drainOnOwner() }
    case .inOrder(let priority, _): Scheduling.task(priority: priority, on: executor) { await self.drainTask(on: nil) }
    case .inline, .concurrent, .task, .sequence: preconditionFailure("\(record.place) has no serial lane")
    }
  }

  @inlinable func drainQueue() {
    if isMain { Scheduling.checkMain() }
    guard let body = unsafe body, isPlain, body.isDirect else { return drainDetailed() }
    // Held for all calls: one that is loaded for each call is retained for each.
    let direct = body.direct
    var left = SerialLane.callsBeforeGivingWay
    while let (payload, flight) = next(&left) {
      let isBound = if let flight { flight.isBound } else { false }
      guard conclude(isBound ? callNow(payload, body, flight) : callDirect(payload, direct), payload, flight) else { return }
    }
  }

  @inlinable @inline(never) func drainDetailed() {
    let body = unsafe body
    var left = SerialLane.callsBeforeGivingWay
    while let (payload, flight) = next(&left) {
      guard conclude(callNow(payload, body, flight), payload, flight) else { return }
    }
  }

  /// Isolated to the handler's actor: one hop a batch, and none between the claim and the call.
  @inlinable func drainTask(on place: isolated (any Actor)?) async {
    var left = SerialLane.callsBeforeGivingWay
    while await drainBound(&left, on: place) {}
  }

  /// Runs calls under one binding of ``Context/running``, until there are none or one leaves a task behind.
  ///
  /// - Returns: whether there may be more.
  @inlinable func drainBound(_ left: inout Int, on place: isolated (any Actor)?) async -> Bool {
    guard let seat else { preconditionFailure("an asynchronous handler has a seat") }
    let running = unsafe Unmanaged.passRetained(Running(seat))
    return await Context.running.withValue(unsafe running.takeRetainedValue()) {
      _ = place  // a closure is isolated to what it captures: without this it would leave the actor, and come back after the claim
      let hasMore = await unsafe drainBound(running, &left, on: place)
      unsafe running._withUnsafeGuaranteedRef { $0.end() }
      return hasMore
    }
  }

  @inlinable func drainBound(_ running: Unmanaged<Running>, _ left: inout Int, on place: isolated (any Actor)?) async -> Bool {
    let references = unsafe Running.references(to: running)
    let body = unsafe body
    if isPlain, let body, case .directAsync(let direct) = body.body {
      while let (payload, flight) = next(&left) {
        let isBound = if let flight { flight.isBound } else { false }
        let outcome = isBound ? await callNow(payload, body, flight, on: place) : await callDirect(payload, direct, on: place)
        guard conclude(outcome, payload, flight) else { return false }
        if unsafe Running.references(to: running) != references { return true }
      }
      return false
    }
    while let (payload, flight) = next(&left) {
      guard conclude(await callNow(payload, body, flight, on: place), payload, flight) else { return false }
      if unsafe Running.references(to: running) != references { return true }
    }
    return false
  }

  /// The same on an actor that is the owner: a hop each call, because the actor is held for the length of a call only.
  @usableFromInline func drainOnOwner() async {
    guard let seat else { preconditionFailure("an asynchronous handler has a seat") }
    var left = SerialLane.callsBeforeGivingWay
    while let (payload, flight) = next(&left) {
      let running = Running(seat)
      let goesOn = await Context.running.withValue(running) { await callOnOwner(payload, flight) }
      running.end()
      if !goesOn { return }
    }
  }

  private func callOnOwner(_ payload: Payload, _ flight: Flight?) async -> Bool {
    if let actor = record.options.owner?.actor { return await call(payload, flight, on: actor) }
    record.set(Bit.removed)
    return conclude(.skipped, payload, flight)
  }

  private func call(_ payload: Payload, _ flight: Flight?, on actor: isolated any Actor) async -> Bool {
    unsafe conclude(await callNow(payload, body, flight, on: actor), payload, flight)
  }

  /// After a call, or none; false if the lane has paused.
  @inlinable @inline(__always) func conclude(_ outcome: Outcome, _ payload: Payload, _ flight: Flight?) -> Bool {
    if case .skipped = outcome {
      switch refused(payload, flight) {
      case .skip: break
      case .retry:
        putBack(payload, flight)
        return true
      case .pause: return false
      }
    }
    conclude(outcome, flight, at: self)
    return true
  }

  /// The next delivery, or nil: the lane has run dry and stopped, or has scheduled itself again to let others run.
  ///
  /// Before a refill, but for the first, it passes a moment without touching what the senders write: batches get longer, and starting a block or a task again would
  /// cost a sender 150 to 300 ns.
  @inlinable func next(_ left: inout Int) -> (Payload, Flight?)? {
    if isBounded { return nextBounded(&left) }
    while true {
      if unsafe at == batch.count {
        unsafe batch.removeAll(keepingCapacity: batch.capacity <= 2 * Flood.limit)
        unsafe at = 0
        if left < SerialLane.callsBeforeGivingWay { Thread.spin(1_000) }
        lock.lock()
        unsafe swap(&items, &batch)
        let isDry = unsafe batch.isEmpty
        if isDry, !mutant(.laneIsNotWoken) { unsafe phase = .idle }
        if mutant(.laneIsReversed) { unsafe batch.reverse() }
        lock.unlock()
        if isDry { return nil }
      }
      if left == 0 {
        schedule()
        return nil
      }
      var item = LaneItem<Payload>.done
      unsafe swap(&item, &batch[at])  // a payload goes when it is delivered, not with its batch
      unsafe at += 1
      if let call = opened(item) {
        left -= 1
        return call
      }
    }
  }

  /// The drain: the call that an item is, or nil for what has passed with this.
  @inlinable @inline(__always) func opened(_ item: LaneItem<Payload>) -> (Payload, Flight?)? {
    switch item {
    case .call(let payload, let flight): return (payload, flight)
    case .barrier(let flight): flight.arrive(self, nil)
    case .end: closeLate()
    case .done: break
    }
    return nil
  }
}

/// What a serial lane is doing.
@usableFromInline enum LanePhase: UInt8 {
  case idle
  /// A drain runs, or is scheduled.
  case running
  /// A lock of its handler holds what waits.
  case paused
}
