import Synchronization

/// The part that a ``ConcurrentLane`` and a ``TaskLane`` share: the calls that run now, barriers that
/// wait for them, and the pause under a lock that holds.
// Safe: all state is guarded by `mutex`. `body` is dropped when no call can begin any more.
@usableFromInline class OverlappingLane: HandlerLane, @unchecked Sendable {
  final let priority: UInt8?
  final let executor: (any TaskExecutor)?
  final let mutex = UnfairMutex()

  /// The calls that wait. Guarded by: mutex.
  @exclusivity(unchecked) final var items: LaneQueue
  /// The execution slots of calls that run, or have been promised to a task. Guarded by: mutex.
  @exclusivity(unchecked) private final var active: [ObjectIdentifier: ActiveCall] = [:]
  /// Guarded by: mutex.
  @exclusivity(unchecked) private final var nextTurn: UInt64 = 0
  /// Whether the lane ends after what it has. Guarded by: mutex.
  @exclusivity(unchecked) final var isEnding = false
  /// Whether a lock of the handler holds what waits. Guarded by: mutex.
  @exclusivity(unchecked) final var isPaused = false

  private struct ActiveCall {
    let executionSlot: ExecutionSlot
    /// A number that no other call of the lane has.
    var turn: UInt64
    /// The completions that wait for this call to end.
    var waiting: [Completion] = []
  }

  init(
    _ record: DetailedRecord, _ identity: EventIdentity, _ body: HandlerBody, _ type: PayloadType, priority: UInt8?
  ) {
    self.priority = priority
    executor = Scheduling.executorOfThisTask
    unsafe items = LaneQueue(record.place.buffering, type)
    super.init(record, identity, body, type)
  }

  final func makeSlot() -> ExecutionSlot {
    let executionSlot = ExecutionSlot()
    #if DEBUG
      executionSlot.lane = self
    #endif
    return executionSlot
  }

  // MARK: Active calls

  /// The number of calls that run, or have been promised to a task. The caller holds `mutex`.
  final var activeCount: Int { unsafe active.count }

  /// Whether no call runs and none is about to start. The caller holds `mutex`.
  var isQuiet: Bool { unsafe active.isEmpty }

  /// Gives a call, or its next one, to an execution slot. The caller holds `mutex`.
  final func occupy(_ executionSlot: ExecutionSlot) {
    unsafe nextTurn += 1
    unsafe active[ObjectIdentifier(executionSlot)] = ActiveCall(executionSlot: executionSlot, turn: nextTurn)
  }

  /// Ends the call of an execution slot. The caller holds `mutex`.
  ///
  /// - Returns: the completions that wait for it.
  final func vacate(_ executionSlot: ExecutionSlot) -> [Completion] {
    unsafe active.removeValue(forKey: ObjectIdentifier(executionSlot))?.waiting ?? []
  }

  /// Returns true once, when a lane that ends has run its last call. The caller holds `mutex`.
  ///
  /// A barrier may still start a task on a lane that has ended, which must not end it again.
  final func takeEnd() -> Bool {
    guard unsafe isEnding, isQuiet else { return false }
    unsafe isEnding = false
    return true
  }

  enum Item {
    case call(OverlappingCall)
    /// A barrier, or the end.
    case follower(LaneItem)
  }

  /// Takes out the item that is next. The caller holds `mutex`.
  final func takeItem() -> Item? {
    if let call = unsafe items.popReturned() { return .call(call) }
    switch unsafe items.popFirst() {
    case nil: return nil
    case let popped?:
      guard case .call(let completion) = popped.item else { return .follower(popped.item) }
      return popped.call(completion).map { .call($0) }
    }
  }

  /// Runs a call, unless the claim refuses it.
  final func run(_ call: OverlappingCall, _ executionSlot: ExecutionSlot) async {
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

  private final func callOnce(_ call: OverlappingCall, _ executionSlot: ExecutionSlot) async -> HandlerOutcome {
    let invocation = Invocation(executionSlot)
    let body = unsafe body
    let outcome = await Context.running.withValue(invocation) {
      await callNow(call.payload.loan, body, call.completion, on: nil)
    }
    invocation.end()
    return outcome
  }

  /// Lets a barrier through when each call that runs now has ended, one by one: one of them may wait
  /// for this barrier.
  final func pass(_ completion: Completion, except own: ExecutionSlot?) {
    let running = mutex.withLock { unsafe active.values.filter { $0.executionSlot !== own } }
    for call in running { completion.expect(call.executionSlot) }
    var ended: [ExecutionSlot] = []
    mutex.withLock {
      for call in running {
        let id = ObjectIdentifier(call.executionSlot)
        if unsafe active[id]?.turn == call.turn {
          unsafe active[id]?.waiting.append(completion)
        } else {
          ended.append(call.executionSlot)
        }
      }
    }
    for executionSlot in ended { completion.arrive(executionSlot, nil) }
    completion.arrive(self, nil)
  }

  // MARK: The end, and locks that hold

  @usableFromInline final override func finish() -> Bool {
    var held: [OverlappingCall] = []
    let isIdle = mutex.withLock {
      unsafe isEnding = true
      while unsafe isPaused, let item = takeItem() { if case .call(let call) = item { held.append(call) } }
      unsafe isPaused = false
      return unsafe items.isEmpty && isQuiet
    }
    for call in held { countSkipped(call.completion) }
    if isIdle { close() }
    return isIdle
  }

  final func release(_ waiters: DetachedWaiters) {
    for completion in waiters.calls { reportHeld(completion, at: self) }
    for completion in waiters.barriers { pass(completion, except: nil) }
  }

  /// Decides what becomes of a call that the claim refused.
  private final func refused(_ call: OverlappingCall, at executionSlot: ExecutionSlot) -> ClaimRefusal {
    var waiters = DetachedWaiters()
    let completion = call.completion
    let refusal = mutex.withLock { () -> ClaimRefusal in
      let refusal = unsafe self.refusal(isEnding: isEnding)
      if case .pause = refusal {
        // Nothing waits for items that are put back, or that come, after this.
        if unsafe !isPaused { waiters = unsafe items.detachWaiters() }
        unsafe isPaused = true
        unsafe items.putBack(call, turn: active[ObjectIdentifier(executionSlot)]?.turn ?? nextTurn)
      }
      return refusal
    }
    guard case .pause = refusal else { return refusal }
    if let completion { reportHeld(completion, at: executionSlot) }
    release(waiters)
    return .pause
  }
}

/// One call of an overlapping lane, on its way through a task.
// Safe: `completion` changes only while no task has the call.
final class OverlappingCall: @unchecked Sendable {
  let payload: OwnedPayload
  private(set) var completion: Completion?

  init(_ payload: consuming OwnedPayload, _ completion: Completion?) {
    self.payload = payload
    self.completion = completion
  }

  /// Detaches the waiters: nothing waits for this call any more.
  func detachWaiters() { completion = completion?.withoutWaiting }
}
