import Synchronization

// From the end of a run: to the outcome, to the next unit, or to a delay and another attempt.

extension UnitLane {
  /// Ends the run of a unit on a slot. Returns the next turn for the slot; `nil` if the slot was
  /// freed, or waits for another attempt.
  func finish(_ unit: LaneUnit, _ result: UnitResult, _ slot: ExecutionSlot) -> LaneTurn? {
    // Before the unit ends: nothing that waits for it may find the payload alive.
    if case .ended(let outcome) = result { reportOutcome(unit, outcome) }
    var (ended, barriers): ([LaneUnit], [Completion]) = ([], [])
    var (isOver, isIdle) = (false, false)
    // Before another unit may have the slot or the key.
    unit.slot.clear()
    unit.key?.slot.clear()
    let next = scheduler.mutex.withLock { () -> UnitScheduler.Next in
      switch result {
      case .ended:
        unsafe swap(&barriers, &unit.barriers)
        end(unit, &ended)
        releaseKey(unit)
        isIdle = unsafe liveCount == 0
        isOver = unsafe isEnding && isIdle
        if isOver { unsafe isEnding = false }
      case .delayed:
        unsafe unit.stage = .delayed
        let keepsSlot = !scheduler.freesSlotInDelay && !mutant(.retryLosesItsPlace)
        unsafe unit.keptSlot = keepsSlot ? slot : nil
        if keepsSlot { return .end }
      case .held:
        unsafe unit.stage = .waiting
        unsafe oldestTurn = min(oldestTurn, unit.turn)
        if unsafe unit.attempts == 0 { unsafe waitingPayloads += unit.count }
        unsafe swap(&barriers, &unit.barriers)  // a barrier that came after the lock
        var back = [unit]
        if let key = unit.key {
          unsafe key.isActive = false
          while let next = unsafe key.parked.popFirst() { back.append(next) }
        }
        // The lock may have ended meanwhile.
        if unsafe isPaused { unsafe held += back } else { scheduler.insertUrgent(back, of: self) }
      }
      return scheduler.takeNext(slot, &ended)
    }
    if case .delayed(let delay) = result { startDelay(of: unit, delay) }
    for completion in barriers { completion.arrive(unit, nil) }
    if isOver {
      closeLate()
      shared?.remove(self)
    }
    if record.has(HandlerFlags.spent), !mutant(.usedUpHandlerStays) { anchor.core?.requestUnregistration(record) }
    if isIdle { sweepKeys() }
    switch next {
    case .run(let turn): return turn
    case .end: return nil
    case .search:
      Thread.spin(Thread.spinLimit)
      return scheduler.mutex.withLock { scheduler.takeFound(slot, &ended) }
    }
  }

  /// Tells the observers and the waiters of a unit's occurrences what became of them, and destroys
  /// the payloads.
  func reportOutcome(_ unit: LaneUnit, _ outcome: HandlerOutcome) {
    let node = unit.node
    var completions = unsafe unit.completions
    // A batch that did not begin.
    for i in unsafe 0..<(unit.gathered?.count ?? 0) {
      if let completion = unsafe unit.gathered?[i].completion { completions.append(completion) }
    }
    let count = unsafe unit.count
    unit.clear()
    switch outcome {
    case .skipped: skipped.wrappingAdd(count - completions.count, ordering: .relaxed)
    case .dropped: dropped.wrappingAdd(count - completions.count, ordering: .relaxed)
    case .delivered, .held, .failed: break
    }
    for completion in completions {
      if case .skipped = outcome { countSkipped(completion) }
      if case .dropped = outcome { countDropped(completion) }
      if completion.isAwaited { completion.arrive(node, outcome) }
    }
  }

  /// Lets the next unit of a key begin. The caller holds `scheduler.mutex`.
  private func releaseKey(_ unit: LaneUnit) {
    guard let key = unit.key else { return }
    unsafe key.isActive = false
    if unsafe isPaused {
      while let next = unsafe key.parked.popFirst() { unsafe held.append(next) }
      return
    }
    while let next = unsafe key.parked.popFirst() {
      // A unit that was dropped stays until its scheduler finds it.
      scheduler.appendReleased(next)
      if unsafe next.stage == .waiting { return }
    }
  }

  /// Starts the delay before another attempt. Not under a mutex.
  private func startDelay(of unit: LaneUnit, _ delay: Duration) {
    guard let queue = retryQueue, let delays else { return }
    let timer = UnitTimer(queue, delaying: unit.delayedNodes) { unit.lane.resume(unit) }
    unsafe unit.timer = timer
    delays.insert(timer, of: unit)
    timer.start(after: delay)
    endNeedless(timer, of: unit)
  }

  /// Ends a delay that was started too late: after the handler was locked or removed, after the
  /// event ended, or after a newer occurrence came.
  func endNeedless(_ timer: UnitTimer, of unit: LaneUnit) {
    let mustEnd = scheduler.mutex.withLock { unsafe unit.isReplaced || endsDelays }
    let flags = record.state.load(ordering: .acquiring)
    let isLocked = flags & HandlerFlags.lockedAtAll != 0
    guard mustEnd || isLocked || flags & HandlerFlags.removed != 0 else { return }
    // The thread that locked may have found no delay, and the lock may be over when the unit's turn
    // comes.
    if isLocked, flags & HandlerFlags.isHolding == 0 { unit.isGivenUp.publish(true) }
    timer.fireNow()
  }

  /// Ends the delay of a unit.
  private func resume(_ unit: LaneUnit) {
    if let timer = unsafe unit.timer { delays?.remove(timer) }
    let slot = scheduler.mutex.withLock { () -> ExecutionSlot? in
      // After a removal or the end of the event, at most one attempt follows.
      if unsafe endsDelays { unsafe unit.isLastAttempt = true }
      guard let slot = unsafe unit.keptSlot else {
        scheduler.appendUrgent(unit)
        return nil
      }
      unsafe unit.keptSlot = nil
      unsafe unit.stage = .running
      return slot
    }
    if let slot { scheduler.run(.unit(unit), on: slot) } else { scheduler.startUnits() }
  }

  /// Asks the core to forget unused keys, after a burst with many keys.
  private func sweepKeys() {
    guard let keys, keys.count > UnitKeyLimit.least, !isSweepWanted.load(ordering: .relaxed),
      !isSweepWanted.exchange(true, ordering: .relaxed), let core = anchor.core
    else { return }
    core.enqueue(
      .change(
        {
          self.isSweepWanted.store(false, ordering: .relaxed)
          keys.sweep()
        }, by: Thread.current))
  }
}
