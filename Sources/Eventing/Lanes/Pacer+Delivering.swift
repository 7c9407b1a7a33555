import Synchronization

// The delivery of the occurrence that has waited for the pace.

extension Pacer {
  /// The reason for which the occurrence that waits is delivered now.
  enum Reason {
    /// Its time has come.
    case inTime
    /// A `quiesce` does not wait for the pace, or a lock has ended.
    case early
    /// The handler ends, so no lock holds the occurrence.
    case end
  }

  /// Delivers the occurrence that waits, unless a lock holds it. If the delivery ends the
  /// handler, the core unregisters it at its next `unregisterDead()`. Isolation: core.
  func deliverPending(_ reason: Reason, for observers: Observers?) {
    guard unsafe !pending.isEmpty, reason == .end || !holdPending() else { return }
    var taken = PayloadQueue<PacedOccurrence>(type)
    unsafe swap(&taken, &pending)
    let occurrence = taken.takeFirst()
    let payload = taken.taken
    let isHeld =
      if let context = occurrence.completion?.context {
        context.run { deliver(payload, occurrence, for: observers, reason) }
      } else {
        deliver(payload, occurrence, for: observers, reason)
      }
    guard isHeld else {
      unsafe isHeldReported = false
      return taken.destroyTaken()
    }
    // `pending` is still empty: since the swap no handler was called, and no thread came inside.
    taken.untake(occurrence)
    unsafe swap(&taken, &pending)
    noteHeld()
  }

  /// Decides once more, as the event did when the occurrence came, whether the handler may be
  /// called. If so, passes the occurrence to the handler. Does not use `EventCore.visit`, which
  /// would pass the payload through the handler's view. If there is a view, the payload has come
  /// out of it already.
  ///
  /// - Returns: Whether a lock, which has just begun, holds the occurrence.
  private func deliver(
    _ payload: BorrowedPayload, _ occurrence: PacedOccurrence, for observers: Observers?, _ reason: Reason
  ) -> Bool {
    let completion = occurrence.completion.flatMap { $0.isAwaited ? $0 : nil }
    completion?.beginPassing(self)
    defer { completion?.endPassing() }
    let letter = anchor.deadLetters == nil ? LetterPayload.lost : record.options.letter
    return letter.withPayload(from: payload) { whole in
      deliver(payload, occurrence, occurrence.tally(whole), for: observers, reason, completion)
    }
  }

  private func deliver(
    _ payload: BorrowedPayload, _ occurrence: PacedOccurrence, _ tally: consuming Delivery,
    for observers: Observers?, _ reason: Reason, _ completion: Completion?
  ) -> Bool {
    var tally = tally
    // Only what waits for the pace is replaced, and not what came to the lane in time.
    if reason != .inTime { tally.needNoRoom() }
    tally.observed = observers.map { ObservedOccurrence(observers: $0, sequence: occurrence.sequence) }
    let box = record.options.owner.flatMap { $0.isElsewhere ? nil : $0 }
    let owner = box?.object
    if box != nil, owner == nil { record.set(HandlerFlags.removed) }
    attempts: while record.has(HandlerFlags.notCallable) || !passAlone(payload, owner, &tally) {
      // A lock that holds occurrences ends inside the core, where this thread is. So a lock that is
      // seen here ends after this delivery, and its end calls resume().
      switch refusal(isEnding: reason == .end) {
      case .retry: continue
      case .pause: return true
      case .skip:
        tally.report.skipped += 1
        counters.countSkipped(occurrence.completion)
        break attempts
      }
    }
    if record.has(HandlerFlags.ended), reason != .end { anchor.core?.noteDead(record) }
    completion?.arrive(self, tally.outcomeOfOneHandler)
    return false
  }

  /// Passes an occurrence to the handler. Binds the ``CallCell`` of a traced occurrence meanwhile,
  /// in which a trace finds the cause of what an inline handler sends.
  private func passAlone(
    _ payload: BorrowedPayload, _ owner: (any AnyObject & Sendable)?, _ tally: inout Delivery
  ) -> Bool {
    guard let cell = tally.observed?.cell else { return pass(payload, owner, &tally) }
    return CallCell.$current.withValue(cell) { pass(payload, owner, &tally) }
  }

  /// Returns whether a lock holds the occurrence that waits. If so, keeps it until the lock ends.
  func holdPending() -> Bool {
    let flags = record.state.load(ordering: .acquiring)
    guard flags & HandlerFlags.ended == 0, flags & HandlerFlags.lockedAtAll != 0, flags & HandlerFlags.isHolding != 0
    else { return false }
    noteHeld()
    return true
  }

  /// Reports once that a lock holds the occurrence that waits, and lets its waiters go on.
  private func noteHeld() {
    guard unsafe !isHeldReported else { return }
    unsafe isHeldReported = true
    let occurrence = unsafe pending.takeFirst()
    if let completion = occurrence.completion, completion.isToBeTold { reportHeld(completion, at: self) }
    unsafe pending.untake(occurrence.withoutWaiting)
  }
}
