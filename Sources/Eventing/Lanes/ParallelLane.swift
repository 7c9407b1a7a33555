import Synchronization

/// The lane of a handler whose calls may overlap: up to a limit, or each in a task of its own.
// Safe: all state is guarded by `mutex`, but `executionSlots`, which the lock of the wait graph guards; `body` is dropped when no call can begin any more.
@usableFromInline final class ParallelLane: Lane, @unchecked Sendable {
  /// How many calls may overlap; `nil` for a task each.
  private let limit: Int?
  private let priority: UInt8?
  private let executor: (any TaskExecutor)?
  private let mutex = UnfairMutex()

  // Under the lock.
  @exclusivity(unchecked) private var items: LaneQueue
  /// The executionSlots of calls that run, or have been promised to a task.
  @exclusivity(unchecked) private var active: [ObjectIdentifier: Active] = [:]
  @exclusivity(unchecked) private var nextTurn: UInt64 = 0
  @exclusivity(unchecked) private var freeSlots: [ExecutionSlot] = []
  @exclusivity(unchecked) private var isEnding = false
  /// A executionSlot that has run dry looks for a moment whether something comes: starting a task costs a microsecond. It counts as taken.
  @exclusivity(unchecked) private var isSearching = false
  /// A lock of the handler holds what waits.
  @exclusivity(unchecked) private var isPaused = false

  private struct Active {
    let executionSlot: ExecutionSlot
    /// Another one for every call.
    var turn: UInt64
    /// Who waits for this call to end.
    var waiting: [Completion] = []
  }

  /// All executionSlots of a limited lane. Under the lock of the wait graph.
  @exclusivity(unchecked) private var executionSlots: [ExecutionSlot] = []

  @usableFromInline override init(
    _ record: DetailedRecord, _ identity: EventIdentity, _ body: HandlerBody, _ type: PayloadType
  ) {
    switch record.place {
    case .concurrent(let limit, _): (self.limit, priority) = (limit, nil)
    case .task(let priority): (limit, self.priority) = (nil, priority)
    default: preconditionFailure("\(record.place) has no parallel lane")
    }
    executor = Scheduling.executorOfThisTask
    unsafe items = LaneQueue(record.place.buffering, type)
    super.init(record, identity, body, type)
  }

  private func makeSlot() -> ExecutionSlot {
    let executionSlot = ExecutionSlot()
    #if DEBUG
      executionSlot.lane = self
    #endif
    return executionSlot
  }

  override func needs(_ goal: Invocation) -> WaitNeeds {
    unsafe executionSlots.count == limit ? .all(executionSlots) : .free
  }

  // MARK: For the event, from inside it

  @usableFromInline func take(_ loan: BorrowedPayload, _ tally: inout DeliveryTally) {
    let completion = tally.completionForLane()
    guard limit == nil else {
      if let completion, completion.isAwaited { completion.expect(self) }
      if push(loan, completion) { tally.taken &+= 1 }
      return
    }
    tally.taken &+= 1
    let call = ParallelCall(OwnedPayload(copying: loan, type), completion)
    let executionSlot = makeSlot()
    mutex.withLock { occupy(executionSlot) }
    if let completion, completion.isAwaited { completion.expect(executionSlot) }
    if let completion, completion.purpose == .send {
      completion.adopt(priority: priority) { await self.runOnce(call, executionSlot) }
    } else {
      Scheduling.task(priority: priority, on: executor) { await self.runOnce(call, executionSlot) }
    }
  }

  @usableFromInline override func finish() -> Bool {
    var held: [ParallelCall] = []
    let isIdle = mutex.withLock {
      unsafe isEnding = true
      while unsafe isPaused, let item = takeItem() { if case .call(let call) = item { held.append(call) } }
      unsafe isPaused = false
      return unsafe items.isEmpty && active.isEmpty && !isSearching
    }
    for call in held { countSkipped(call.completion) }
    if isIdle { close() }
    return isIdle
  }

  @usableFromInline override func sendBarrier(_ completion: Completion) {
    completion.expect(self)
    if limit == nil { pass(completion, except: nil) } else { pushBarrier(completion) }
  }

