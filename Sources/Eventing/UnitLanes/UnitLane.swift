import Synchronization

/// The lane of a handler that restarts, that has a modifier which needs units (see
/// ``HandlerModifiers``), or that runs on a shared ``Lane`` with a modifier, with a bound, or
/// beside other calls (a limit above 1).
///
/// A handler without modifiers and bound, on a shared lane that runs one call at a time, has a
/// ``SerialLane``.
///
/// Each occurrence is a ``LaneUnit``, or part of one. The units wait in the queue of a
/// ``UnitScheduler``, which other handlers may share. The lane makes units of payloads, and decides
/// whether a unit may begin, and whether another attempt follows.
// Safe: `scheduler.mutex` guards what changes, unless a field says otherwise.
@safe @usableFromInline final class UnitLane: HandlerLane, @unchecked Sendable {
  let scheduler: UnitScheduler
  /// The shared lane; `nil` if the scheduler is the handler's own.
  let shared: Lane?
  let modifiers: HandlerModifiers
  let buffering: Buffering
  /// The keys of the payloads that wait or run, if calls are in order by key.
  let keys: (any UnitKeying)?
  /// The delays between attempts; `nil` for a handler that is not tried again.
  let delays: HandlerDelays?
  let retryQueue: (any DelayQueueing)?
  let limitQueue: (any DelayQueueing)?
  let batchQueue: (any DelayQueueing)?
  /// The most payloads of a batch; 0 if the handler takes single payloads.
  let batchLimit: Int
  /// Whether a batch may mix keys, and the lane has no bound.
  let hasFreeBatches: Bool
  /// Whether the task of a slot makes each call by itself, in one attempt and without an owner to
  /// pass: there are no retries, no time limit, no restart and no owner. Then a slot makes the call
  /// by ``beginDirect(_:_:)``, and the unit may serve another payload afterwards.
  let isDirect: Bool
  /// Whether a new unit drops and replaces no other: there is no bound, and no restart.
  let isUnbounded: Bool
  /// Whether a call may begin at once, inside a delivery on the main queue. False for batches: a
  /// batch begins in a later block, with all payloads that wait by then.
  let mayRunHere: Bool
  let layout: PayloadLayout
  /// Ended units, each with the memory of its payload, for the next payloads. Isolation: core.
  @exclusivity(unchecked) var spareUnits: [LaneUnit] = []
  /// Ended units, moved to `spareUnits` when that array is empty. Guarded by: scheduler.mutex.
  @exclusivity(unchecked) var endedSpares: [LaneUnit] = []
  /// The units, in order. An ended unit stays until it is the first, or until many have ended.
  @exclusivity(unchecked) var units = Deque<LaneUnit>()
  /// The number of units that have not ended.
  @exclusivity(unchecked) var liveCount = 0
  /// The number of payloads that wait.
  @exclusivity(unchecked) var waitingPayloads = 0
  @exclusivity(unchecked) var lastTurn: UInt64 = 0
  /// The batch that takes further payloads, if there are no keys.
  @exclusivity(unchecked) var gathering: LaneUnit? {
    didSet { unsafe gatheringReference = unsafe gathering.map { unsafe .passUnretained($0) } }
  }
  /// The batch `gathering`, as a reference that can be used without retaining the batch.
  @exclusivity(unchecked) private(set) var gatheringReference: Unmanaged<LaneUnit>?
  /// The number of payloads of the batch that began last.
  @exclusivity(unchecked) var lastBatchCount = 0
  /// The batches that still gather payloads, and some that have stopped. When the array has grown
  /// long, the batches that have stopped are removed.
  @exclusivity(unchecked) var openBatches: [LaneUnit] = []
  /// A lower bound: units with a lower `LaneUnit.turn` have begun or ended, and cannot be dropped.
  @exclusivity(unchecked) var oldestTurn: UInt64 = 0
  /// The unit that runs or is between attempts, of a handler that is ``Handler/restarting()``.
  @exclusivity(unchecked) var current: LaneUnit?
  /// The units that would begin now, if a lock of the handler did not hold them.
  @exclusivity(unchecked) var held: [LaneUnit] = []
  /// Whether a lock of the handler holds the units that wait.
  @exclusivity(unchecked) var isPaused = false
  /// Whether the lane ends after the units that it has.
  @exclusivity(unchecked) var isEnding = false
  /// Whether the handler was removed or the event has ended, so that delays end.
  @exclusivity(unchecked) var endsDelays = false
  /// Whether the core has been asked to forget unused keys. Set in one atomic step by the thread
  /// that asks; cleared inside the core.
  let isSweepWanted = Atomic<Bool>(false)

