#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif
import Synchronization

/// The outcome of one occurrence.
///
/// Every handler that the occurrence found is counted exactly once: in ``delivered``, ``skipped``,
/// ``dropped``, ``deferred``, ``held`` or ``failures``. The counts ``dropped``, ``deferred`` and
/// ``held`` stay at 2,097,151 if they are larger.
///
/// An occurrence finds the handlers that were added before it was sent. But a handler does not
/// count if it was removed or used up, or if its owner was gone, before the delivery came to it.
///
/// A forward to another event counts as one handler, and as delivered when the target has taken the
/// occurrence. The target's handlers, and their errors, are not in this report.
public struct SendReport: Sendable {
  /// The sequence number of the occurrence: its place in the order of the event. The first is 1.
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
  /// They were locked, they were removed or used up while the occurrence waited for them, or a
  /// view, an interceptor or a failure kept the occurrence from them.
  public internal(set) var skipped: Int {
    @inlinable get { Int(counts.skipped) }
    set { counts.skipped = UInt32(newValue) }
  }
  /// The number of handlers that had no room for the occurrence (``Buffering``), or for which a
  /// pace or a newer occurrence replaced it.
  public internal(set) var dropped: Int {
    @inlinable get { counts.dropped }
    set { counts.dropped = newValue }
  }
  /// The number of handlers that run later and were not waited for, because they wait for the
  /// caller: to wait for them would be a deadlock.
  public internal(set) var deferred: Int {
    @inlinable get { counts.deferred }
    set { counts.deferred = newValue }
  }
  /// The number of handlers for which a lock holds the occurrence; see
  /// ``HandlerRegistry/lock(_:holding:)``.
  ///
  /// They are called when the lock ends. A held occurrence may still be skipped: if a later one
  /// replaces it (``Buffering/newest(_:)``), or if its handler is removed.
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

  /// Takes 24 bytes, so that a report has 32, which Swift returns in registers. The rarer outcomes
  /// have 21 bits each, and stay at 2,097,151.
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

  /// Whether no handler was called, and none will be.
  public var reachedNobody: Bool { delivered + deferred + held + failures.count == 0 }

  /// Throws the failure of the first handler that failed, in the order of the handlers. Returns if
  /// no handler failed.
  ///
  /// - Throws: The first of the ``failures``. Its ``HandlerFailure/error`` is what the handler
  ///   threw.
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
    /// Guarded by: mutex.
    // Safe: guarded by `mutex`.
    nonisolated(unsafe) private static var sink: @Sendable (String) -> Void = { line in
      let bytes = Array(line.utf8)
      _ = unsafe write(2, bytes, bytes.count)
    }
    private static let mutex = UnfairMutex()

    package static func alsoTell(_ other: @escaping @Sendable (String) -> Void) {
      mutex.withLock {
        let before = unsafe sink
        unsafe sink = { line in
          before(line)
          other(line)
        }
      }
    }

    static func tell(_ sender: DeliveryTarget, waitingFor others: [String]) {
      guard !sender.isReported.exchange(true, ordering: .relaxed) else { return }
      let sink = mutex.withLock { unsafe self.sink }
      sink(
        """
        eventing: \(sender.title) waits for an event, by send or quiesce, but that waits for \
        \(others.joined(separator: " and ")), which cannot go on before \(sender.title) has returned. It is not waited \
        for; a report counts it as deferred. \
        (Told in debug builds, once for each handler.)

        """)
    }
  #endif
}
