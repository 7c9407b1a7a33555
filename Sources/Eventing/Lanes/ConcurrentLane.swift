import Synchronization

/// The lane of a `.concurrent(limit:)` handler: up to `limit` calls overlap, and begin in order.
///
/// If the handler is a forward, the lane is a pipeline: a call begins only when the call before it
/// has ended, or has opened the ``Entrance``.
// Safe: each field that changes says which mutex guards it.
@usableFromInline final class ConcurrentLane: OverlappingLane, @unchecked Sendable {
  private let limit: Int
  /// Whether the lane is a pipeline.
  private let isPipeline: Bool
  /// The number (``OverlappingLane/turn(of:)``) of the call that keeps the entrance of a pipeline
  /// closed; `nil` if the entrance is open, or the lane is no pipeline. Guarded by: mutex.
  @exclusivity(unchecked) private var entering: UInt64?
  /// The execution slots that ended tasks have given back, for the next tasks. Guarded by: mutex.
  @exclusivity(unchecked) private var freeSlots: [ExecutionSlot] = []
  /// Whether a task of the lane is spinning now. A task that finds no item spins for a short time,
  /// unless another one does, so that it takes the next item without the start of a new task. While
  /// it spins, its execution slot is not in `freeSlots`, and counts toward `limit`. Guarded by:
  /// mutex.
  @exclusivity(unchecked) private var isSearching = false
  /// All execution slots that this lane has made. Guarded by: WaitGraph.mutex.
  @exclusivity(unchecked) private var executionSlots: [ExecutionSlot] = []

  @usableFromInline init(
    _ record: DetailedRecord, _ anchor: EventAnchor, _ body: HandlerBody, _ type: PayloadType
  ) {
    guard case .concurrent(let limit, _) = record.place else {
      preconditionFailure("\(record.place) has no concurrent lane")
    }
    self.limit = limit
    isPipeline = record.options.isForward
    super.init(record, anchor, body, type, priority: nil)
  }

  override func needs(_ goal: Invocation) -> WaitNeeds {
    unsafe executionSlots.count == limit ? .all(executionSlots) : .free
  }

  override var isQuiet: Bool { unsafe super.isQuiet && !isSearching }

  // MARK: For the core

  /// Enqueues a call for an occurrence. Isolation: core.
  @usableFromInline func take(_ payload: BorrowedPayload, _ tally: inout DeliveryTally) {
    let completion = tally.completionForLane()
    if let completion, completion.isAwaited { completion.expect(self) }
    if push(payload, completion) { tally.taken &+= 1 }
  }

  /// Enqueues a call for a post on the fast path: see ``SerialLane/takePost(_:)``. Isolation: core.
  func takePost(_ payload: BorrowedPayload) { _ = push(payload, CarriedContext.isCarrying ? Completion(.post) : nil) }

  /// Enqueues a call. Returns false if there is no room, and the call is dropped.
  private func push(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    var waiters = DetachedWaiters()
    mutex.lock()
    let dropped = unsafe items.append(payload, completion)
    let slot = unsafe isPaused ? nil : freeSlot()
    if unsafe isPaused, completion?.isToBeTold == true { waiters = unsafe items.detachWaiters() }
    mutex.unlock()
    release(waiters)
    if let slot { start(slot) }
    guard let dropped else { return true }
    conclude(.dropped, dropped.completion, at: self)
    return !dropped.isNew
  }

  @usableFromInline override func sendBarrier(_ completion: Completion) {
    completion.expect(self)
    var waiters = DetachedWaiters()
    let slot = mutex.withLock { () -> FreeSlot? in
      unsafe items.append(.barrier(completion))
      guard unsafe isPaused else { return freeSlot() }
      waiters = unsafe items.detachWaiters()
      return nil
    }
    release(waiters)
    if let slot { start(slot) }
  }

  override func resume() {
    var started: [FreeSlot] = []
    mutex.withLock {
      guard unsafe isPaused else { return }
      unsafe isPaused = false
      for _ in unsafe 0..<items.count {
        guard let slot = freeSlot() else { break }
        started.append(slot)
      }
    }
    for slot in started { start(slot) }
  }

  // MARK: Slots

  private typealias FreeSlot = (executionSlot: ExecutionSlot, isNew: Bool)