  init(
    _ record: DetailedRecord, _ anchor: EventAnchor, _ body: HandlerBody, _ type: PayloadType,
    _ modifiers: HandlerModifiers
  ) {
    var modifiers = modifiers
    if case .restarting = record.place { modifiers.isRestarting = true }
    self.modifiers = modifiers
    delays = record.delays
    // A handler that restarts keeps the latest occurrence only, whatever bound `on:` gives.
    buffering = modifiers.isRestarting ? .latest : record.place.buffering
    retryQueue = modifiers.retry.map { DelayQueues.of($0.clock, for: anchor) }
    limitQueue = modifiers.timeLimit.map { DelayQueues.of($0.clock, for: anchor) }
    batchQueue = modifiers.batch.flatMap { $0.within == nil ? nil : DelayQueues.of($0.clock, for: anchor) }
    if case .lane(let lane, _) = record.place {
      shared = lane
      scheduler = lane.scheduler
    } else {
      shared = nil
      scheduler = record.place.makeScheduler(isSynchronous: body.isSynchronous)
    }
    // One key for all payloads: a handler that restarts has one call at a time on any lane.
    let isLikeOneKey = modifiers.isRestarting && scheduler.limit > 1
    keys = isLikeOneKey ? UnitKeys<Int> { _ in 0 } : modifiers.key?.makeKeys()
    batchLimit = modifiers.batch?.count ?? 0
    hasFreeBatches = batchLimit > 0 && keys == nil && !buffering.isBounded
    isDirect =
      record.options.owner == nil && modifiers.retry == nil && modifiers.timeLimit == nil && !modifiers.isRestarting
    isUnbounded = !buffering.isBounded && !modifiers.isRestarting
    mayRunHere = if case .mainBlocks = scheduler.driver { modifiers.batch == nil } else { false }
    layout = PayloadLayout(type)
    super.init(record, anchor, body, type)
    shared?.insert(self)
  }

  override var keepsOnlyTheNewest: Bool { buffering == .latest }

  /// Returns what a call on this lane waits for in the wait graph: a slot of the scheduler.
  override func needs(_ goal: Invocation) -> WaitNeeds { .any([scheduler]) }

  override var waitingCount: Int { scheduler.mutex.withLock { unsafe waitingPayloads } }
  override var unbegunCount: Int { countUnbegun() }

  /// The slot of the oldest running call; `nil` if none runs. Never read under a mutex.
  var runningSlot: ExecutionSlot? {
    scheduler.mutex.withLock { unsafe units.first(from: { _ in true }, where: { unsafe $0.stage == .running }) }?
      .slot.load()
  }

  override var runningCalls: RunningCount? {
    let ended = endedCalls
    let count = max(0, calls.load(ordering: .relaxed) - ended)
    // Other calls may begin and end while the oldest call hangs. So the oldest call is identified
    // by the number of its unit, and not by the number of calls that have begun.
    if count == 0 { return RunningCount(count: 0, oldest: 0) }
    let oldest = scheduler.mutex.withLock { unsafe units.first { $0.isInCall }.map { unsafe $0.turn } }
    return RunningCount(count: count, oldest: oldest ?? 0)
  }

  // MARK: The end, barriers and locks

  @usableFromInline override func finish() -> Bool {
    var (ended, skipped): ([LaneUnit], [LaneUnit]) = ([], [])
    // A spare unit retains the lane, and the lane the unit. Emptying the array breaks the cycle.
    unsafe spareUnits = []
    var timers: [UnitTimer] = []
    let (isIdle, endsDelays) = scheduler.mutex.withLock { () -> (Bool, Bool) in
      unsafe isEnding = true
      unsafe swap(&ended, &endedSpares)
      // If the first attempt of a once handler has used it up, further attempts may follow. The
      // handler's unregistration, which calls `finish()`, must not end the delays between them.
      let endsDelays = !record.has(HandlerFlags.spent) || record.has(HandlerFlags.removed)
      if endsDelays { unsafe self.endsDelays = true }
      closeBatches(&timers)
      if unsafe isPaused {
        unsafe units.forEach { if unsafe $0.stage == .waiting { skipped.append($0) } }
        for unit in skipped { endEarly(unit, &ended) }
        unsafe isPaused = false
        unsafe held = []
      }
      return unsafe (liveCount == 0, endsDelays)
    }
    for timer in timers { timer.cancel() }
    for unit in skipped { skip(unit) }
    if endsDelays { delays?.end() }
    scheduler.startUnits()
    if isIdle {
      close()
      shared?.remove(self)
    }
    withExtendedLifetime(ended) {}
    return isIdle
  }

  override func abandon() { skipWaiting() }

  override func endDelays() {
    scheduler.mutex.withLock { unsafe endsDelays = true }
    delays?.end()
  }

