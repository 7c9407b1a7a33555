/// Not copyable: a copy would retain all references.
@usableFromInline struct Delivery: ~Copyable {
  var report: SendReport
  var forLaterHandlers = ForLaterHandlers.same
  var substitute: Substitute?
  var completion: Completion?
  let isAwaited: Bool
  let sender: (any AnyObject & Sendable)?
  var enqueued = 0
  var observed: ObservedOccurrence?
  var isLate = false
  /// From a `send` that no longer waits, also after a pace has delayed the occurrence. A full
  /// buffer that suspends senders still takes it, while it drops those of a `post`.
  var isLateSend = false
  var isReplay = false
  var isHeldOn = false
  let instant: StableInstant?
  let path: ForwardingPath?
  /// `nil` if the pace of a handler behind a view has kept only the payload that the view made.
  var payload: BorrowedPayload?

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

  mutating func completionIfAwaited() -> Completion? {
    guard isAwaited else { return nil }
    if completion == nil {
      completion = Completion(.send, from: sender, along: path)
      unsafe completion?.observed = observed
    }
    return completion
  }

  mutating func needNoRoom() {
    isLateSend = true
    unsafe completion?.needsNoRoom = true
  }

  mutating func completionForLane() -> Completion? {
    if completion == nil, isAwaited || CarriedContext.isCarrying || observed != nil || isLateSend || path != nil {
      completion = Completion(isAwaited ? .send : .post, from: sender, along: path)
      if isLateSend { unsafe completion?.needsNoRoom = true }
      unsafe completion?.isHeldKnown = isLate
      unsafe completion?.observed = observed
    }
    return completion
  }

  var mayCallHere: Bool { observed == nil && completion.map { !$0.isBound && !$0.staysInHand } ?? true }

  mutating func observe(_ observers: Observers?) {
    guard let observers else { return }
    observed = ObservedOccurrence(observers: observers, sequence: sequence)
    unsafe completion?.observed = observed
  }

  /// A buffer that suspends senders takes the occurrence of a `send` even if it is full.
  var isSend: Bool { isLateSend || (isAwaited && (completion?.purpose ?? .send) == .send) }

  /// Never called inside the core.
  nonisolated(nonsending) consuming func finish() async -> SendReport {
    guard let completion else { return report }
    completion.finishDelivery(report)
    return await completion.wait()
  }
}
