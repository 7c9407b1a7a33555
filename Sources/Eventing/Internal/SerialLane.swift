public import Dispatch

/// The lane of a handler that runs one call at a time, in order: on a queue, in a task, or on an actor.
///
/// It is scheduled when something comes and it had run dry, drains what there is in batches, and gives way after some hundred calls,
/// because the main queue, or a pool of two threads, is also for others: 25 ns a call instead of 300 for a block each.
// Safe: `items` and `isRunning` are guarded by `lock`; the rest belongs to the one drain that runs, or is scheduled, while `isRunning`.
@usableFromInline final class SerialLane<Payload: Sendable>: Lane<Payload>, @unchecked Sendable {
  @usableFromInline let lock = Lock()
  // Under the lock.
  @usableFromInline @exclusivity(unchecked) var items: ContiguousArray<LaneItem<Payload>> = []
  @usableFromInline @exclusivity(unchecked) var isRunning = false
  /// Instead of `items` and `batch`, if the lane is bounded: what is dropped may be anywhere in line, so the drain takes one by one.
  @exclusivity(unchecked) private var bounded: LaneQueue<Payload>?
  // The drain's.
  @usableFromInline @exclusivity(unchecked) var batch: ContiguousArray<LaneItem<Payload>> = []
  @usableFromInline @exclusivity(unchecked) var at = 0
  @usableFromInline @exclusivity(unchecked) var queue: DispatchQueue?

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
  }

  override func isBlocked(_ question: inout WaitGraph.Question) -> Bool { seat.map { question.isBlocked($0) } ?? false }

  // MARK: For the event, from inside it

  /// Takes a handler's part in an occurrence: calls it, or queues it.
  @inlinable @inline(__always) func take(_ payload: Payload, _ tally: inout Tally) {
    if isMain, seat == nil, Scheduling.isOnMainQueue, let outcome = callHere(payload) {
      return tally.count(outcome)
    }
    let flight = tally.flightForLane()
    if let flight, flight.isAwaited { flight.expect(self) }
    push(.call(payload, flight))
  }

  @usableFromInline override func finish() -> Bool {
    lock.lock()
    let isIdle = unsafe !isRunning
    if !isIdle {
      if isBounded { _ = unsafe bounded?.append(.end) } else { unsafe items.append(.end) }
    }
    lock.unlock()
    if isIdle { close() }
    return isIdle
  }

  @usableFromInline override func sendBarrier(_ flight: Flight) {
    flight.expect(self)
    push(.barrier(flight))
  }

  @inlinable func push(_ item: LaneItem<Payload>) {
    if isBounded { return pushBounded(item) }
    lock.lock()
    unsafe items.append(item)
    let start = unsafe !isRunning
    unsafe isRunning = true
    lock.unlock()
    if start { schedule() }
  }

  @usableFromInline func pushBounded(_ item: LaneItem<Payload>) {
    lock.lock()
    let dropped = unsafe bounded?.append(item)
    let start = unsafe !isRunning
    unsafe isRunning = true
    lock.unlock()
    if let dropped { conclude(.dropped, dropped.flight, at: self) }
    if start { schedule() }
  }

  /// On main: calls at once if nothing is queued and no call is running, since a call that posts must not be entered again. Nil: queue it.
  @inlinable func callHere(_ payload: Payload) -> Outcome? {
    lock.lock()
    let isFree = unsafe !isRunning
    unsafe isRunning = true
    lock.unlock()
    guard isFree else { return nil }
    let outcome = unsafe callNow(payload, body)
    conclude(outcome, nil, at: self)
    lock.lock()
    let isDry = unsafe isBounded ? isBoundedDry : items.isEmpty
    if isDry { unsafe isRunning = false }
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
    case .main where seat == nil: Scheduling.block(on: .main) { self.drainQueue() }
    case .main: Scheduling.task(priority: nil, on: executor) { await self.drainTask(on: MainActor.shared) }
    case .actor: Scheduling.task(priority: nil, on: executor) { await self.drainOnOwner() }
    case .inOrder(let priority, _): Scheduling.task(priority: priority, on: executor) { await self.drainTask(on: nil) }
    case .inline, .concurrent, .task, .sequence: preconditionFailure("\(record.place) has no serial lane")
    }
  }

  @inlinable func drainQueue() {
    if isMain { MainActor.preconditionIsolated() }
    let body = unsafe body
    var left = SerialLane.callsBeforeGivingWay
    while let (payload, flight) = next(&left) { conclude(callNow(payload, body, flight?.context), flight, at: self) }
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
    while let (payload, flight) = next(&left) {
      conclude(await callNow(payload, body, flight?.context, on: place), flight, at: self)
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
      await Context.running.withValue(running) { await callOnOwner(payload, flight) }
      running.end()
    }
  }

  private func callOnOwner(_ payload: Payload, _ flight: Flight?) async {
    if let actor = record.options.owner?.actor {
      await call(payload, flight, on: actor)
    } else {
      record.set(Bit.removed)
      conclude(.skipped, flight, at: self)
    }
  }

  private func call(_ payload: Payload, _ flight: Flight?, on actor: isolated any Actor) async {
    unsafe conclude(await callNow(payload, body, flight?.context, on: actor), flight, at: self)
  }

  /// The next delivery, or nil: the lane has run dry and stopped, or has scheduled itself again to let others run.
  ///
  /// Before a refill it passes a moment without touching what the senders write: batches get longer, and starting a block or a task again would
  /// cost a sender 150 to 300 ns.
  @inlinable func next(_ left: inout Int) -> (Payload, Flight?)? {
    if isBounded { return nextBounded(&left) }
    while true {
      if unsafe at == batch.count {
        unsafe batch.removeAll(keepingCapacity: batch.capacity <= 2 * Flood.limit)
        unsafe at = 0
        Thread.spin(1_000)
        lock.lock()
        unsafe swap(&items, &batch)
        let isDry = unsafe batch.isEmpty
        if isDry { unsafe isRunning = false }
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
      switch item {
      case .call(let payload, let flight):
        left -= 1
        return (payload, flight)
      case .barrier(let flight): flight.arrive(self, nil)
      case .end: closeLate()
      case .done: break
      }
    }
  }

  // MARK: With a bound

  /// Under the lock.
  @usableFromInline var isBoundedDry: Bool { unsafe bounded?.isEmpty ?? true }

  @usableFromInline func nextBounded(_ left: inout Int) -> (Payload, Flight?)? {
    while true {
      if left == 0 {
        schedule()
        return nil
      }
      lock.lock()
      let item = unsafe bounded?.popFirst()
      if item == nil { unsafe isRunning = false }
      lock.unlock()
      switch item {
      case .call(let payload, let flight):
        left -= 1
        return (payload, flight)
      case .barrier(let flight): flight.arrive(self, nil)
      case .end: closeLate()
      case .done: break
      case nil: return nil
      }
    }
  }
}
