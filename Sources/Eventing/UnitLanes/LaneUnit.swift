import Synchronization

/// One call that waits or runs on a ``UnitLane``, through all of its attempts. In a batch, one call
/// has several payloads.
///
/// A unit is a node of the wait graph: what waits for its occurrence waits for the unit.
// Safe: each field says what guards it. Exactly one thread or task runs a unit at a time.
final class LaneUnit: WaitNode, @unchecked Sendable {
  enum Stage: Sendable {
    /// A batch that waits for more payloads, and is not in the queue.
    case gathering
    case waiting
    case running
    /// Between two attempts.
    case delayed
    /// The call is over, or the unit ended without a call: it was dropped or skipped.
    case ended
  }

  let lane: UnitLane
  /// The key of the payloads; `nil` if the lane has none.
  var key: UnitKey? { unsafe storedKey }
  /// Assigned only by initializers and `refill(_:_:)`, while no other thread has the unit.
  @exclusivity(unchecked) private var storedKey: UnitKey?
  /// Whether the unit must not become a spare unit: it has a completion, a barrier waits for it, it
  /// ended while it waited, or it is a batch. Set before the unit is pushed; afterwards guarded by:
  /// scheduler.mutex.
  @exclusivity(unchecked) var isNeverReused = false
  /// Whether one of the unit's completions has task-local values, which the call must bind, or
  /// observers, which must be told of the call. Set before the unit is pushed; afterwards guarded
  /// by: scheduler.mutex.
  @exclusivity(unchecked) var isBound = false
  /// The number of the unit in the order of the lane. Guarded by: scheduler.mutex.
  @exclusivity(unchecked) var turn: UInt64 = 0
  /// Guarded by: scheduler.mutex.
  @exclusivity(unchecked) var stage = Stage.waiting
  /// The number of payloads. Guarded by: scheduler.mutex.
  @exclusivity(unchecked) var count = 1
  /// The completions of barriers, such as `quiesce()`, that wait for the end of the unit. Guarded
  /// by: scheduler.mutex.
  @exclusivity(unchecked) var barriers: [Completion] = []
  /// Whether a newer occurrence has taken the place of the unit. Guarded by: scheduler.mutex.
  @exclusivity(unchecked) var isReplaced = false
  /// Whether observers know that the call of the unit ended as dropped. Changed only by the thread
  /// or task that runs the unit.
  @exclusivity(unchecked) var isDropTold = false
  /// The slot that the unit keeps during a delay, if it keeps one. Guarded by: scheduler.mutex.
  @exclusivity(unchecked) var keptSlot: ExecutionSlot?
  /// The task of the running attempt, if it can be cancelled. Guarded by: scheduler.mutex.
  @exclusivity(unchecked) var attempt: CancellableAttempt?
  /// The slot on which the unit runs. Set only by the thread or task that runs the unit.
  let slot = SlotReference()
  /// Whether a lock that holds nothing began between two attempts, so that no further attempt
  /// follows.
  let isGivenUp = Atomic<Bool>(false)

  // The next fields: while the unit waits, they are changed only under `scheduler.mutex`. While the
  // unit runs, only the thread or task that runs the unit changes them.
  /// The payload of the call; `nil` for a batch that has not begun.
  @exclusivity(unchecked) var payload: OwnedPayload?
  /// The payloads of a batch that has not begun; `nil` for a single payload.
  @exclusivity(unchecked) var gathered: PayloadQueue<UnitHeader>?
  /// The completions of the occurrences, if they have any.
  @exclusivity(unchecked) var completions: [Completion] = []
  /// The number of attempts that have begun.
  @exclusivity(unchecked) var attempts = 0
  /// The error of the last attempt.
  @exclusivity(unchecked) var lastError: (any Error)?
  /// Whether the unit ends with its next attempt, even if that attempt fails. Set between two
  /// attempts.
  @exclusivity(unchecked) var isLastAttempt = false
  /// The timer of the batch or of the delay.
  @exclusivity(unchecked) var timer: UnitTimer?

  init(_ lane: UnitLane, _ key: UnitKey?, _ payload: consuming OwnedPayload, _ completion: Completion?) {
    self.lane = lane
    unsafe storedKey = key
    super.init()
    unsafe self.payload = consume payload
    if let completion { add(completion) }
  }