  /// False if there is no room.
  private func push(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    var waiting: Waiting = ([], [])
    mutex.lock()
    let dropped = unsafe items.append(payload, completion)
    let executionSlot = unsafe isPaused ? nil : freeSlot()
    if unsafe isPaused, completion?.isAwaited == true { waiting = unsafe items.withoutWaiting() }
    mutex.unlock()
    letGo(waiting)
    if let executionSlot { start(executionSlot) }
    guard let dropped else { return true }
    conclude(.dropped, dropped.completion, at: self)
    return !dropped.isNew
  }

  private func pushBarrier(_ completion: Completion) {
    var waiting: Waiting = ([], [])
    let executionSlot = mutex.withLock { () -> (ExecutionSlot, isNew: Bool)? in
      unsafe items.append(.barrier(completion))
      guard unsafe isPaused else { return freeSlot() }
      waiting = unsafe items.withoutWaiting()
      return nil
    }
    letGo(waiting)
    if let executionSlot { start(executionSlot) }
  }

  /// Under the lock: occupies one if there may be another.
  private func freeSlot() -> (ExecutionSlot, isNew: Bool)? {
    let searching = unsafe isSearching ? 1 : 0
    guard let limit, unsafe active.count + searching < limit, unsafe items.count > searching else { return nil }
    let free = unsafe freeSlots.popLast()
    let executionSlot = free ?? makeSlot()
    occupy(executionSlot)
    return (executionSlot, free == nil)
  }

  private func start(_ executionSlot: (ExecutionSlot, isNew: Bool)) {
    let (executionSlot, isNew) = executionSlot
    if isNew { WaitGraph.mutex.withLock { unsafe executionSlots.append(executionSlot) } }
    Scheduling.task(priority: priority, on: executor) { await self.work(on: executionSlot) }
  }

  /// Under the lock: a executionSlot is about to have a call, or its next one.
  private func occupy(_ executionSlot: ExecutionSlot) {
    unsafe nextTurn += 1
    unsafe active[ObjectIdentifier(executionSlot)] = Active(executionSlot: executionSlot, turn: nextTurn)
  }

  // MARK: Calls

  /// Takes one item after the other until there are no more.
  private func work(on executionSlot: ExecutionSlot) async {
    while let item = nextItem(executionSlot) {
      switch item {
      case .call(let call):
        if let completion = call.completion, completion.isAwaited {
          completion.moveOutstanding(of: self, on: executionSlot)
        }
        await run(call, executionSlot)
      case .follower(.barrier(let completion)): pass(completion, except: executionSlot)
      case .follower: break
      }
    }
  }

  private func runOnce(_ call: ParallelCall, _ executionSlot: ExecutionSlot) async {
    await run(call, executionSlot)
    let (waiting, isLast) = mutex.withLock {
      unsafe (active.removeValue(forKey: ObjectIdentifier(executionSlot))?.waiting ?? [], takeEnd())
    }
    if isLast { closeLate() }
    for completion in waiting { completion.arrive(executionSlot, nil) }
  }

  private func run(_ call: ParallelCall, _ executionSlot: ExecutionSlot) async {
    while true {
      let outcome = await callOnce(call, executionSlot)
      if case .skipped = outcome {
        switch refused(call, at: executionSlot) {
        case .skip: break
        case .retry: continue
        case .pause: return
        }
      }
      return conclude(outcome, call.completion, at: executionSlot)
    }
  }

