/// What becomes known of an occurrence while it is delivered with something to decide.
///
/// Not copyable: a copy would count references of all that is in it.
@usableFromInline struct Tally: ~Copyable {
  @usableFromInline let sequence: UInt64
  @usableFromInline var delivered = 0
  @usableFromInline var skipped = 0
  @usableFromInline var dropped = 0
  @usableFromInline var failures: [HandlerFailure] = []
  /// An interceptor keeps it from the handlers that follow.
  @usableFromInline var isStopped = false
  /// Made when the first handler needs it, if somebody waits.
  @usableFromInline var flight: Flight?
  @usableFromInline let isAwaited: Bool
  @usableFromInline let sender: (any AnyObject & Sendable)?
  /// When the delivery began, if a handler wants to know.
  @usableFromInline let instant: Moment?
  /// The events that the occurrence came through, if it was forwarded.
  @usableFromInline let path: Path?

  @inlinable init(
    sequence: UInt64, isAwaited: Bool, sender: (any AnyObject & Sendable)?, flight: Flight?, path: Path?, isClocked: Bool
  ) {
    self.sequence = sequence
    self.isAwaited = isAwaited
    self.sender = sender
    self.flight = flight
    self.path = path
    instant = isClocked ? .now : nil
  }

  /// What goes onto a lane with the payload, if somebody waits.
  @inlinable mutating func flightIfAwaited() -> Flight? {
    guard isAwaited else { return nil }
    if flight == nil { flight = Flight(.send, from: sender) }
    return flight
  }

  /// The same, or what has the sender's task-local values.
  @inlinable mutating func flightForLane() -> Flight? {
    if flight == nil, isAwaited || CarriedContext.isCarrying { flight = Flight(isAwaited ? .send : .post, from: sender) }
    return flight
  }

  @inlinable mutating func fail(_ record: Record, _ home: Home, _ error: any Error) {
    let failure = HandlerFailure(HandlerToken(record, home), error, record.details?.options)
    failures.append(failure)
    if home.note(failure) { isStopped = true }
  }

  @inlinable mutating func count(_ outcome: Outcome) {
    switch outcome {
    case .delivered: delivered &+= 1
    case .skipped: skipped &+= 1
    case .dropped: dropped &+= 1
    case .failed(let failure): failures.append(failure)
    }
  }

  @inlinable var report: SendReport {
    SendReport(sequence: sequence, delivered: delivered, skipped: skipped, dropped: dropped, failures: failures)
  }

  /// Outside, for a send: waits for what is still out.
  @inlinable nonisolated(nonsending) consuming func finish() async -> SendReport {
    guard let flight else { return report }
    flight.finishDelivery(report)
    return await flight.wait()
  }
}
