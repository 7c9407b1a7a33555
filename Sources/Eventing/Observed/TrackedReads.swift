import Observation
import Synchronization

/// The reads of a value since Observation was last told of a change. If any read was tracked, the
/// next change removes this object from the value, and tells the closures that made tracked reads:
/// Observation calls the `onChange` that belongs to such a closure.
///
/// Observation registers the `onChange` only after the reading closure has returned. So a change
/// may come after the read and before the registration, and then Observation does not call
/// `onChange`.
///
/// The lease shows whether a reading closure may still have to be told. The lease is retained by
/// the reading thread during the read; then, until the registration, by Observation's list of what
/// the closure has read; then by the registrar, until `onChange` is called. So as long as the lease
/// exists, some closure may not have been told, and the change is reported to the registrar once
/// more.
@usableFromInline final class TrackedReads: Sendable {
  private let registrar: ObservationRegistrar
  private let lease: ReadLease
  private let keyPath: any KeyPath<TrackedSubject, Void> & Sendable
  /// The thread that made the tracked reads; 0 for none, and 1 for several.
  private let thread: Atomic<UInt>

  convenience init() { self.init(ObservationRegistrar(), ReadLease(), thread: 0) }

  private init(_ registrar: ObservationRegistrar, _ lease: ReadLease, thread: UInt) {
    self.registrar = registrar
    self.lease = lease
    self.thread = Atomic(thread)
    keyPath = lease.keyPath
  }

  /// Whether any read was tracked.
  var isTracked: Bool { lease.hashCount.load(ordering: .relaxed) != 0 }

  /// Notes a read of the calling thread.
  ///
  /// An untracked read leaves `thread` alone. If it set `thread` to 1, for several threads,
  /// `tell(_:)` would not know that one thread made all tracked reads. Then a closure that made
  /// them, and changes the value itself, would be told of its own change.
  ///
  /// - Returns: Whether this read was tracked. If another thread makes a tracked read meanwhile, an
  ///   untracked read may count as tracked.
  func add() -> Bool {
    let before = lease.hashCount.load(ordering: .relaxed)
    registrar.access(TrackedSubject.shared, keyPath: keyPath)
    guard lease.hashCount.load(ordering: .relaxed) != before else { return false }
    let (isFirst, reader) = thread.compareExchange(expected: 0, desired: Thread.current, ordering: .relaxed)
    if !isFirst, reader != Thread.current { thread.store(1, ordering: .relaxed) }
    return true
  }

  /// Has Observation call `onChange` for the closures that made tracked reads: now for closures
  /// that have returned; for the others later, in a task that reports the change again, at most 13
  /// times, until they have returned. A closure that made the change itself is left out.
  ///
  /// `onChange` is the users' code. The caller has changed the value, and holds no mutex.
  ///
  /// - Parameter reads: The reads. They are `nil` afterwards, so that the caller retains no lease.
  /// - Returns: The reads of the closures that have not returned, if the calling thread made all
  ///   tracked reads; otherwise `nil`. Such a closure is still running on the calling thread, so it
  ///   made the change itself. For this change it gets no `onChange`, because it might run again
  ///   and make another change each time. The caller keeps the reads for the next change.
  static func tell(_ reads: inout TrackedReads?) -> TrackedReads? {
    guard let registrar = reads?.registrar, let thread = reads?.thread.load(ordering: .relaxed) else { return nil }
    weak let lease = reads?.lease
    reads = nil
    tell(lease, registrar)
    guard let left = lease else { return nil }
    if thread == Thread.current { return TrackedReads(registrar, left, thread: thread) }
    tellLater(left, registrar)
    return nil
  }

  /// Starts a task that reports the change to Observation, again and again, until the closures that
  /// made these reads have returned and have been told.
  func tellLater() { TrackedReads.tellLater(lease, registrar) }

  private static func tellLater(_ lease: ReadLease, _ registrar: ObservationRegistrar) {
    if Scheduling.isSimulated { return }
    Scheduling.task(priority: nil, on: nil) { [weak lease] in
      for attempt in 0..<13 where lease != nil {
        try? await Task.sleep(for: .milliseconds(1 << attempt))
        tell(lease, registrar)
      }
    }
  }

  private static func tell(_ lease: ReadLease?, _ registrar: ObservationRegistrar) {
    guard let keyPath = lease?.keyPath else { return }
    // The value has changed already: a closure that is told, and reads it, finds the new one.
    registrar.willSet(TrackedSubject.shared, keyPath: keyPath)
    registrar.didSet(TrackedSubject.shared, keyPath: keyPath)
  }
}

/// An argument of a key path. The lease exists while a closure may have to be told of a change.
final class ReadLease: Hashable, Sendable {
  /// The number of times that Observation has hashed the key path, as it does for a tracked read.
  let hashCount = Atomic<UInt>(0)

  var keyPath: any KeyPath<TrackedSubject, Void> & Sendable { \TrackedSubject[self] }

  static func == (one: ReadLease, other: ReadLease) -> Bool { one === other }
  func hash(into hasher: inout Hasher) {
    hashCount.wrappingAdd(1, ordering: .relaxed)
    hasher.combine(ObjectIdentifier(self))
  }
}
