/// What becomes known of an occurrence while it is delivered with something to decide.
///
/// Not copyable: a copy would count references of all that is in it.
@usableFromInline struct Tally: ~Copyable {
  @usableFromInline let sequence: UInt64
  @usableFromInline var delivered = 0
  @usableFromInline var skipped = 0
  @usableFromInline var failures: [HandlerFailure] = []
  /// Made when the first handler needs it, for whom somebody waits or who wants to know the instant.
  @usableFromInline var flight: Flight?
  @usableFromInline let isAwaited: Bool
  @usableFromInline let sender: (any AnyObject & Sendable)?
  @usableFromInline let instant: Moment?

  @inlinable init(
    sequence: UInt64, isAwaited: Bool, sender: (any AnyObject & Sendable)?, flight: Flight?, isClocked: Bool
  ) {
    self.sequence = sequence
    self.isAwaited = isAwaited
    self.sender = sender
    self.flight = flight
    instant = isClocked ? .now : nil
    unsafe flight?.sequence = sequence
    unsafe flight?.instant = instant
  }

  /// The flight of what goes onto a lane, if it needs one.
  @inlinable mutating func flight(stamped: Bool) -> Flight? {
    if flight == nil, isAwaited || stamped {
      let new = Flight(isAwaited ? .send : .stamp, from: sender)
      unsafe new.sequence = sequence
      unsafe new.instant = instant
      flight = new
    }
    return flight
  }

  @inlinable var stamp: Stamp { Stamp(sequence: sequence, instant: instant ?? .now, sender: sender) }

  @inlinable mutating func count(_ outcome: Outcome) {
    switch outcome {
    case .delivered: delivered &+= 1
    case .skipped: skipped &+= 1
    case .failed(let failure): failures.append(failure)
    }
  }

  @inlinable var report: SendReport {
    SendReport(sequence: sequence, delivered: delivered, skipped: skipped, failures: failures)
  }

  /// Outside, for a send: waits for what is still out.
  @inlinable nonisolated(nonsending) consuming func finish() async -> SendReport {
    guard let flight else { return report }
    flight.finishDelivery(report)
    return await flight.wait()
  }
}
