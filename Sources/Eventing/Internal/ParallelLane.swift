/// The lane of a handler whose calls may overlap: up to a limit, or each in a task of its own.
// Safe: all state is guarded by `lock`, but `seats`, which the lock of the wait graph guards; `body` is dropped when no call can begin any more.
@usableFromInline final class ParallelLane<Payload: Sendable>: Lane<Payload>, @unchecked Sendable {
  /// How many calls may overlap; `nil` for a task each.
  private let limit: Int?
  private let priority: UInt8?
  private let executor: (any TaskExecutor)?
  private let lock = Lock()

  // Under the lock.
  @exclusivity(unchecked) private var items: LaneQueue<Payload>
  /// The seats of calls that run, or have been promised to a task.
  @exclusivity(unchecked) private var active: [ObjectIdentifier: Active] = [:]
  @exclusivity(unchecked) private var nextTurn: UInt64 = 0
  @exclusivity(unchecked) private var freeSeats: [Seat] = []
  @exclusivity(unchecked) private var isEnding = false

  private struct Active {
    let seat: Seat
    /// Another one for every call.
    var turn: UInt64
    /// Who waits for this call to end.
    var waiting: [Flight] = []
  }

  /// All seats of a limited lane. Under the lock of the wait graph.
  @exclusivity(unchecked) private var seats: [Seat] = []

  @usableFromInline override init(_ record: DetailedRecord, _ home: Home, _ body: Handler<Payload>.Body) {
    switch record.place {
    case .concurrent(let limit, _): (self.limit, priority) = (limit, nil)
    case .task(let priority): (limit, self.priority) = (nil, priority)
    default: preconditionFailure("\(record.place) has no parallel lane")
    }
    executor = Scheduling.executorOfThisTask
    unsafe items = LaneQueue(record.place.buffering)
    super.init(record, home, body)
  }

  override func isBlocked(_ question: inout WaitGraph.Question) -> Bool {
    guard let limit, unsafe seats.count == limit else { return false }
    for seat in unsafe seats where !question.isBlocked(seat) { return false }
    return true
  }

  // MARK: For the event, from inside it

  @usableFromInline func take(_ payload: Payload, _ tally: inout Tally) {
    let flight = tally.flightForLane()
    guard limit == nil else {
      if let flight, flight.isAwaited { flight.expect(self) }
      return push(.call(payload, flight))
    }
    let seat = Seat()
    lock.withLock { occupy(seat) }
    if let flight, flight.isAwaited { flight.expect(seat) }
    if let flight, flight.purpose == .send {
      flight.adopt(priority: priority) { await self.runOnce(payload, flight, seat) }
    } else {
      Scheduling.task(priority: priority, on: executor) { await self.runOnce(payload, flight, seat) }
    }
  }

  @usableFromInline override func finish() -> Bool {
    let isIdle = lock.withLock {
      unsafe isEnding = true
      return unsafe items.isEmpty && active.isEmpty
    }
    if isIdle { close() }
    return isIdle
  }

  @usableFromInline override func sendBarrier(_ flight: Flight) {
    flight.expect(self)
    if limit == nil { pass(flight, except: nil) } else { push(.barrier(flight)) }
  }

  private func push(_ item: LaneItem<Payload>) {
    let (dropped, seat, isNew) = lock.withLock { () -> (LaneQueue<Payload>.Waiting?, Seat?, Bool) in
      let dropped = unsafe items.append(item)
      guard let limit, unsafe active.count < limit else { return (dropped, nil, false) }
      let free = unsafe freeSeats.popLast()
      let seat = free ?? Seat()
      occupy(seat)
      return (dropped, seat, free == nil)
    }
    if let dropped { conclude(.dropped, dropped.flight, at: self) }
    guard let seat else { return }
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
      case .call(let payload, let flight):
        if let flight, flight.isAwaited { flight.seatPart(of: self, on: seat) }
        conclude(await call(payload, flight, seat), flight, at: seat)
      case .barrier(let flight): pass(flight, except: seat)
      case .end, .done: break
      }
    }
  }

  private func runOnce(_ payload: Payload, _ flight: Flight?, _ seat: Seat) async {
    conclude(await call(payload, flight, seat), flight, at: seat)
    let (waiting, isLast) = lock.withLock {
      unsafe (active.removeValue(forKey: ObjectIdentifier(seat))?.waiting ?? [], takeEnd())
    }
    if isLast { closeLate() }
    for flight in waiting { flight.arrive(seat, nil) }
  }

  private func call(_ payload: Payload, _ flight: Flight?, _ seat: Seat) async -> Outcome {
    let running = Running(seat)
    let body = unsafe body
    let outcome = await Context.running.withValue(running) { await callNow(payload, body, flight?.context, on: nil) }
    running.end()
    return outcome
  }

  /// Under the lock: true once. A barrier may still start a task on a lane that has ended, and must not end it again.
  private func takeEnd() -> Bool {
    guard unsafe isEnding, unsafe active.isEmpty else { return false }
    unsafe isEnding = false
    return true
  }

  private func nextItem(_ seat: Seat) -> LaneItem<Payload>? {
    let id = ObjectIdentifier(seat)
    let (item, waiting, isLast) = lock.withLock { () -> (LaneItem<Payload>?, [Flight], Bool) in
      let waiting = unsafe active[id]?.waiting ?? []
      guard let item = unsafe items.popFirst() else {
        unsafe active[id] = nil
        unsafe freeSeats.append(seat)
        return (nil, waiting, takeEnd())
      }
      occupy(seat)
      return (item, waiting, false)
    }
    if isLast { closeLate() }
    for flight in waiting { flight.arrive(seat, nil) }
    return item
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
}
