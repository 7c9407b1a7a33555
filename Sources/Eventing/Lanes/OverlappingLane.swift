import Synchronization

/// The part that a ``ConcurrentLane`` and a ``TaskLane`` share: the calls that run now, barriers
/// that wait for them, and the pause under a lock that holds occurrences.
// Safe: `mutex` guards the state that changes. `body` is cleared when no call can begin any more.
@safe @usableFromInline class OverlappingLane: HandlerLane, @unchecked Sendable {
  final let priority: UInt8?
  final let executor: (any TaskExecutor)?
  final let mutex = UnfairMutex()

  /// The items that wait: calls, barriers, and the end of the lane, which comes after its last
  /// call. Guarded by: mutex.
  @exclusivity(unchecked) final var items: LaneQueue
  /// The calls that run or are about to start, in no order. Each execution slot has the index of
  /// its call here. Guarded by: mutex.
  // Safe: the task of the call keeps the slot until `vacate(_:)` has removed the slot from here.
  @exclusivity(unchecked) private final var active: [Unmanaged<ExecutionSlot>] = unsafe []
  /// The number of the call that got an execution slot last. The next call that gets one has this
  /// number plus one: see ``turn(of:)``. Guarded by: mutex.
  @exclusivity(unchecked) private final var nextTurn: UInt64 = 0
  /// Whether the lane ends after the items that it holds. Guarded by: mutex.
  @exclusivity(unchecked) final var isEnding = false
  /// Whether a lock of the handler holds the items that wait. Guarded by: mutex.
  @exclusivity(unchecked) final var isPaused = false

  init(
    _ record: DetailedRecord, _ anchor: EventAnchor, _ body: HandlerBody, _ type: PayloadType, priority: UInt8?
  ) {
    self.priority = priority
    executor = Scheduling.executorOfThisTask
    unsafe items = LaneQueue(record.place.buffering, type)
    super.init(record, anchor, body, type)
  }

  final func makeSlot() -> ExecutionSlot {
    let executionSlot = ExecutionSlot(of: record.id)
    #if DEBUG
      executionSlot.lane = self
    #endif
    return executionSlot
  }

  final override var waitingCount: Int { mutex.withLock { unsafe items.callCount } }

  /// A call that has a slot may still wait for a thread of Swift's pool.
  final override var unbegunCount: Int {
    let running = super.runningCalls?.count ?? 0
    return mutex.withLock { unsafe max(0, items.callCount + active.count - running) }
  }

  final override var runningCalls: RunningCount? {
    let oldest = mutex.withLock { unsafe active.lazy.map { unsafe $0.takeUnretainedValue().turn }.min() } ?? 0
    return super.runningCalls.map { RunningCount(count: $0.count, oldest: oldest) }
  }

  // MARK: Active calls

  /// The number of calls that run or are about to start. The caller holds `mutex`.
  final var activeCount: Int { unsafe active.count }

  /// Whether no call runs and none is about to start. The caller holds `mutex`.
  var isQuiet: Bool { unsafe active.isEmpty }

  /// Gives an execution slot its next call. That call gets a number, `turn`, one higher than that
  /// of the last call that got a slot. The caller holds `mutex`.
  final func occupy(_ executionSlot: ExecutionSlot) {
    unsafe nextTurn += 1
    unsafe executionSlot.activeIndex = active.count
    unsafe executionSlot.turn = nextTurn
    unsafe active.append(Unmanaged.passUnretained(executionSlot))
  }

  /// Returns the number of the call that an execution slot runs; `nil` if it runs none. The lane
  /// numbers its calls in the order in which they get a slot. In the code of an overlapping lane, a
  /// name with `turn` stands for this number. In a ``UnitScheduler``, a turn is the work that a
  /// slot does next. The caller holds `mutex`.
  final func turn(of executionSlot: ExecutionSlot) -> UInt64? {
    unsafe executionSlot.activeIndex == nil ? nil : unsafe executionSlot.turn
  }

