/// The outcomes of one occurrence while the slow path delivers it, with its sender, its completion
/// and its path.
///
/// Not copyable: a copy would retain all of its references.
@usableFromInline struct Delivery: ~Copyable {
  /// The outcomes so far.
  var report: SendReport
  /// The payload for the handlers that follow, if they are called.
  var forLaterHandlers = ForLaterHandlers.same
  /// The payload that an interceptor has put in the place of the one that was sent; `nil` for none.
  var substitute: Substitute?
  /// The completion. It is created when the first handler needs it.
  var completion: Completion?
  /// Whether a `send` or a ticket waits for the occurrence.
  let isAwaited: Bool
  let sender: (any AnyObject & Sendable)?
  /// The number of lanes on which the occurrence waits, and which report the outcome later.
  var enqueued = 0
  /// The occurrence as its observers see it; `nil` if the event is not observed.
  var observed: ObservedOccurrence?
  /// Whether a lock held the occurrence, and this is its delivery after the end of the lock.
  var isLate = false
  /// Whether a `send` brought the occurrence and a lock has held it, or a pace passes it on before
  /// its time.
  ///
  /// The sender no longer waits for the held occurrence. But a full buffer that suspends senders
  /// takes the occurrence as one of a `send`, while it drops those of a `post` (see ``isSend``).
  /// Stays true if a handler's pace delays the occurrence after the lock.
  var isLateSend = false
  /// Whether the payload is one of the past, which a new handler receives alone.
  var isReplay = false
  /// Whether a further lock refused this occurrence, which a lock had held before (``isLate``).
  /// Then it must go back into the holding buffer.
  var isHeldOn = false
  /// The instant at which the delivery began, if a handler needs it.
  let instant: StableInstant?
  /// The events that a forwarded occurrence came through.
  let path: ForwardingPath?
  /// The payload that was sent to the event, for a ``DeadLetter`` if a handler throws. `nil` if the
  /// occurrence has waited for the pace of a handler behind a view that makes other payloads: the
  /// pace kept the payload that the view had made, and not the one that was sent.
  var payload: BorrowedPayload?

  /// Whether an interceptor or a failure stopped the occurrence, so that later handlers are
  /// skipped.
  var isStopped: Bool { forLaterHandlers == .nothing }

  var sequence: UInt64 { report.sequence }

  init(
    _ payload: BorrowedPayload, sequence: UInt64, isAwaited: Bool, sender: (any AnyObject & Sendable)?,
    completion: Completion?, path: ForwardingPath?, isClocked: Bool
  ) {
    self.payload = payload
    report = SendReport(sequence: sequence)
    self.isAwaited = isAwaited
    self.sender = sender
    self.completion = completion
    self.path = path
    instant = isClocked ? .now : nil
  }

  /// Creates the delivery of an occurrence that a lock held until now.
  init(_ payload: BorrowedPayload, _ held: HeldOccurrence) {
    self.payload = payload
    report = SendReport(sequence: held.sequence)
    completion = held.completion
    isAwaited = held.completion != nil
    sender = held.sender
    path = held.path
    instant = held.instant
    isLate = true
    isLateSend = held.isSend
  }

  /// Creates the delivery of an occurrence that waited for a handler's pace until now.
  init(
    _ payload: BorrowedPayload?, paced sequence: UInt64, _ completion: Completion?,
    from sender: (any AnyObject & Sendable)?, along path: ForwardingPath?, at instant: StableInstant?, isLateSend: Bool
  ) {
    self.payload = payload
    report = SendReport(sequence: sequence)
    isAwaited = completion?.isAwaited ?? false
    self.sender = sender
    self.completion = completion
    self.path = path
    self.instant = instant
    self.isLateSend = isLateSend
  }

  // MARK: Completion

  /// Returns the completion, and creates it if there is none; `nil` if nothing waits.
  mutating func completionIfAwaited() -> Completion? {
    guard isAwaited else { return nil }
    if completion == nil {
      completion = Completion(.send, from: sender)
      unsafe completion?.observed = observed
    }
    return completion
  }

  /// Makes the buffer of a handler's lane take the occurrence even if it is full.
  mutating func needNoRoom() {
    isLateSend = true
    unsafe completion?.needsNoRoom = true
  }

  /// Returns the completion that goes onto a lane with the payload; `nil` if there is none. Creates
  /// it first if something waits or observes, if values are carried, or if ``isLateSend`` is true.
  mutating func completionForLane() -> Completion? {
    if completion == nil, isAwaited || CarriedContext.isCarrying || observed != nil || isLateSend {
      completion = Completion(isAwaited ? .send : .post, from: sender)
      if isLateSend { unsafe completion?.needsNoRoom = true }
      unsafe completion?.isHeldKnown = isLate
      unsafe completion?.observed = observed
    }
    return completion
  }

  /// Whether a lane on the main queue may call its handler without a worker: there are no observers
  /// and no carried values for the call, and no transport keeps the occurrence.
  var mayCallHere: Bool { observed == nil && completion.map { !$0.isBound && !$0.staysInHand } ?? true }

  /// Reports the occurrence, and its outcomes from now on, to observers.
  mutating func observe(_ observers: Observers?) {
    guard let observers else { return }
    observed = ObservedOccurrence(observers: observers, sequence: sequence)
    unsafe completion?.observed = observed
  }

  /// Whether a `send` brings the occurrence. If so, a buffer that suspends senders takes the
  /// occurrence even if the buffer is full.
  var isSend: Bool { isLateSend || (isAwaited && (completion?.purpose ?? .send) == .send) }

  /// Ends the delivery, and waits for outstanding handlers. Never called inside the core.
  nonisolated(nonsending) consuming func finish() async -> SendReport {
    guard let completion else { return report }
    completion.finishDelivery(report)
    return await completion.wait()
  }
}
