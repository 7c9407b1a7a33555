import Synchronization

// What follows the run of a unit: its outcome and the next unit, or a delay and another attempt.

extension UnitLane {
  /// Ends the run of a unit on a slot. Returns the next turn for the slot; `nil` if the slot was
  /// freed, or waits for another attempt.
  func finish(_ unit: LaneUnit, _ result: UnitResult, _ slot: ExecutionSlot) -> LaneTurn? {
    switch result {
    case .ended(let outcome):
      // The report also destroys the payload. So it comes before the end of the unit, at which the
      // unit's barriers complete: by then the payload must be gone.
      reportOutcome(unit, outcome)
      return finishEnded(unit, slot)
    case .delayed(let delay): return finishDelayed(unit, delay, slot)
    case .held: return finishHeld(unit, slot)
    }
  }

  /// Ends the run of a unit whose call has returned: see ``finish(_:_:_:)``.
  @inline(__always) func finishDelivered(_ unit: LaneUnit, _ slot: ExecutionSlot) -> LaneTurn? {
    if unsafe unit.completions.isEmpty { unit.clear() } else { reportOutcome(unit, .delivered) }
    return finishEnded(unit, slot)
  }

  private func finishEnded(_ unit: LaneUnit, _ slot: ExecutionSlot) -> LaneTurn? {
    clearSlot(of: unit)
    var (ended, barriers): ([LaneUnit], [Completion]) = ([], [])
    scheduler.mutex.lock()
    if unsafe !unit.barriers.isEmpty { unsafe swap(&barriers, &unit.barriers) }
    end(unit, &ended)
    if let key = unit.key { release(key) }
    let isIdle = unsafe liveCount == 0
    let isOver = unsafe isIdle && isEnding
    if isOver { unsafe isEnding = false }
    let next = scheduler.takeNext(slot, &ended)
    scheduler.mutex.unlock()
    if !barriers.isEmpty { for completion in barriers { completion.arrive(unit, nil) } }
    if isOver {
      closeLate()
      shared?.remove(self)
    }
    unregisterIfSpent()
    if isIdle { sweepKeys() }
    return turn(next, slot)
  }

  private func finishDelayed(_ unit: LaneUnit, _ delay: Duration, _ slot: ExecutionSlot) -> LaneTurn? {
    clearSlot(of: unit)
    var ended: [LaneUnit] = []
    let next = scheduler.mutex.withLock { () -> UnitScheduler.Next in
      unsafe unit.stage = .delayed
      let keepsSlot = !scheduler.freesSlotInDelay && !mutant(.retryLosesItsPlace)
      unsafe unit.keptSlot = keepsSlot ? slot : nil
      return keepsSlot ? .end : scheduler.takeNext(slot, &ended)
    }
    startDelay(of: unit, delay)
    unregisterIfSpent()
    return turn(next, slot)
  }

  private func finishHeld(_ unit: LaneUnit, _ slot: ExecutionSlot) -> LaneTurn? {
    clearSlot(of: unit)
    var (ended, barriers): ([LaneUnit], [Completion]) = ([], [])
    let next = scheduler.mutex.withLock { () -> UnitScheduler.Next in
      unsafe unit.stage = .waiting
      unsafe oldestTurn = min(oldestTurn, unit.turn)
      if unsafe unit.attempts == 0 { unsafe waitingPayloads += unit.count }
      var back = [unit]
      if let key = unit.key {
        unsafe key.isActive = false
        while let next = unsafe key.parked.popFirst() { back.append(next) }
      }
      if unsafe isPaused {
        unsafe held += back
        // No barrier waits for a held unit. These came after `refused(_:)` let earlier ones pass.
        unsafe swap(&barriers, &unit.barriers)
      } else {
        // The lock has ended meanwhile. The barriers that came after its end wait for the call.
        scheduler.insertUrgent(back, of: self)
      }
      return scheduler.takeNext(slot, &ended)
    }
    for completion in barriers { completion.arrive(unit, nil) }
    unregisterIfSpent()
    return turn(next, slot)
  }

  /// Clears two references to the execution slot on which a unit ran: that of the unit and, if the
  /// unit has a key, that of the key. Called before another unit may get the slot or the key.
  private func clearSlot(of unit: LaneUnit) {
    unit.slot.clear()
    unit.key?.slot.clear()
  }