  /// Ends the call of an execution slot. The caller holds `mutex`.
  ///
  /// - Returns: The completions that wait for the call to end.
  final func vacate(_ executionSlot: ExecutionSlot) -> [Completion] {
    guard let index = unsafe executionSlot.activeIndex else { return [] }
    unsafe executionSlot.activeIndex = nil
    let last = unsafe active.removeLast()
    if unsafe index < active.count {
      unsafe active[index] = last
      unsafe last._withUnsafeGuaranteedRef { unsafe $0.activeIndex = index }
    }
    guard unsafe !executionSlot.waiting.isEmpty else { return [] }
    defer { unsafe executionSlot.waiting = [] }
    return unsafe executionSlot.waiting
  }

  /// Returns true once, when a lane that ends has run its last call. The caller holds `mutex`.
  ///
  /// A barrier may still start a task on a lane that has ended. That task must not end the lane
  /// again.
  final func takeEnd() -> Bool {
    guard unsafe isEnding, isQuiet else { return false }
    unsafe isEnding = false
    return true
  }

  enum Item {
    case call(OverlappingCall)
    /// A barrier, or the item that ends the lane. It is not a call, and comes after all calls that
    /// were enqueued before it.
    case follower(LaneItem)
  }

  /// Removes and returns the next item. The caller holds `mutex`.
  final func takeItem() -> Item? {
    if let call = unsafe items.popReturned() { return .call(call) }
    switch unsafe items.popFirst() {
    case nil: return nil
    case let popped?:
      guard case .call(let completion) = popped.item else { return .follower(popped.item) }
      return popped.call(completion).map { .call($0) }
    }
  }

  /// Runs a call, unless its claim is refused. Then counts its outcome, and reports it to the
  /// waiters.
  ///
  /// - Parameter isShared: Set to true if the call has started a task that goes on after the call,
  ///   and still holds the invocation.
  /// - Returns: Whether the call is over. False if the lane has paused, and has put the call back.
  @inline(__always) final func run(
    _ call: OverlappingCall, _ invocation: Unmanaged<Invocation>, _ isShared: inout Bool
  ) async -> Bool {
    while true {
      let outcome = unsafe await callOnce(call, invocation, &isShared)
      let executionSlot = unsafe invocation._withUnsafeGuaranteedRef { $0.executionSlot }
      if case .skipped = outcome {
        switch refused(call, at: executionSlot) {
        case .skip: break
        case .retry: continue
        case .pause: return false
        }
      }
      conclude(outcome, call.completion, at: executionSlot)
      return true
    }
  }

  @inline(__always) private final func callOnce(
    _ call: OverlappingCall, _ invocation: Unmanaged<Invocation>, _ isShared: inout Bool
  ) async -> HandlerOutcome {
    let body = unsafe body
    return await Context.invocation.withValue(unsafe invocation.takeUnretainedValue()) {
      let references = unsafe RuntimeSPI.references(to: invocation)
      let outcome: HandlerOutcome
      if isPlain, call.completion.map({ !$0.isBound }) ?? true, case .directAsync(let direct)? = body?.body {
        outcome = await callDirect(call.borrowed, direct)
      } else {
        outcome = await callNow(call.borrowed, body, call.completion, on: nil)
      }
      if unsafe Invocation.endIfShared(invocation, since: references) { isShared = true }
      return outcome
    }
  }

  /// Calls a closure that takes the payload alone, as `callNow(_:_:_:on:)` would. The frame of
  /// `callNow(_:_:_:on:)` does not fit the memory that a task gets at its start, so that method
  /// costs an allocation.
  @inline(__always) private final func callDirect(
    _ payload: BorrowedPayload, _ body: ErasedAsyncHandler
  ) async -> HandlerOutcome {
    guard record.claim() else { return .skipped }
    countCall()
    defer { countEnd() }
    do { try await body(payload, on: nil) } catch { return failure(error, payload) }
    return .delivered
  }

