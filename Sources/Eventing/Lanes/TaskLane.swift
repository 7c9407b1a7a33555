import Synchronization

/// The lane of a `.task` handler: each call has a task of its own.
// Safe: the class adds no field to those of `OverlappingLane`.
@usableFromInline final class TaskLane: OverlappingLane, @unchecked Sendable {
  @usableFromInline init(
    _ record: DetailedRecord, _ anchor: EventAnchor, _ body: HandlerBody, _ type: PayloadType
  ) {
    guard case .task(let priority) = record.place else { preconditionFailure("\(record.place) runs no tasks") }
    super.init(record, anchor, body, type, priority: priority)
  }

  /// Starts a task for the call, or adds it to the child tasks of a `send`. Isolation: core.
  @usableFromInline func take(_ payload: BorrowedPayload, _ tally: inout DeliveryTally) {
    let completion = tally.completionForLane()
    tally.taken &+= 1
    let call = OverlappingCall(OwnedPayload(copying: payload, type), completion)
    let executionSlot = makeSlot()
    mutex.withLock { occupy(executionSlot) }
    if let completion, completion.isAwaited { completion.expect(executionSlot) }
    if let completion, completion.purpose == .send {
      completion.adopt(priority: priority) { await self.runOnce(call, executionSlot) }
    } else {
      start(call, executionSlot)
    }
  }

  /// Starts a task for a post on the fast path: see ``SerialLane/takePost(_:)``. Isolation: core.
  func takePost(_ payload: BorrowedPayload) {
    let completion = CarriedContext.isCarrying ? Completion(.post) : nil
    let executionSlot = makeSlot()
    mutex.withLock { occupy(executionSlot) }
    start(OverlappingCall(OwnedPayload(copying: payload, type), completion), executionSlot)
  }

  @usableFromInline override func sendBarrier(_ completion: Completion) {
    completion.expect(self)
    pass(completion, except: nil)
  }

  /// Free: no call waits for a slot, so one that is blocked delays no other.
  override func needs(_ goal: Invocation) -> WaitNeeds { .free }

  override func resume() {
    var calls: [OverlappingCall] = []
    mutex.withLock {
      guard unsafe isPaused else { return }
      unsafe isPaused = false
      while let item = takeItem() { if case .call(let call) = item { calls.append(call) } }
    }
    for call in calls {
      let executionSlot = makeSlot()
      mutex.withLock { occupy(executionSlot) }
      start(call, executionSlot)
    }
  }

  private func start(_ call: OverlappingCall, _ executionSlot: ExecutionSlot) {
    Scheduling.task(priority: priority, on: executor) { await self.runOnce(call, executionSlot) }
  }

  private func runOnce(_ call: OverlappingCall, _ executionSlot: ExecutionSlot) async {
    await run(call, executionSlot)
    let (waiting, isLast) = mutex.withLock { (vacate(executionSlot), takeEnd()) }
    if isLast { closeLate() }
    for completion in waiting { completion.arrive(executionSlot, nil) }
  }
}
