import Synchronization

// The delivery of the occurrence that has waited for the pace.

extension Pacer {
  enum Reason {
    case inTime
    case early
    case end
  }

  /// The core unregisters an ended handler at its next `unregisterDead()`. Isolation: core.
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

  /// Not by `EventCore.visit`: the payload has come out of the handler's view already.
  private func deliver(
    _ payload: BorrowedPayload, _ occurrence: PacedOccurrence, for observers: Observers?, _ reason: Reason
  ) -> Bool {
    let completion = occurrence.completion.flatMap { $0.isAwaited ? $0 : nil }
    completion?.beginPassing(self)
    defer { completion?.endPassing() }
    let letter = anchor.deadLetters == nil ? LetterPayload.lost : record.options.letter
    return letter.withPayload(from: payload) { whole in
      deliver(payload, occurrence, occurrence.delivery(whole), for: observers, reason, completion)
    }
  }

  private func deliver(
    _ payload: BorrowedPayload, _ occurrence: PacedOccurrence, _ delivery: consuming Delivery,
    for observers: Observers?, _ reason: Reason, _ completion: Completion?
  ) -> Bool {
    var delivery = delivery
    // Only what waits for the pace is replaced, and not what came to the lane in time.
    if reason != .inTime { delivery.needNoRoom() }
    delivery.observed = observers.map { ObservedOccurrence(observers: $0, sequence: occurrence.sequence) }
    let box = record.options.owner.flatMap { $0.isElsewhere ? nil : $0 }
    let owner = box?.object
    if box != nil, owner == nil { record.set(HandlerFlags.removed) }
    attempts: while record.has(HandlerFlags.notCallable) || !passAlone(payload, owner, &delivery) {
      // A lock that holds occurrences ends inside the core, where this thread is. So a lock that is
      // seen here ends after this delivery, and its end calls resume().
      switch refusal(isEnding: reason == .end) {
      case .retry: continue
      case .pause: return true
      case .skip:
        delivery.report.skipped += 1
        counters.countSkipped(occurrence.completion)
        break attempts
      }
    }
    if record.has(HandlerFlags.ended), reason != .end { anchor.core?.noteDead(record) }
    completion?.arrive(self, delivery.outcomeOfOneHandler)
    return false
  }

  private func passAlone(
    _ payload: BorrowedPayload, _ owner: (any AnyObject & Sendable)?, _ delivery: inout Delivery
  ) -> Bool {
    guard let cell = delivery.observed?.cell else { return pass(payload, owner, &delivery) }
    return CallCell.$current.withValue(cell) { pass(payload, owner, &delivery) }
  }

  func holdPending() -> Bool {
    let flags = record.state.load(ordering: .acquiring)
    guard flags & HandlerFlags.ended == 0, flags & HandlerFlags.lockedAtAll != 0, flags & HandlerFlags.isHolding != 0
    else { return false }
    noteHeld()
    return true
  }

  private func noteHeld() {
    guard unsafe !isHeldReported else { return }
    unsafe isHeldReported = true
    let occurrence = unsafe pending.takeFirst()
    if let completion = occurrence.completion, completion.isToBeTold { reportHeld(completion, at: self) }
    unsafe pending.untake(occurrence.withoutWaiting)
  }
}