  /// Lets a barrier pass when each call that runs now has ended.
  ///
  /// The completion waits for each of these calls separately, and not for the lane. So if one of
  /// the calls waits for the barrier, only that call is deferred.
  ///
  /// - Parameter own: The execution slot that passes the barrier: it runs no call now.
  final func pass(_ completion: Completion, except own: ExecutionSlot?) {
    let running = mutex.withLock {
      unsafe active.map { unsafe $0.takeUnretainedValue() }.filter { $0 !== own }.map { ($0, unsafe $0.turn) }
    }
    for (executionSlot, _) in running { completion.expect(executionSlot) }
    var ended: [ExecutionSlot] = []
    mutex.withLock {
      for (executionSlot, turn) in running {
        if self.turn(of: executionSlot) == turn {
          unsafe executionSlot.waiting.append(completion)
        } else {
          ended.append(executionSlot)
        }
      }
    }
    for executionSlot in ended { completion.arrive(executionSlot, nil) }
    completion.arrive(self, nil)
  }

  // MARK: The end, and holding locks

  @usableFromInline final override func finish() -> Bool {
    var skippedCalls: [OverlappingCall] = []
    let isIdle = mutex.withLock {
      unsafe isEnding = true
      while unsafe isPaused, let item = takeItem() { if case .call(let call) = item { skippedCalls.append(call) } }
      unsafe isPaused = false
      return unsafe items.isEmpty && isQuiet
    }
    for call in skippedCalls { skip(call.completion, at: self) }
    if isIdle { close() }
    return isIdle
  }

  final override func abandon() {
    var taken = mutex.withLock { unsafe items.takeCalls() }
    while let call = taken.popReturned() { skip(call.completion, at: self) }
    while let popped = taken.popFirst() {
      if case .call(let completion) = popped.item { skip(completion, at: self) }
    }
  }

  /// Ends all waits for a lane that a lock has paused: reports the calls as held by the lock, and
  /// lets the barriers pass. The caller does not hold the mutex.
  final func release(_ waiters: DetachedWaiters) {
    for completion in waiters.calls { reportHeld(completion, at: self) }
    for completion in waiters.barriers { pass(completion, except: nil) }
  }

  /// Returns what happens to a call whose claim was refused. If the lane pauses, puts the call
  /// back.
  private final func refused(_ call: OverlappingCall, at executionSlot: ExecutionSlot) -> ClaimRefusal {
    var waiters = DetachedWaiters()
    let completion = call.completion
    let refusal = mutex.withLock { () -> ClaimRefusal in
      let refusal = unsafe self.refusal(isEnding: isEnding)
      if case .pause = refusal {
        // No send and no barrier may wait for the items of a paused lane. So the call that pauses
        // the lane removes the waiters of all items. An item that is put back or appended during
        // the pause loses its waiters in the step that puts it into `items`.
        if unsafe !isPaused { waiters = unsafe items.detachWaiters() }
        unsafe isPaused = true
        unsafe items.putBack(call, turn: turn(of: executionSlot) ?? nextTurn)
      }
      return refusal
    }
    guard case .pause = refusal else { return refusal }
    if let completion, completion.isToBeTold { reportHeld(completion, at: executionSlot) }
    release(waiters)
    return .pause
  }
}

/// One call of an overlapping lane, with its payload, for the task that runs it. A ``TaskLane``
/// uses the object again for later calls.
// Safe: the payload and `completion` change only while no task has the call.
final class OverlappingCall: @unchecked Sendable {
  @exclusivity(unchecked) private var payload: OwnedPayload
  private(set) var completion: Completion?

  init(_ payload: consuming OwnedPayload, _ completion: Completion?) {
    unsafe self.payload = payload
    self.completion = completion
  }

  /// The payload, borrowed. Valid until ``empty()`` destroys the payload, after the call.
  var borrowed: BorrowedPayload { unsafe payload.borrowed }

  /// Removes the waiters: nothing waits for this call any more.
  func detachWaiters() { completion = completion?.withoutWaiting }

  /// Destroys the payload of a call that is over. The caller holds no mutex.
  func empty() {
    completion = nil
    unsafe payload.empty()
  }

  /// Reuses this object, after ``empty()``, for a call with another occurrence.
  func refill(_ payload: BorrowedPayload, _ completion: Completion?) {
    self.completion = completion
    unsafe self.payload.fill(copying: payload)
  }
}
