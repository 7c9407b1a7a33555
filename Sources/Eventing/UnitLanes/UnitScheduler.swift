import Dispatch

/// The queue of units, and the execution slots that run them: one queue for the handler of a
/// ``UnitLane``, or for all handlers of a shared ``Lane``.
///
/// Units begin in the order in which the events delivered them. A slot is occupied by one unit at a
/// time, and in order also between two attempts.
// Safe: each field says what guards it.
final class UnitScheduler: WaitNode, @unchecked Sendable {
  /// Where the slots run.
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
  /// The units that wait, in order. Guarded by: mutex.
  @exclusivity(unchecked) private var queue = Deque<LaneUnit>()
  /// The units that come before those of `queue`: a lock held them, or they were delayed.
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var urgent = Deque<LaneUnit>()
  /// The units that come before all others: an earlier unit of their key has ended. Guarded by:
  /// mutex.
  @exclusivity(unchecked) private var released = Deque<LaneUnit>()
  /// The number of units that ended in `queue` since it was last searched for them, or more.
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var endedCount = 0
  /// The slots without a unit. Guarded by: mutex.
  @exclusivity(unchecked) private var freeSlots: [ExecutionSlot] = []
  /// The number of occupied slots. Guarded by: mutex.
  @exclusivity(unchecked) private var occupiedCount = 0
  /// Whether a slot that found no unit spins for the next one, which costs less than to start a
  /// task. The slot counts as occupied. Guarded by: mutex.
  @exclusivity(unchecked) private var isSearching = false
  /// All slots that were made. Guarded by: WaitGraph.mutex.
  @exclusivity(unchecked) private var slots: [ExecutionSlot] = []

  init(_ driver: Driver, limit: Int, freesSlotInDelay: Bool) {
    self.driver = driver
    self.limit = limit
    self.freesSlotInDelay = freesSlotInDelay
    executor = Scheduling.executorOfThisTask
    super.init()
  }

  /// The needs of a unit that waits for a slot.
  override func needs(_ goal: Invocation) -> WaitNeeds { unsafe slots.count == limit ? .all(slots) : .free }

  // MARK: The queue. The caller holds `mutex`

  func append(_ unit: LaneUnit) { unsafe queue.append(unit) }

  /// Notes that a unit ended while it waited. Once the number of such units is 64 more than half of
  /// `queue`, removes them from `queue`.
  ///
  /// - Parameter ended: Gets the removed units, which must be released after the mutex.
  func noteEnded(_ ended: inout [LaneUnit]) {
    unsafe endedCount += 1
    guard unsafe endedCount > 64 + queue.count / 2 else { return }
    unsafe queue.forEach { if unsafe $0.stage == .ended { ended.append($0) } }
    unsafe queue.removeAll { unsafe $0.stage == .ended }
    unsafe endedCount = 0
  }

  /// Appends a unit whose delay is over.
  func appendUrgent(_ unit: LaneUnit) { unsafe urgent.append(unit) }

  /// Appends a unit that waited for its key.
  func appendReleased(_ unit: LaneUnit) { unsafe released.append(unit) }

  /// Inserts units of a lane, in order, before all others that wait. O(n log n)
  func insertUrgent(_ units: [LaneUnit], of lane: UnitLane) {
    var (own, others) = (units, [LaneUnit]())
    func sort(_ unit: LaneUnit) { if unit.lane === lane { own.append(unit) } else { others.append(unit) } }
    unsafe released.forEach(sort)
    unsafe urgent.forEach(sort)
    unsafe (released, urgent) = (Deque(), Deque())
    for unit in own.sorted(by: { unsafe $0.turn < $1.turn }) + others { unsafe urgent.append(unit) }
  }

  /// A unit and the slot that will run it.
  struct Start {
    let unit: LaneUnit
    let slot: ExecutionSlot
    let isNew: Bool
  }

  /// Occupies a slot with the next unit; `nil` if there is none, or no slot is free.
  ///
  /// - Parameter ended: Gets the units that were dropped while they waited, which must be released
  ///   after the mutex.
  func takeStart(_ ended: inout [LaneUnit]) -> Start? {
    guard unsafe occupiedCount < limit || mutant(.sharedLaneOverlaps), unsafe !isSearching || waitingCount > 1,
      let unit = takeUnit(&ended)
    else { return nil }
    unsafe occupiedCount += 1
    if let slot = unsafe freeSlots.popLast() { return Start(unit: unit, slot: slot, isNew: false) }
    let slot = ExecutionSlot()
    #if DEBUG
      slot.lane = unit.lane
    #endif
    return Start(unit: unit, slot: slot, isNew: true)
  }

  private func takeUnit(_ ended: inout [LaneUnit]) -> LaneUnit? {
    while let unit = unsafe released.popFirst() ?? urgent.popFirst() ?? queue.popFirst() {
      switch unsafe unit.stage {
      case .ended, .gathering, .running: ended.append(unit)
      case .waiting, .delayed: if unit.lane.mayBegin(unit) { return unit }
      }
    }
    return nil
  }

  /// The number of units in the queues. Some of them may have ended.
  private var waitingCount: Int { unsafe queue.count + urgent.count + released.count }

