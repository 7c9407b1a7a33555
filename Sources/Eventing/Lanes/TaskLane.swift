import Synchronization

/// The lane of a `.task` handler: each call has a task of its own.
// Safe: the inherited `mutex` guards `freeCalls`, the only mutable field that this class adds.
@usableFromInline final class TaskLane: OverlappingLane, @unchecked Sendable {
  /// The largest number of ended calls that are kept for other occurrences.
  private let mostFreeCalls: Int

  /// Ended calls, each with its memory and with an invocation that nothing else refers to.
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var freeCalls: [TaskCall] = []

  /// A call with its invocation, and so with its execution slot.
  private struct TaskCall {
    let call: OverlappingCall
    let invocation: Invocation
  }

  /// The run of a call in its task.
  private struct Work: TaskWork {
    let lane: TaskLane
    let call: TaskCall

    @inline(__always) func run() async { await lane.runOnce(call) }
  }

  @usableFromInline init(
    _ record: DetailedRecord, _ anchor: EventAnchor, _ body: HandlerBody, _ type: PayloadType
  ) {
    guard case .task(let priority) = record.place else { preconditionFailure("\(record.place) runs no tasks") }
    mostFreeCalls = PayloadLayout(type).keptCount(atMost: 64)
    super.init(record, anchor, body, type, priority: priority)
  }

  /// Starts a task for the call, or adds it to the child tasks of a `send`. Isolation: core.
  @usableFromInline func take(_ payload: BorrowedPayload, _ tally: inout DeliveryTally) {
    let completion = tally.completionForLane()
    tally.taken &+= 1
    let call = makeCall(payload, completion)
    if let completion, completion.isAwaited { completion.expect(call.invocation.executionSlot) }
    if let completion, completion.purpose == .send {
      completion.adopt(priority: priority) { await self.runOnce(call) }
    } else {
      start(call)
    }
  }

  /// Starts a task for a post on the fast path: see ``SerialLane/takePost(_:)``. Isolation: core.
  func takePost(_ payload: BorrowedPayload) {
    start(makeCall(payload, CarriedContext.isCarrying ? Completion(.post) : nil))
  }

  @usableFromInline override func sendBarrier(_ completion: Completion) {
    completion.expect(self)
    pass(completion, except: nil)
  }

  /// Returns that the lane waits for nothing. Each call has an execution slot of its own, so a
  /// blocked call delays no other call.
  override func needs(_ goal: Invocation) -> WaitNeeds { .free }

  override func resume() {
    var calls: [OverlappingCall] = []
    mutex.withLock {
      guard unsafe isPaused else { return }
      unsafe isPaused = false
      while let item = takeItem() { if case .call(let call) = item { calls.append(call) } }
    }
    for call in calls { start(occupied(call)) }
  }

  /// Returns a call with an execution slot of its own: a kept call, or a new one.
  private func makeCall(_ payload: BorrowedPayload, _ completion: Completion?) -> TaskCall {
    let free = mutex.withLock { () -> TaskCall? in
      guard let free = unsafe freeCalls.popLast() else { return nil }
      occupy(free.invocation.executionSlot)
      return free
    }
    guard let free else { return occupied(OverlappingCall(OwnedPayload(copying: payload, type), completion)) }
    free.call.refill(payload, completion)
    return free
  }

  /// Gives a call an execution slot of its own.
  private func occupied(_ call: OverlappingCall) -> TaskCall {
    let executionSlot = makeSlot()
    mutex.withLock { occupy(executionSlot) }
    return TaskCall(call: call, invocation: Invocation(executionSlot))
  }

  private func start(_ call: TaskCall) {
    Scheduling.task(priority: priority, on: executor, for: Work(lane: self, call: call))
  }

  /// Runs a call. When the call is over, keeps the call for a later occurrence, if there is room in
  /// `freeCalls`.
  ///
  /// Does not keep the call if a task still retains its invocation, or if a completion waits for
  /// its execution slot. Otherwise the wait graph could mistake the later call for the ended one.
  private func runOnce(_ taken: TaskCall) async {
    let executionSlot = taken.invocation.executionSlot
    var isShared = false
    let isOver = await unsafe run(taken.call, Unmanaged.passUnretained(taken.invocation), &isShared)
    let isFree = isOver && !isShared
    if isFree { taken.call.empty() } else { taken.invocation.end() }
    let (waiting, isLast) = mutex.withLock { () -> ([Completion], Bool) in
      let waiting = vacate(executionSlot)
      if isFree, waiting.isEmpty, unsafe freeCalls.count < mostFreeCalls { unsafe freeCalls.append(taken) }
      return (waiting, takeEnd())
    }
    if isLast { closeLate() }
    for completion in waiting { completion.arrive(executionSlot, nil) }
  }
}
