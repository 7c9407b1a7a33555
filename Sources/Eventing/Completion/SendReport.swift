import Synchronization

/// The outcome of one occurrence.
///
/// Every handler that the occurrence found is counted exactly once: in ``delivered``, ``skipped``,
/// ``dropped``, ``deferred``, ``held`` or ``failures``. The counts ``dropped``, ``deferred`` and
/// ``held`` are capped at 2,097,151.
///
/// An occurrence finds the handlers that were added before it was sent. A handler isn't counted if
/// it was removed or used up, or its owner was gone, before the delivery reached it.
///
/// A forward to another event counts as one handler, which is delivered once the target has
/// accepted the occurrence. This report doesn't include the target's handlers or their errors.
public struct SendReport: Sendable {
  /// The sequence number of the occurrence, which is its position in the order of the event. The
  /// first is 1.
  public internal(set) var sequence: UInt64 {
    @inlinable get { counts.sequence }
    set { counts.sequence = newValue }
  }
  /// The number of handlers that were called and returned.
  public internal(set) var delivered: Int {
    @inlinable get { Int(counts.delivered) }
    set { counts.delivered = UInt32(newValue) }
  }
  /// The number of handlers that were not called.
  ///
  /// They were locked, were removed or used up while the occurrence waited for them, or were kept
  /// from it by a view, an interceptor or a failure.
  public internal(set) var skipped: Int {
    @inlinable get { Int(counts.skipped) }
    set { counts.skipped = UInt32(newValue) }
  }
  /// The number of handlers that missed the occurrence because their buffer had no room
  /// (``Buffering``), or because a pace or a newer occurrence replaced it.
  public internal(set) var dropped: Int {
    @inlinable get { counts.dropped }
    set { counts.dropped = newValue }
  }
  /// The number of handlers that run later and weren't waited for, because they wait for the caller
  /// and the wait would be a deadlock.
  public internal(set) var deferred: Int {
    @inlinable get { counts.deferred }
    set { counts.deferred = newValue }
  }
  /// The number of handlers for which a lock holds the occurrence; see
  /// ``HandlerRegistry/lock(_:holding:)``.
  ///
  /// They are called when the lock ends. A held occurrence may still be skipped if a later one
  /// replaces it (``Buffering/newest(_:)``) or its handler is removed.
  public internal(set) var held: Int {
    @inlinable get { counts.held }
    set { counts.held = newValue }
  }
  /// The errors that handlers threw, in the order of the handlers.
  public internal(set) var failures: [HandlerFailure] {
    @inlinable get { thrown }
    set { thrown = newValue }
  }

  @usableFromInline var counts: Counts
  @usableFromInline var thrown: [HandlerFailure]

  /// Takes 24 bytes, so that a report takes 32 and Swift returns it in registers. The rarer
  /// outcomes have 21 bits each and are capped at 2,097,151.
  @usableFromInline struct Counts: Sendable {
    @usableFromInline var sequence: UInt64
    @usableFromInline var delivered: UInt32
    @usableFromInline var skipped: UInt32
    @usableFromInline var rare: UInt64 = 0

    @inlinable init(sequence: UInt64, delivered: Int) {
      self.sequence = sequence
      self.delivered = UInt32(truncatingIfNeeded: delivered)
      skipped = 0
    }

    @inlinable static var most: Int { (1 << 21) - 1 }

    @inlinable func rare(at place: UInt64) -> Int { Int(truncatingIfNeeded: rare >> (21 * place)) & Counts.most }

    mutating func setRare(_ count: Int, at place: UInt64) {
      let bits = UInt64(min(count, Counts.most)) << (21 * place)
      rare = rare & ~(UInt64(Counts.most) << (21 * place)) | bits
    }

    @usableFromInline var dropped: Int {
      @inlinable get { rare(at: 0) }
      set { setRare(newValue, at: 0) }
    }
    @usableFromInline var deferred: Int {
      @inlinable get { rare(at: 1) }
      set { setRare(newValue, at: 1) }
    }
    @usableFromInline var held: Int {
      @inlinable get { rare(at: 2) }
      set { setRare(newValue, at: 2) }
    }
  }

  @inlinable package init(sequence: UInt64 = 0, delivered: Int = 0) {
    counts = Counts(sequence: sequence, delivered: delivered)
    thrown = []
  }

  /// Whether no handler was called and none will be.
  public var reachedNobody: Bool { delivered + deferred + held + failures.count == 0 }

  /// Throws the first failure in the order of the handlers. Returns if no handler failed.
  ///
  /// - Throws: The first of the ``failures``. Its ``HandlerFailure/error`` is the error that the
  ///   handler threw.
  /// - Complexity: O(1).
  public func throwIfFailed() throws(HandlerFailure) {
    if let failure = failures.first { throw failure }
  }
}

extension SendReport: CustomStringConvertible {
  public var description: String {
    "#\(sequence): \(delivered) delivered, \(skipped) skipped, \(dropped) dropped, \(deferred) deferred, \(held) held, \(failures.count) failed"
  }
}

extension SendReport {
  package mutating func count(_ outcome: Outcome) {
    switch outcome {
    case .delivered: delivered += 1
    case .skipped: skipped += 1
    case .dropped: dropped += 1
    case .held: held += 1
    case .failed(let failure): failures.append(failure)
    }
  }

  package mutating func add(_ other: SendReport) {
    sequence = other.sequence
    delivered += other.delivered
    skipped += other.skipped
    dropped += other.dropped
    deferred += other.deferred
    held += other.held
    failures += other.failures
  }

  mutating func sortFailures() {
    if failures.count > 1 { failures = failures.sortedUnspecialized { $0.isBefore($1) } }
  }
}

/// No task hangs, but the author may expect the deferred handlers to have run (G16).
package enum CycleReport {
  #if DEBUG
    private static let listeners = Guarded<[@Sendable (String) -> Void]>([])

    package static func alsoTell(_ listener: @escaping @Sendable (String) -> Void) {
      listeners.withLock { $0.append(listener) }
    }

    static func tell(_ sender: DeliveryTarget, waitingFor others: [String]) {
      guard !sender.isReported.exchange(true, ordering: .relaxed) else { return }
      let text = """
        \(sender.title) waits for an event, by send or quiesce, but that waits for \
        \(others.joined(separator: " and ")), which cannot go on before \(sender.title) has returned. It is not waited \
        for; a report counts it as deferred. (Told in debug builds, once for each handler.)
        """
      Warning.tell(text)
      for listener in listeners.withLock({ $0.map { $0 } }) { listener(text) }
    }
  #endif
}
