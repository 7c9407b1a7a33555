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
}
