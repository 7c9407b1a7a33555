/// What became of one occurrence.
///
/// Every handler that the occurrence found is counted exactly once: in ``delivered``, ``skipped``, ``dropped``, ``deferred`` or ``failures``.
/// Found are the handlers that were added before it and that, when their turn came, had not been removed or used up, and whose owner was alive.
/// A forward is one of them, delivered when its target took the occurrence: what becomes of it there is not in this report, errors included.
public struct SendReport: Sendable {
  /// Its place in the order of the event.
  public internal(set) var sequence: UInt64 {
    @inlinable get { counts.sequence }
    set { counts.sequence = newValue }
  }
  /// Handlers that were called and returned.
  public internal(set) var delivered: Int {
    @inlinable get { counts.delivered }
    set { counts.delivered = newValue }
  }
  /// Handlers that were not called: locked, or removed or used up while it waited for them.
  public internal(set) var skipped: Int {
    @inlinable get { counts.skipped }
    set { counts.skipped = newValue }
  }
  /// Handlers that had no room for it: see ``Buffering``.
  public internal(set) var dropped: Int {
    @inlinable get { counts.dropped }
    set { counts.dropped = newValue }
  }
  /// Handlers that run later and were not waited for, because they wait for the one who waits here, or because a lock holds it for them: see ``Holding``.
  /// Of these the last few may be skipped after all: where a later one takes the place that `.latest` has, and where a handler is removed meanwhile.
  public internal(set) var deferred: Int {
    @inlinable get { counts.deferred }
    set { counts.deferred = newValue }
  }
  /// What handlers threw, in the order of the handlers.
  public internal(set) var failures: [HandlerFailure] {
    @inlinable get { thrown }
    set { thrown = newValue }
  }

  @usableFromInline var counts: Counts
  @usableFromInline var thrown: [HandlerFailure]

  @usableFromInline struct Counts: Sendable {
    @usableFromInline var sequence: UInt64
    @usableFromInline var delivered: Int
    @usableFromInline var skipped: Int
    @usableFromInline var dropped: Int
    @usableFromInline var deferred: Int

    @inlinable init(sequence: UInt64, delivered: Int, skipped: Int, dropped: Int, deferred: Int) {
      self.sequence = sequence
      self.delivered = delivered
      self.skipped = skipped
      self.dropped = dropped
      self.deferred = deferred
    }
  }

  @inlinable init(
    sequence: UInt64 = 0, delivered: Int = 0, skipped: Int = 0, dropped: Int = 0, deferred: Int = 0,
    failures: [HandlerFailure] = []
  ) {
    counts = Counts(sequence: sequence, delivered: delivered, skipped: skipped, dropped: dropped, deferred: deferred)
    thrown = failures
  }

  /// True if no handler has been, or will be, called.
  public var reachedNobody: Bool { delivered + deferred + failures.count == 0 }

  /// Throws the error of the first handler, in their order, that threw one. All of them are in ``failures``.
  public func throwIfFailed() throws {
    if let failure = failures.first { throw failure.error }
  }
}

extension SendReport: CustomStringConvertible {
  /// In one line.
  public var description: String {
    "#\(sequence): \(delivered) delivered, \(skipped) skipped, \(dropped) dropped, \(deferred) deferred, \(failures.count) failed"
  }
}

extension SendReport {
  mutating func count(_ outcome: HandlerOutcome) {
    switch outcome {
    case .delivered: delivered += 1
    case .skipped: skipped += 1
    case .dropped: dropped += 1
    case .held: deferred += 1
    case .failed(let failure): failures.append(failure)
    }
  }

  mutating func add(_ other: SendReport) {
    sequence = other.sequence
    delivered += other.delivered
    skipped += other.skipped
    dropped += other.dropped
    deferred += other.deferred
    failures += other.failures
  }

  mutating func sortFailures() {
    if failures.count > 1 { failures.sort { $0.isBefore($1) } }
  }
}