  private func callOnce(_ call: ParallelCall, _ executionSlot: ExecutionSlot) async -> HandlerOutcome {
    let running = Invocation(executionSlot)
    let body = unsafe body
    let outcome = await Context.running.withValue(running) {
      await callNow(call.payload.loan, body, call.completion, on: nil)
    }
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

  private func nextItem(_ executionSlot: ExecutionSlot) -> Item? {
    var (next, waiting, isLast) = mutex.withLock { () -> (Next, [Completion], Bool) in
      let waiting = unsafe active.removeValue(forKey: ObjectIdentifier(executionSlot))?.waiting ?? []
      if let item = takeItem(executionSlot) { return (.item(item), waiting, false) }
      if unsafe !isSearching, unsafe !isPaused, unsafe !isEnding {
        unsafe isSearching = true
        return (.search, waiting, false)
      }
      unsafe freeSlots.append(executionSlot)
      return (.none, waiting, takeEnd())
    }
    if isLast { closeLate() }
    for completion in waiting { completion.arrive(executionSlot, nil) }
    if case .search = next {
      Thread.spin(1_000)
      (next, isLast) = mutex.withLock { () -> (Next, Bool) in
        unsafe isSearching = false
        if let item = takeItem(executionSlot) { return (.item(item), false) }
        unsafe freeSlots.append(executionSlot)
        return (.none, takeEnd())
      }
      if isLast { closeLate() }
    }
    if case .item(let item) = next { return item }
    return nil
  }

  /// Under the lock: for a executionSlot that has nothing to do.
  private func takeItem(_ executionSlot: ExecutionSlot) -> Item? {
    guard unsafe !isPaused, let item = takeItem() else { return nil }
    occupy(executionSlot)
    return item
  }

  /// Under the lock.
  private func takeItem() -> Item? {
    if let call = unsafe items.popReturned() { return .call(call) }
    switch unsafe items.popFirst() {
    case nil: return nil
    case let popped?:
      guard case .call(let completion) = popped.item else { return .follower(popped.item) }
      return popped.call(completion).map { .call($0) }
    }
  }

  /// Lets a barrier through when every call has ended that runs now, each on its own: one of them may be waiting for this barrier.
  private func pass(_ completion: Completion, except own: ExecutionSlot?) {
    let running = mutex.withLock { unsafe active.values.filter { $0.executionSlot !== own } }
    for call in running { completion.expect(call.executionSlot) }
    var ended: [ExecutionSlot] = []
    mutex.withLock {
      for call in running {
        if unsafe active[ObjectIdentifier(call.executionSlot)]?.turn == call.turn {
          unsafe active[ObjectIdentifier(call.executionSlot)]?.waiting.append(completion)
        } else {
          ended.append(call.executionSlot)
        }
      }
    }
    for executionSlot in ended { completion.arrive(executionSlot, nil) }
    completion.arrive(self, nil)
  }

  // MARK: Under a lock that holds

  private typealias Waiting = (calls: [Completion], barriers: [Completion])

  private func letGo(_ waiting: Waiting) {
    for completion in waiting.calls { tellHeld(completion, at: self) }
    for completion in waiting.barriers { pass(completion, except: nil) }
  }

  /// The claim did not allow a call.
  private func refused(_ call: ParallelCall, at executionSlot: ExecutionSlot) -> ClaimRefusal {
    var waiting: Waiting = ([], [])
    let completion = call.completion
    let refusal = mutex.withLock { () -> ClaimRefusal in
      let refusal = unsafe self.refusal(isEnding: isEnding)
      if case .pause = refusal {
        // What is enqueue back, or comes, later is waited for by nobody.
        if unsafe !isPaused { waiting = unsafe items.withoutWaiting() }
        unsafe isPaused = true
        unsafe items.putBack(call, turn: active[ObjectIdentifier(executionSlot)]?.turn ?? nextTurn)
      }
      return refusal
    }
    guard case .pause = refusal else { return refusal }
    if let completion { tellHeld(completion, at: executionSlot) }
    letGo(waiting)
    return .pause
  }

  override func resume() {
    var started: [(ExecutionSlot, isNew: Bool)] = []
    var calls: [ParallelCall] = []
    mutex.withLock {
      guard unsafe isPaused else { return }
      unsafe isPaused = false
      if limit == nil {
        while let item = takeItem() { if case .call(let call) = item { calls.append(call) } }
      } else {
        for _ in unsafe 0..<items.count {
          guard let executionSlot = freeSlot() else { break }
          started.append(executionSlot)
        }
      }
    }
    for executionSlot in started { start(executionSlot) }
    for call in calls {
      let executionSlot = makeSlot()
      mutex.withLock { occupy(executionSlot) }
      Scheduling.task(priority: priority, on: executor) { await self.runOnce(call, executionSlot) }
    }
  }
}

/// One call of a parallel lane, on its way through a task.
// Safe: `completion` is changed only while the call is on no task.
final class ParallelCall: @unchecked Sendable {
  let payload: OwnedPayload
  private(set) var completion: Completion?

  init(_ payload: consuming OwnedPayload, _ completion: Completion?) {
    self.payload = payload
    self.completion = completion
  }

  /// From now on nobody waits for it.
  func forgetWaiting() { completion = completion?.withoutWaiting }
}
