import Synchronization

// What follows an attempt whose claim was refused, or that failed.

extension UnitLane {
  /// Returns whether a unit whose claim was refused is skipped, claimed again, or held. If a lock
  /// holds the unit, pauses the lane.
  func refused(_ unit: LaneUnit) -> ClaimRefusal {
    var detached: [DetachedUnit] = []
    // The flags of the handler are read and the lane is paused in one critical section. When a lock
    // ends, resume() takes the mutex after the flags have changed, and so finds the pause: see
    // DeliveryTarget.refusal(isEnding:).
    let refusal = scheduler.mutex.withLock { () -> ClaimRefusal in
      let refusal = self.refusal(of: unit)
      guard case .pause = refusal else { return refusal }
      if unsafe !isPaused {
        unsafe isPaused = true
        detached = detachWaiters()
      }
      if let own = unit.detachWaiters() { detached.append(own) }
      return refusal
    }
    release(detached)
    return refusal
  }

  /// The caller holds `scheduler.mutex`.
  private func refusal(of unit: LaneUnit) -> ClaimRefusal {
    let isEnding = unsafe self.isEnding
    if unsafe unit.attempts == 0 || record.has(HandlerFlags.removed) { return refusal(isEnding: isEnding) }
    if unit.isGivenUp.load(ordering: .acquiring) { return .skip }
    // If this is a once handler, its first attempt has used it up. Further attempts still follow.
    let flags = record.state.load(ordering: .acquiring)
    if flags & HandlerFlags.lockedAtAll == 0 { return .retry }
    return flags & HandlerFlags.isHolding != 0 && !isEnding ? .pause : .skip
  }

  func failure(_ error: any Error, _ unit: LaneUnit) -> HandlerOutcome {
    let failure = HandlerFailure(
      HandlerToken(record, anchor), error, record.options, attempts: unsafe max(1, unit.attempts))
    // The result says whether the failure policy stops the occurrence. It is ignored: a call on a
    // lane does not hold up the delivery to the handlers that follow.
    _ = anchor.failures().note(failure, calls: unsafe unit.count)
    guard let letters = anchor.deadLetters, let payload = unsafe unit.payload?.borrowed else {
      return .failed(failure)
    }
    let letter = record.options.letter
    if let batch = modifiers.batch {
      batch.forEach(payload) { letters.post($0, letter, failure) }
    } else {
      letters.post(payload, letter, failure)
    }
    return .failed(failure)
  }

  /// Reports a unit that a lock held, and that will not run any more: as failed if an attempt
  /// failed, otherwise as skipped. No sender waits for the unit, because the pause of the lane has
  /// removed its waiters. Releases its payloads. Never called under a mutex.
  func skip(_ unit: LaneUnit) {
    if let error = unsafe unit.lastError {
      reportOutcome(unit, failure(error, unit))
      return unit.arriveBarriers()
    }
    var completions: [Completion?] = unsafe unit.completions
    for i in unsafe 0..<(unit.gathered?.count ?? 0) { unsafe completions.append(unit.gathered?[i].completion) }
    for completion in completions { skip(completion, at: unit.node) }
    for _ in unsafe min(completions.count, unit.count)..<unit.count { countSkipped(nil) }
    unit.clear()
    unit.arriveBarriers()
  }

  /// Ends the units that wait: see ``DeliveryTarget/abandon()``. A unit that waits for a slot after
  /// a delay between two attempts fails with its last error. The others are skipped.
  func skipWaiting() {
    var (skipped, failed, ended): ([LaneUnit], [LaneUnit], [LaneUnit]) = ([], [], [])
    var timers: [UnitTimer] = []
    let isOver = scheduler.mutex.withLock { () -> Bool in
      closeBatches(&timers)
      unsafe units.forEach { unit in
        if unsafe unit.stage == .waiting, unsafe unit.attempts == 0 { skipped.append(unit) }
        // The delay has ended: see resume(_:). So no other thread has the unit.
        if unsafe unit.stage == .delayed, unsafe unit.keptSlot == nil, unsafe unit.isLastAttempt { failed.append(unit) }
      }
      for unit in skipped + failed {
        endEarly(unit, &ended)
        scheduler.noteEnded(&ended)
        unit.key?.noteEnded(&ended)
      }
      guard unsafe liveCount == 0, unsafe isEnding else { return false }
      unsafe isEnding = false
      return true
    }
    for timer in timers { timer.cancel() }
    for unit in skipped {
      reportOutcome(unit, .skipped)
      unit.arriveBarriers()
    }
    for unit in failed { skip(unit) }
    if isOver {
      closeLate()
      shared?.remove(self)
    }
    withExtendedLifetime(ended) {}
  }
}