  /// Fills an ended unit with another occurrence, for which nothing waits. No other thread has the
  /// unit.
  func refill(_ key: UnitKey?, _ payload: BorrowedPayload) {
    unsafe storedKey = key
    unsafe stage = .waiting
    unsafe attempts = 0
    unsafe self.payload?.fill(copying: payload)
  }

  /// Adds the completion of an occurrence.
  private func add(_ completion: Completion) {
    unsafe completions = [completion]
    unsafe isNeverReused = true
    unsafe isBound = completion.isBound
  }

  /// Whether the call has begun and has not ended. The caller holds `scheduler.mutex`.
  var isInCall: Bool { unsafe stage == .running || stage == .delayed }

  override var handlerID: UInt64? { lane.record.id }
  override var eventAnchor: EventAnchor? { lane.anchor }

  /// Creates a batch without payloads.
  ///
  /// - Parameter capacity: The number of payloads for which it allocates memory.
  init(gatheringFor lane: UnitLane, _ key: UnitKey?, capacity: Int) {
    self.lane = lane
    unsafe storedKey = key
    super.init()
    unsafe isNeverReused = true
    unsafe gathered = PayloadQueue(lane.layout, capacity: capacity)
    unsafe count = 0
    unsafe stage = .gathering
  }

  /// Returns what the unit waits for in the wait graph: while it runs, the execution slot that runs
  /// it; while it waits, its key, or the lane if it has no key.
  override func needs(_ goal: Invocation) -> WaitNeeds {
    if let slot = slot.load() { return .any([slot]) }
    return .any([key ?? lane])
  }

  /// The node that the completions of the unit's occurrences wait for.
  var node: WaitNode { unsafe gathered == nil ? self : key ?? lane }

  /// The nodes of the graph of waits that the delay between two attempts holds up: the unit, its
  /// slot if it keeps one, and its key if it has one.
  var delayedNodes: [WaitNode] {
    let slot = lane.scheduler.mutex.withLock { unsafe keptSlot }
    return [self] + [slot, key].compactMap { $0 }
  }

  /// Removes and returns the waiters of a unit whose next attempt has not begun; `nil` if there are
  /// none. The caller holds `scheduler.mutex`.
  func detachWaiters() -> DetachedUnit? {
    var waiters = DetachedWaiters()
    for i in unsafe 0..<(gathered?.count ?? 0) {
      unsafe gathered?[i] = UnitHeader(completion: waiters.detach(gathered?[i].completion))
    }
    unsafe completions = completions.compactMap { waiters.detach($0) }
    guard unsafe !waiters.calls.isEmpty || !barriers.isEmpty else { return nil }
    defer { unsafe barriers = [] }
    return unsafe DetachedUnit(unit: self, node: node, completions: waiters.calls, barriers: barriers)
  }

  /// Completes the barriers that wait for the unit, which has ended. Never called under a mutex.
  func arriveBarriers() {
    for completion in unsafe barriers { completion.arrive(self, nil) }
    unsafe barriers = []
  }

  /// Releases the payloads and the completions. Never called under a mutex.
  func clear() {
    unsafe payload?.empty()
    unsafe gathered = nil
    unsafe completions = []
    unsafe lastError = nil
    unsafe timer?.cancel()
    unsafe timer = nil
  }

  #if DEBUG
    override var title: String { lane.title }
  #endif
}

/// A reference to the execution slot on which a unit runs. Each unit has one for its own slot, and
/// each key has one for the slot of the key's active unit. The reference does not own the slot:
/// slots live as long as their scheduler.
///
/// The reference is set before the call of a unit begins, and cleared before another unit may have
/// the slot. A search of the wait graph may find a waiting call on the slot. That call has begun
/// before the search. So the reference of the call's unit is set, and the reference of the unit
/// that had the slot before is cleared.
@safe struct SlotReference: ~Copyable {
  private let slot = unsafe Atomic<Unmanaged<ExecutionSlot>?>(nil)

  borrowing func load() -> ExecutionSlot? { unsafe slot.load(ordering: .acquiring)?.takeUnretainedValue() }
  borrowing func set(_ new: ExecutionSlot) { unsafe slot.publish(.passUnretained(new)) }
  borrowing func clear() { unsafe slot.publish(nil) }
}

/// The header of a payload that waits in a batch.
struct UnitHeader: PayloadHeader {
  /// The completion of the occurrence, if it has one.
  let completion: Completion?
}