  @usableFromInline override func sendBarrier(_ completion: Completion) {
    completion.expect(self)
    var waiting: [LaneUnit] = []
    var timers: [UnitTimer] = []
    scheduler.mutex.withLock {
      if completion.purpose != .probe { closeBatches(&timers) }
      // A barrier does not wait for units that a lock holds.
      unsafe units.forEach { unit in
        if unsafe unit.stage != .ended, unsafe !isPaused || unit.stage != .waiting {
          unsafe unit.isNeverReused = true
          waiting.append(unit)
        }
      }
    }
    for timer in timers { timer.cancel() }
    if !mutant(.barrierOvertakes) {
      for unit in waiting { completion.expect(unit) }
      let late = scheduler.mutex.withLock {
        waiting.filter { unit in
          guard unsafe unit.stage != .ended, unsafe !isPaused || unit.stage != .waiting else { return true }
          unsafe unit.barriers.append(completion)
          return false
        }
      }
      for unit in late { completion.arrive(unit, nil) }
    }
    completion.arrive(self, nil)
    scheduler.startUnits()
  }

  override func resume() {
    scheduler.mutex.withLock {
      guard unsafe isPaused else { return }
      unsafe isPaused = false
      scheduler.insertUrgent(unsafe held, of: self)
      unsafe held = []
    }
    scheduler.startUnits()
  }

  /// Removes the completions that wait for units not yet begun. The caller holds `scheduler.mutex`.
  func detachWaiters() -> [DetachedUnit] {
    var detached: [DetachedUnit] = []
    unsafe units.forEach { unit in
      guard unsafe unit.stage == .waiting || unit.stage == .gathering else { return }
      if let one = unit.detachWaiters() { detached.append(one) }
    }
    return detached
  }

  /// Ends the waits for units that a lock holds, after `detachWaiters()` has removed the waiters:
  /// reports the calls as held, and lets the barriers pass. Never called under a mutex.
  func release(_ detached: [DetachedUnit]) {
    for one in detached {
      for completion in one.completions { reportHeld(completion, at: one.node) }
      for completion in one.barriers { completion.arrive(one.unit, nil) }
    }
  }

  /// Puts all batches that still gather into the queue. The caller holds `scheduler.mutex`.
  ///
  /// - Parameter timers: Gets the timers of the batches, which the caller cancels after the unlock.
  func closeBatches(_ timers: inout [UnitTimer]) {
    for batch in unsafe openBatches { if let timer = enqueue(batch) { timers.append(timer) } }
    unsafe openBatches = []
  }

  /// Puts a batch into the queue, where it still takes payloads until it begins or is full. The
  /// caller holds `scheduler.mutex`.
  ///
  /// - Returns: The timer of the batch, which the caller cancels after the unlock. Until it is
  ///   cancelled, the clock of a test counts the batch as asleep (as waiting for the timer).
  func enqueue(_ batch: LaneUnit) -> UnitTimer? {
    guard unsafe batch.stage == .gathering else { return nil }
    unsafe batch.stage = .waiting
    scheduler.append(batch)
    return unsafe batch.timer.take()
  }

  /// Ends a unit that waits. The unit is never reused, because a queue of its scheduler may still
  /// have it. The caller holds `scheduler.mutex`, and releases `ended` after the unlock.
  func endEarly(_ unit: LaneUnit, _ ended: inout [LaneUnit]) {
    unsafe unit.isNeverReused = true
    end(unit, &ended)
  }

  /// Ends a unit. The caller holds `scheduler.mutex`, and releases `ended` after the unlock.
  func end(_ unit: LaneUnit, _ ended: inout [LaneUnit]) {
    // A unit between two attempts counts as running, also while a lock holds it.
    if unsafe unit.stage != .running && unit.stage != .delayed && unit.attempts == 0 {
      unsafe waitingPayloads -= unit.count
    }
    unsafe unit.stage = .ended
    unsafe liveCount -= 1
    if unsafe unit.attempts > 0 { self.ended.wrappingAdd(unsafe unit.count, ordering: .relaxed) }
    if batchLimit > 0 {
      if unsafe gathering === unit { unsafe gathering = nil }
      if unsafe unit.key?.gathering === unit { unsafe unit.key?.gathering = nil }
    }
    if modifiers.isRestarting, unsafe current === unit { unsafe current = nil }
    unit.key?.uses.wrappingSubtract(unsafe unit.count, ordering: .releasing)
    trim(&ended)
  }
}

/// The waiters that were removed from a unit, because a lock holds the unit.
struct DetachedUnit {
  let unit: LaneUnit
  /// The node that the completions wait for.
  let node: WaitNode
  let completions: [Completion]
  let barriers: [Completion]
}
