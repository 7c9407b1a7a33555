import Dispatch

/// The queue of turns, and the execution slots that run them: one queue for the handler of a
/// ``UnitLane``, or for all handlers of a shared ``Lane``.
///
/// Turns in `queue` begin in the order in which the events delivered the occurrences. A slot has
/// one turn at a time. A unit keeps its slot between two attempts, unless ``freesSlotInDelay`` is
/// true.
// Safe: each field says what guards it.
final class UnitScheduler: WaitNode, @unchecked Sendable {
  /// Where the slots run their turns.
  enum Driver: Sendable {
    case queue(DispatchQueue)
    case mainBlocks
    case mainTasks
    case tasks(UInt8?)
  }

  let limit: Int
  let driver: Driver
  /// Whether a delay between two attempts leaves its slot to other units.
  let freesSlotInDelay: Bool
  let executor: (any TaskExecutor)?
  let mutex = UnfairMutex()
  /// The turns that wait, in order. Guarded by: mutex.
  @exclusivity(unchecked) private var queue = Deque<LaneTurn>()
  /// Whether the last entry of `queue` stands for calls of a serial lane, and that lane may still
  /// add calls to the entry. Guarded by: mutex.
  @exclusivity(unchecked) private var isLastOpen = false
  /// The turns that begin before those of `queue`: a lock held them, or they waited for the end of
  /// a delay between two attempts. Guarded by: mutex.
  @exclusivity(unchecked) private var urgent = Deque<LaneTurn>()
  /// The units that come before all others: an earlier unit of their key has ended. Guarded by:
  /// mutex.
  @exclusivity(unchecked) private var released = Deque<LaneUnit>()
  /// An upper bound for the number of ended units in `queue`. Guarded by: mutex.
  @exclusivity(unchecked) private var endedCount = 0
  /// The slots without a turn. Guarded by: mutex.
  @exclusivity(unchecked) private var freeSlots: [ExecutionSlot] = []
  /// The number of occupied slots. Guarded by: mutex.
  @exclusivity(unchecked) private var occupiedCount = 0
  /// Whether a slot that found no turn spins for the next one, which costs less than to start a
  /// task. The slot counts as occupied. Guarded by: mutex.
  @exclusivity(unchecked) private var isSearching = false
  /// All slots that were made. Guarded by: WaitGraph.mutex.
  @exclusivity(unchecked) var slots: [ExecutionSlot] = []

  /// The slot of a shared lane that runs one call at a time; serial lanes on it refer to the slot.
  /// `nil` for each other scheduler.
  let onlySlot: ExecutionSlot?

  /// - Parameter onlySlot: The slot of a shared lane with a limit of 1, made with the lane because
  ///   serial lanes on it refer to the slot. For `nil`, slots are made when turns need them.
  init(_ driver: Driver, limit: Int, freesSlotInDelay: Bool, onlySlot: ExecutionSlot? = nil) {
    self.driver = driver
    self.limit = limit
    self.freesSlotInDelay = freesSlotInDelay
    self.onlySlot = onlySlot
    executor = Scheduling.executorOfThisTask
    if let onlySlot { unsafe (slots, freeSlots) = ([onlySlot], [onlySlot]) }
    super.init()
  }

  /// Returns the nodes that may block a unit which waits for a slot. If the scheduler has made all
  /// slots that `limit` allows, these are the slots: the unit is blocked only if all of them are.
  /// Otherwise there are none, because a slot can still be made.
  override func needs(_ goal: Invocation) -> WaitNeeds { unsafe slots.count == limit ? .all(slots) : .free }

  // MARK: The queue. The caller holds `mutex`

  func append(_ unit: LaneUnit) {
    closeLast()
    unsafe queue.append(.unit(unit))
  }

  /// Appends calls of a serial lane, as one entry of the queue. The lane may add further calls to
  /// the entry while the entry is the last one.
  func append(_ turns: SharedTurns) {
    closeLast()
    turns.lane.openTurns(turns)
    unsafe isLastOpen = true
    unsafe queue.append(.calls(turns))
  }

  /// Closes the last entry of `queue`, if the entry is open to further calls of a serial lane. From
  /// then on that lane adds no more calls to the entry.
  private func closeLast() {
    guard unsafe isLastOpen else { return }
    unsafe queue.updateLast { $0 = $0.closed() }
    unsafe isLastOpen = false
  }

  /// Appends calls of a serial lane that a lock has held. They begin before the turns in `queue`.
  func appendUrgent(_ turns: SharedTurns) { unsafe urgent.append(.calls(turns)) }

  /// Notes that a unit ended while it waited. When more than 64 + `queue.count` / 2 such units have
  /// been noted, removes them from `queue`.
  ///
  /// - Parameter ended: Gets the removed units, which must be released after the unlock.
  func noteEnded(_ ended: inout [LaneUnit]) {
    unsafe endedCount += 1
    guard unsafe endedCount > 64 + queue.count / 2 else { return }
    unsafe queue.forEach { if let unit = $0.unit, unsafe unit.stage == .ended { ended.append(unit) } }
    unsafe queue.removeAll { unsafe $0.unit?.stage == .ended }
    unsafe endedCount = 0
  }