  /// The next step of a slot whose unit has ended.
  enum Next {
    case run(LaneUnit)
    /// Spin for a unit, and then call ``takeFound(_:_:)``.
    case search
    /// No unit came, and the slot is free.
    case end
  }

  /// Gives a slot without a unit its next one, lets it search, or frees it.
  func takeNext(_ slot: ExecutionSlot, _ ended: inout [LaneUnit]) -> Next {
    if unsafe occupiedCount <= limit || mutant(.sharedLaneOverlaps), let unit = takeUnit(&ended) { return .run(unit) }
    if unsafe !isSearching, canSearch {
      unsafe isSearching = true
      return .search
    }
    free(slot)
    return .end
  }

  /// Ends the search of a slot. Returns the unit that came; `nil` if there is none, and the slot is
  /// free.
  func takeFound(_ slot: ExecutionSlot, _ ended: inout [LaneUnit]) -> LaneUnit? {
    unsafe isSearching = false
    if let unit = takeUnit(&ended) { return unit }
    free(slot)
    return nil
  }

  private func free(_ slot: ExecutionSlot) {
    unsafe occupiedCount -= 1
    unsafe freeSlots.append(slot)
  }

  /// Whether a slot may search. The main queue has other work. A `.task` handler runs each call in
  /// a task of its own.
  private var canSearch: Bool {
    switch driver {
    case .queue: true
    case .tasks: limit < .max
    case .mainBlocks, .mainTasks: false
    }
  }

  // MARK: Slots. Not under a mutex

  /// Starts as many units as there are free slots.
  func startUnits() {
    while true {
      var ended: [LaneUnit] = []
      guard let start = mutex.withLock({ takeStart(&ended) }) else { return }
      run(start)
    }
  }

  func run(_ start: Start) {
    register(start)
    run(start.unit, on: start.slot)
  }

  /// Enters a new slot into the wait graph.
  func register(_ start: Start) {
    if start.isNew { WaitGraph.mutex.withLock { unsafe slots.append(start.slot) } }
  }

  /// Runs one unit in the calling task, delays between attempts included.
  func runAsChild(_ unit: LaneUnit, on slot: ExecutionSlot) async {
    while true {
      let invocation = Invocation(slot)
      let result = await Context.invocation.withValue(invocation) { await unit.lane.run(unit, slot, on: nil) }
      invocation.end()
      if case .delayed(let delay) = result, await unit.lane.sleep(unit, on: slot, for: delay) { continue }
      if let next = unit.lane.finish(unit, unit.lane.givenUp(unit, result), slot) { run(next, on: slot) }
      return
    }
  }

  /// Runs a unit, and the units that follow it, in a block or task of its own.
  func run(_ unit: LaneUnit, on slot: ExecutionSlot) {
    switch driver {
    case .queue(let queue):
      Scheduling.block(on: queue) { self.drain(unit, slot, isMain: Scheduling.isMainQueue(queue)) }
    case .mainBlocks: Scheduling.mainBlock { self.drain(unit, slot, isMain: true) }
    case .mainTasks:
      Scheduling.task(priority: nil, on: executor) { await self.drain(unit, slot, on: MainActor.shared) }
    case .tasks(let priority):
      Scheduling.task(priority: priority, on: executor) { await self.drain(unit, slot, on: nil) }
    }
  }

  private func drain(_ first: LaneUnit, _ slot: ExecutionSlot, isMain: Bool) {
    if case .mainBlocks = driver { Scheduling.checkMain() }
    var quota = DrainQuota(isMain: isMain)
    var unit = first
    while true {
      if quota.isOver { return run(unit, on: slot) }
      quota.left &-= 1
      guard let next = unit.lane.finish(unit, unit.lane.runNow(unit, slot), slot) else { return }
      unit = next
    }
  }

  private func drain(_ first: LaneUnit, _ slot: ExecutionSlot, on place: isolated (any Actor)?) async {
    var isMain = false
    if case .mainTasks = driver { isMain = true }
    var quota = DrainQuota(isMain: isMain)
    var unit: LaneUnit? = first
    while let current = unit { unit = await drainBound(current, slot, &quota, on: place) }
  }

  /// Runs units under one binding of ``Context/invocation``, until there is none, or a call leaves
  /// a task behind. Returns the next unit.
  private func drainBound(
    _ first: LaneUnit, _ slot: ExecutionSlot, _ quota: inout DrainQuota, on place: isolated (any Actor)?
  ) async -> LaneUnit? {
    let invocation = unsafe Unmanaged.passRetained(Invocation(slot))
    return await Context.invocation.withValue(unsafe invocation.takeRetainedValue()) {
      // The closure is isolated to the actor that it captures: see SerialLane.drainBound.
      _ = place
      let references = unsafe RuntimeSPI.references(to: invocation)
      var unit: LaneUnit? = first
      while let current = unit {
        if quota.isOver {
          run(current, on: slot)
          unit = nil
          break
        }
        quota.left &-= 1
        let result = await current.lane.run(current, slot, on: place)
        unit = current.lane.finish(current, result, slot)
        if unsafe RuntimeSPI.references(to: invocation) != references { break }
      }
      unsafe invocation._withUnsafeGuaranteedRef { $0.end() }
      return unit
    }
  }
}
