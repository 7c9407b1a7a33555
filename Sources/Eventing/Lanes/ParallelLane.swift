import Synchronization

/// The lane of a handler whose calls may overlap: up to a limit, or each in a task of its own.
// Safe: all state is guarded by `lock`, but `seats`, which the lock of the wait graph guards; `body` is dropped when no call can begin any more.
@usableFromInline final class ParallelLane: Lane, @unchecked Sendable {
  /// How many calls may overlap; `nil` for a task each.
  private let limit: Int?
  private let priority: UInt8?
  private let executor: (any TaskExecutor)?
  private let lock = Lock()

  // Under the lock.
  @exclusivity(unchecked) private var items: LaneQueue
  /// The seats of calls that run, or have been promised to a task.
  @exclusivity(unchecked) private var active: [ObjectIdentifier: Active] = [:]
  @exclusivity(unchecked) private var nextTurn: UInt64 = 0
  @exclusivity(unchecked) private var freeSeats: [Seat] = []
  @exclusivity(unchecked) private var isEnding = false
  /// A seat that has run dry looks for a moment whether something comes: starting a task costs a microsecond. It counts as taken.
  @exclusivity(unchecked) private var isSearching = false
  /// A lock of the handler holds what waits.
  @exclusivity(unchecked) private var isPaused = false

  private struct Active {
    let seat: Seat
    /// Another one for every call.
    var turn: UInt64
    /// Who waits for this call to end.
    var waiting: [Flight] = []
  }

  /// All seats of a limited lane. Under the lock of the wait graph.
  @exclusivity(unchecked) private var seats: [Seat] = []

  @usableFromInline override init(_ record: DetailedRecord, _ home: Home, _ body: Body, _ type: PayloadType) {
    switch record.place {
    case .concurrent(let limit, _): (self.limit, priority) = (limit, nil)
    case .task(let priority): (limit, self.priority) = (nil, priority)
    default: preconditionFailure("\(record.place) has no parallel lane")
    }
    executor = Scheduling.executorOfThisTask
    unsafe items = LaneQueue(record.place.buffering, type)
    super.init(record, home, body, type)
  }

  private func makeSeat() -> Seat {
    let seat = Seat()
    #if DEBUG
      seat.lane = self
    #endif
    return seat
  }

  override func needs(_ goal: Running) -> WaitNeeds { unsafe seats.count == limit ? .all(seats) : .free }

  // MARK: For the event, from inside it

  @usableFromInline func take(_ loan: Loan, _ tally: inout Tally) {
    let flight = tally.flightForLane()
    guard limit == nil else {
      if let flight, flight.isAwaited { flight.expect(self) }
      if push(loan, flight) { tally.taken &+= 1 }
      return
    }
    tally.taken &+= 1
    let call = ParallelCall(Parcel(copying: loan, type), flight)
    let seat = makeSeat()
    lock.withLock { occupy(seat) }
    if let flight, flight.isAwaited { flight.expect(seat) }
    if let flight, flight.purpose == .send {
      flight.adopt(priority: priority) { await self.runOnce(call, seat) }
    } else {
      Scheduling.task(priority: priority, on: executor) { await self.runOnce(call, seat) }
    }
  }

  @usableFromInline override func finish() -> Bool {
    var held: [ParallelCall] = []
    let isIdle = lock.withLock {
      unsafe isEnding = true
      while unsafe isPaused, let item = takeItem() { if case .call(let call) = item { held.append(call) } }
      unsafe isPaused = false
      return unsafe items.isEmpty && active.isEmpty && !isSearching
    }
    for call in held { countSkipped(call.flight) }
    if isIdle { close() }
    return isIdle
  }

  @usableFromInline override func sendBarrier(_ flight: Flight) {
    flight.expect(self)
    if limit == nil { pass(flight, except: nil) } else { pushBarrier(flight) }
  }