  /// Occupies an execution slot for a new task, and returns it. Returns `nil` if `limit` allows no
  /// other call, a call keeps the entrance closed, or no item waits apart from the one that a
  /// spinning task will take. The caller holds `mutex`.
  private func freeSlot() -> FreeSlot? {
    let searching = unsafe isSearching ? 1 : 0
    guard activeCount + searching < limit, unsafe items.count > searching, unsafe entering == nil else { return nil }
    let free = unsafe freeSlots.popLast()
    let executionSlot = free ?? makeSlot()
    occupyInTurn(executionSlot)
    return (executionSlot, free == nil)
  }

  private func start(_ slot: FreeSlot) {
    let executionSlot = slot.executionSlot
    if slot.isNew { WaitGraph.mutex.withLock { unsafe executionSlots.append(executionSlot) } }
    Scheduling.task(priority: priority, on: executor, for: Work(lane: self, executionSlot: executionSlot))
  }

  /// The work of one task of the lane: the task runs queued calls, one after the other, on one
  /// execution slot.
  private struct Work: TaskWork {
    let lane: ConcurrentLane
    let executionSlot: ExecutionSlot

    @inline(__always) func run() async { await lane.drain(on: executionSlot) }
  }

  /// Takes queued calls off the lane and runs them, one after the other, on one execution slot.
  /// Returns when ``nextItem(_:)`` finds no item for that slot.
  private func drain(on executionSlot: ExecutionSlot) async {
    while let item = nextItem(executionSlot) {
      switch item {
      case .call(let call):
        if let completion = call.completion, completion.isAwaited {
          completion.moveOutstanding(of: self, on: executionSlot)
        }
        if isPipeline {
          await Entrance.ofCall.withValue(makeEntrance(executionSlot)) { await runOnce(call, on: executionSlot) }
        } else {
          await runOnce(call, on: executionSlot)
        }
      case .follower(.barrier(let completion)): pass(completion, except: executionSlot)
      case .follower: break
      }
    }
  }

  /// Runs a call with an invocation of its own.
  private func runOnce(_ call: OverlappingCall, on executionSlot: ExecutionSlot) async {
    let invocation = Invocation(executionSlot)
    var isShared = false
    _ = await unsafe run(call, Unmanaged.passUnretained(invocation), &isShared)
    invocation.end()
  }

  private enum Next { case item(Item), search, none }

  /// Ends the call of an execution slot, and returns the next item for the slot; `nil` if there is
  /// none, so that the task of the slot must end.
  ///
  /// One task at a time spins for the next item before it gives its slot back.
  private func nextItem(_ executionSlot: ExecutionSlot) -> Item? {
    var (next, waiting, isLast) = mutex.withLock { () -> (Next, [Completion], Bool) in
      if unsafe entering != nil, unsafe entering == turn(of: executionSlot) { unsafe entering = nil }
      let waiting = vacate(executionSlot)
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
      Thread.spin(Thread.spinLimit)
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

  /// Dequeues the next item for an execution slot that runs no call; `nil` if no item waits, a lock
  /// has paused the lane, or a call keeps the entrance closed. The caller holds `mutex`.
  private func takeItem(_ executionSlot: ExecutionSlot) -> Item? {
    guard unsafe !isPaused, unsafe entering == nil, let item = takeItem() else { return nil }
    occupyInTurn(executionSlot)
    return item
  }

  // MARK: Pipelines

  /// Gives an execution slot its next call. In a pipeline, that call then keeps the entrance
  /// closed. The caller holds `mutex`.
  private func occupyInTurn(_ executionSlot: ExecutionSlot) {
    occupy(executionSlot)
    if isPipeline { unsafe entering = turn(of: executionSlot) }
  }

  private func makeEntrance(_ executionSlot: ExecutionSlot) -> Entrance {
    Entrance(self, turn: mutex.withLock { turn(of: executionSlot) } ?? 0)
  }

  /// Opens the entrance, so that the next call can begin, if a certain call still keeps it closed.
  ///
  /// - Parameter turn: The number of that call: see ``OverlappingLane/turn(of:)``.
  func openEntrance(of turn: UInt64) {
    let slot = mutex.withLock { () -> FreeSlot? in
      guard unsafe entering == turn else { return nil }
      unsafe entering = nil
      return unsafe isPaused ? nil : freeSlot()
    }
    if let slot { start(slot) }
  }
}