  /// Appends a unit whose delay between two attempts is over. It begins before the turns in
  /// `queue`.
  func appendUrgent(_ unit: LaneUnit) { unsafe urgent.append(.unit(unit)) }

  /// Appends a unit that waited for its key.
  func appendReleased(_ unit: LaneUnit) { unsafe released.append(unit) }

  /// Inserts units of a lane, in order, before all others that wait. O(n log n)
  func insertUrgent(_ units: [LaneUnit], of lane: UnitLane) {
    var (own, others) = (units, [LaneTurn]())
    func sort(_ turn: LaneTurn) {
      if let unit = turn.unit, unit.lane === lane { own.append(unit) } else { others.append(turn) }
    }
    unsafe released.forEach { sort(.unit($0)) }
    unsafe urgent.forEach(sort)
    unsafe (released, urgent) = (Deque(), Deque())
    for unit in own.sorted(by: { unsafe $0.turn < $1.turn }) { unsafe urgent.append(.unit(unit)) }
    for turn in others { unsafe urgent.append(turn) }
  }

  /// A turn and the slot that will have it.
  struct Start {
    let turn: LaneTurn
    let slot: ExecutionSlot
    let isNew: Bool
  }

  /// Whether a turn that waits may have a slot now. The caller holds `mutex`.
  var mayStart: Bool {
    unsafe (occupiedCount < limit || mutant(.sharedLaneOverlaps)) && (!isSearching || waitingCount > 1)
  }

  /// Occupies a slot with the next turn; `nil` if there is none, or no slot is free.
  ///
  /// - Parameter ended: Gets the units that were dropped while they waited, which must be released
  ///   after the unlock.
  func takeStart(_ ended: inout [LaneUnit]) -> Start? {
    guard mayStart, let turn = takeTurn(&ended) else { return nil }
    unsafe occupiedCount += 1
    if let slot = unsafe freeSlots.popLast() { return Start(turn: turn, slot: slot, isNew: false) }
    let slot = ExecutionSlot()
    #if DEBUG
      slot.lane = turn.lane
    #endif
    return Start(turn: turn, slot: slot, isNew: true)
  }

  private func takeTurn(_ ended: inout [LaneUnit]) -> LaneTurn? {
    while let turn = popFirst() {
      guard let unit = turn.unit else {
        guard unsafe isLastOpen, unsafe queue.isEmpty else { return turn }
        unsafe isLastOpen = false
        return turn.closed()
      }
      switch unsafe unit.stage {
      case .ended, .gathering, .running: ended.append(unit)
      case .waiting, .delayed: if unit.lane.mayBegin(unit) { return turn }
      }
    }
    return nil
  }

  /// Removes and returns the next turn of the queues.
  private func popFirst() -> LaneTurn? {
    if unsafe !released.isEmpty { return unsafe released.popFirst().map(LaneTurn.unit) }
    return unsafe urgent.isEmpty ? queue.popFirst() : urgent.popFirst()
  }

  /// The number of turns in the queues. Some of their units may have ended.
  private var waitingCount: Int { unsafe queue.count + urgent.count + released.count }

  /// The next step of a slot whose turn has ended.
  enum Next {
    case run(LaneTurn)
    /// Spin for a turn, and then call ``takeFound(_:_:)``.
    case search
    /// No turn came, so the slot was freed.
    case end
  }

  /// Returns the next step of a slot whose turn has ended: to run a turn, to spin for one, or to
  /// become free.
  func takeNext(_ slot: ExecutionSlot, _ ended: inout [LaneUnit]) -> Next {
    if unsafe occupiedCount <= limit || mutant(.sharedLaneOverlaps), let turn = takeTurn(&ended) { return .run(turn) }
    if unsafe !isSearching, canSearch {
      unsafe isSearching = true
      return .search
    }
    free(slot)
    return .end
  }

  /// Ends the search of a slot for a turn. Returns the turn that came. If none came, frees the
  /// slot, and returns `nil`.
  func takeFound(_ slot: ExecutionSlot, _ ended: inout [LaneUnit]) -> LaneTurn? {
    unsafe isSearching = false
    if let turn = takeTurn(&ended) { return turn }
    free(slot)
    return nil
  }

  private func free(_ slot: ExecutionSlot) {
    unsafe occupiedCount -= 1
    unsafe freeSlots.append(slot)
  }

  /// Whether a slot may spin for a turn. Not on the main queue, which has other work, and not for a
  /// `.task` handler, whose calls each have a task of their own.
  private var canSearch: Bool {
    switch driver {
    case .queue: true
    case .tasks: limit < .max
    case .mainBlocks, .mainTasks: false
    }
  }
}