  /// False if there is no room.
  private func push(_ payload: Loan, _ flight: Flight?) -> Bool {
    var waiting: Waiting = ([], [])
    lock.lock()
    let dropped = unsafe items.append(payload, flight)
    let seat = unsafe isPaused ? nil : freeSeat()
    if unsafe isPaused, flight?.isAwaited == true { waiting = unsafe items.withoutWaiting() }
    lock.unlock()
    letGo(waiting)
    if let seat { start(seat) }
    guard let dropped else { return true }
    conclude(.dropped, dropped.flight, at: self)
    return !dropped.isNew
  }

  private func pushBarrier(_ flight: Flight) {
    var waiting: Waiting = ([], [])
    let seat = lock.withLock { () -> (Seat, isNew: Bool)? in
      unsafe items.append(.barrier(flight))
      guard unsafe isPaused else { return freeSeat() }
      waiting = unsafe items.withoutWaiting()
      return nil
    }
    letGo(waiting)
    if let seat { start(seat) }
  }

  /// Under the lock: occupies one if there may be another.
  private func freeSeat() -> (Seat, isNew: Bool)? {
    let searching = unsafe isSearching ? 1 : 0
    guard let limit, unsafe active.count + searching < limit, unsafe items.count > searching else { return nil }
    let free = unsafe freeSeats.popLast()
    let seat = free ?? makeSeat()
    occupy(seat)
    return (seat, free == nil)
  }

  private func start(_ seat: (Seat, isNew: Bool)) {
    let (seat, isNew) = seat
    if isNew { WaitGraph.lock.withLock { unsafe seats.append(seat) } }
    Scheduling.task(priority: priority, on: executor) { await self.work(on: seat) }
  }

  /// Under the lock: a seat is about to have a call, or its next one.
  private func occupy(_ seat: Seat) {
    unsafe nextTurn += 1
    unsafe active[ObjectIdentifier(seat)] = Active(seat: seat, turn: nextTurn)
  }

  // MARK: Calls

  /// Takes one item after the other until there are no more.
  private func work(on seat: Seat) async {
    while let item = nextItem(seat) {
      switch item {
      case .call(let call):
        if let flight = call.flight, flight.isAwaited { flight.seatPart(of: self, on: seat) }
        await run(call, seat)
      case .follower(.barrier(let flight)): pass(flight, except: seat)
      case .follower: break
      }
    }
  }

  private func runOnce(_ call: ParallelCall, _ seat: Seat) async {
    await run(call, seat)
    let (waiting, isLast) = lock.withLock {
      unsafe (active.removeValue(forKey: ObjectIdentifier(seat))?.waiting ?? [], takeEnd())
    }
    if isLast { closeLate() }
    for flight in waiting { flight.arrive(seat, nil) }
  }

  private func run(_ call: ParallelCall, _ seat: Seat) async {
    while true {
      let outcome = await callOnce(call, seat)
      if case .skipped = outcome {
        switch refused(call, at: seat) {
        case .skip: break
        case .retry: continue
        case .pause: return
        }
      }
      return conclude(outcome, call.flight, at: seat)
    }
  }

  private func callOnce(_ call: ParallelCall, _ seat: Seat) async -> Outcome {
    let running = Running(seat)
    let body = unsafe body
    let outcome = await Context.running.withValue(running) { await callNow(call.payload.loan, body, call.flight, on: nil) }
    running.end()
    return outcome
  }

  /// Under the lock: true once. A barrier may still start a task on a lane that has ended, and must not end it again.
  private func takeEnd() -> Bool {
    guard unsafe isEnding, unsafe active.isEmpty, unsafe !isSearching else { return false }
    unsafe isEnding = false
    return true
  }

  private enum Item {
    case call(ParallelCall)
    /// A barrier, or the end.
    case follower(LaneItem)
  }
  private enum Next { case item(Item), search, none }