  private func unregisterIfSpent() {
    if record.has(HandlerFlags.spent), !mutant(.usedUpHandlerStays) { anchor.core?.requestUnregistration(record) }
  }

  /// Does what `next` says for a slot: returns the turn to run, or spins for one first. Returns
  /// `nil` if there is no turn, or if a sender runs the call as a child task.
  private func turn(_ next: UnitScheduler.Next, _ slot: ExecutionSlot) -> LaneTurn? {
    switch next {
    case .run(let turn): return keys != nil && wasAdopted(turn, slot) ? nil : turn
    case .end: return nil
    case .search:
      var ended: [LaneUnit] = []
      Thread.spin(Thread.spinLimit)
      return scheduler.mutex.withLock { scheduler.takeFound(slot, &ended) }
    }
  }

  /// Lets a sender's task run a turn on `slot`, as a child task, if the turn is a call of a `.task`
  /// handler for a `send`. Called if the lane has keys, because there a call may have waited for
  /// the earlier calls of its key.
  ///
  /// - Returns: `false` if the slot must run the turn itself: the turn is no such call, or the
  ///   sender does not wait for the call.
  private func wasAdopted(_ turn: LaneTurn, _ slot: ExecutionSlot) -> Bool {
    guard case .task(let priority) = record.place, let unit = turn.unit, let completion = unsafe unit.completions.first,
      completion.purpose == .send
    else { return false }
    return completion.adoptUnlessDeferred(unit.node, priority: priority) {
      await self.scheduler.runAsChild(unit, on: slot)
    }
  }

  /// Tells the observers and the waiters of a unit's occurrences the outcome, and destroys the
  /// payloads.
  func reportOutcome(_ unit: LaneUnit, _ outcome: HandlerOutcome) {
    let node = unit.node
    var completions = unsafe unit.completions
    // The completions of a batch that has not begun are still beside its payloads.
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
      if case .dropped = outcome {
        countDropped(completion, isReplaced: keepsOnlyTheNewest, isTold: unsafe unit.isDropTold)
      }
      if completion.isAwaited { completion.arrive(node, outcome) }
    }
  }

  /// Lets the next unit of a key begin. The caller holds `scheduler.mutex`.
  private func release(_ key: UnitKey) {
    unsafe key.isActive = false
    if unsafe isPaused {
      while let next = unsafe key.parked.popFirst() { unsafe held.append(next) }
      return
    }
    while let next = unsafe key.parked.popFirst() {
      // A unit that was dropped while it waited for the key also goes to the scheduler, which finds
      // it ended, and releases it after the unlock of the mutex.
      scheduler.appendReleased(next)
      if unsafe next.stage == .waiting { return }
    }
  }

  /// Starts the delay before another attempt. Never called under a mutex.
  private func startDelay(of unit: LaneUnit, _ delay: Duration) {
    guard let queue = retryQueue, let delays else { return }
    let timer = UnitTimer(queue, delaying: unit.delayedNodes) { unit.lane.resume(unit) }
    unsafe unit.timer = timer
    delays.insert(timer, of: unit)
    timer.start(after: delay)
    endNeedless(timer, of: unit)
  }

  /// Ends a delay if it was started too late: after the handler was locked or removed, after the
  /// event ended, or after a newer occurrence came.
  func endNeedless(_ timer: UnitTimer, of unit: LaneUnit) {
    let mustEnd = scheduler.mutex.withLock { unsafe unit.isReplaced || endsDelays }
    let flags = record.state.load(ordering: .acquiring)
    let isLocked = flags & HandlerFlags.lockedAtAll != 0
    guard mustEnd || isLocked || flags & HandlerFlags.removed != 0 else { return }
    // A thread that locks the handler ends the delays that are in `delays` at that time. If this
    // delay was added later, the locking thread has not ended it. So the thread that added the
    // delay ends it here, and sets the flag `isGivenUp`. The flag keeps the unit from another
    // attempt even if the lock has ended by then.
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

extension UnitLane {
  /// Returns the number of payloads whose calls could begin: those of batches that wait for more do
  /// not count.
  func countUnbegun() -> Int {
    scheduler.mutex.withLock {
      unsafe openBatches.reduce(waitingPayloads) { unsafe $1.stage == .gathering ? $0 - $1.count : $0 }
    }
  }
}