  private func nextItem(_ seat: Seat) -> Item? {
    var (next, waiting, isLast) = lock.withLock { () -> (Next, [Flight], Bool) in
      let waiting = unsafe active.removeValue(forKey: ObjectIdentifier(seat))?.waiting ?? []
      if let item = takeItem(seat) { return (.item(item), waiting, false) }
      if unsafe !isSearching, unsafe !isPaused, unsafe !isEnding {
        unsafe isSearching = true
        return (.search, waiting, false)
      }
      unsafe freeSeats.append(seat)
      return (.none, waiting, takeEnd())
    }
    if isLast { closeLate() }
    for flight in waiting { flight.arrive(seat, nil) }
    if case .search = next {
      Thread.spin(1_000)
      (next, isLast) = lock.withLock { () -> (Next, Bool) in
        unsafe isSearching = false
        if let item = takeItem(seat) { return (.item(item), false) }
        unsafe freeSeats.append(seat)
        return (.none, takeEnd())
      }
      if isLast { closeLate() }
    }
    if case .item(let item) = next { return item }
    return nil
  }

  /// Under the lock: for a seat that has nothing to do.
  private func takeItem(_ seat: Seat) -> Item? {
    guard unsafe !isPaused, let item = takeItem() else { return nil }
    occupy(seat)
    return item
  }

  /// Under the lock.
  private func takeItem() -> Item? {
    if let call = unsafe items.popReturned() { return .call(call) }
    switch unsafe items.popFirst() {
    case nil: return nil
    case let popped?:
      guard case .call(let flight) = popped.item else { return .follower(popped.item) }
      return popped.call(flight).map { .call($0) }
    }
  }

  /// Lets a barrier through when every call has ended that runs now, each on its own: one of them may be waiting for this barrier.
  private func pass(_ flight: Flight, except own: Seat?) {
    let running = lock.withLock { unsafe active.values.filter { $0.seat !== own } }
    for call in running { flight.expect(call.seat) }
    var ended: [Seat] = []
    lock.withLock {
      for call in running {
        if unsafe active[ObjectIdentifier(call.seat)]?.turn == call.turn {
          unsafe active[ObjectIdentifier(call.seat)]?.waiting.append(flight)
        } else {
          ended.append(call.seat)
        }
      }
    }
    for seat in ended { flight.arrive(seat, nil) }
    flight.arrive(self, nil)
  }

  // MARK: Under a lock that holds

  private typealias Waiting = (calls: [Flight], barriers: [Flight])

  private func letGo(_ waiting: Waiting) {
    for flight in waiting.calls { tellHeld(flight, at: self) }
    for flight in waiting.barriers { pass(flight, except: nil) }
  }

  /// The claim did not allow a call.
  private func refused(_ call: ParallelCall, at seat: Seat) -> Refusal {
    var waiting: Waiting = ([], [])
    let flight = call.flight
    let refusal = lock.withLock { () -> Refusal in
      let refusal = unsafe self.refusal(isEnding: isEnding)
      if case .pause = refusal {
        // What is put back, or comes, later is waited for by nobody.
        if unsafe !isPaused { waiting = unsafe items.withoutWaiting() }
        unsafe isPaused = true
        unsafe items.putBack(call, turn: active[ObjectIdentifier(seat)]?.turn ?? nextTurn)
      }
      return refusal
    }
    guard case .pause = refusal else { return refusal }
    if let flight { tellHeld(flight, at: seat) }
    letGo(waiting)
    return .pause
  }

  override func resume() {
    var started: [(Seat, isNew: Bool)] = []
    var calls: [ParallelCall] = []
    lock.withLock {
      guard unsafe isPaused else { return }
      unsafe isPaused = false
      if limit == nil {
        while let item = takeItem() { if case .call(let call) = item { calls.append(call) } }
      } else {
        for _ in unsafe 0..<items.count {
          guard let seat = freeSeat() else { break }
          started.append(seat)
        }
      }
    }
    for seat in started { start(seat) }
    for call in calls {
      let seat = makeSeat()
      lock.withLock { occupy(seat) }
      Scheduling.task(priority: priority, on: executor) { await self.runOnce(call, seat) }
    }
  }
}

/// One call of a parallel lane, on its way through a task.
// Safe: `flight` is changed only while the call is on no task.
final class ParallelCall: @unchecked Sendable {
  let payload: Parcel
  private(set) var flight: Flight?

  init(_ payload: consuming Parcel, _ flight: Flight?) {
    self.payload = payload
    self.flight = flight
  }

  /// From now on nobody waits for it.
  func forgetWaiting() { flight = flight?.withoutWaiting }
}
