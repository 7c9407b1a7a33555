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
/// the closure has read; then by the registrar, until `onChange` is called. So if the lease still
/// exists after a change was reported to the registrar, some closure may not have been told of that
/// change. Then the same change is reported to the registrar again, a little later.
@usableFromInline final class TrackedReads: Sendable {
  private let registrar: ObservationRegistrar
  private let lease: ReadLease
  private let keyPath: any KeyPath<TrackedSubject, Void> & Sendable
  /// The thread that made all tracked reads; 0 before the first one, and 1 if several threads made
  /// them.
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
  /// The field `thread` names the thread that made all tracked reads; 1 stands for several threads.
  /// An untracked read does not change the field. If it set the field to 1, `tell(_:)` could not
  /// know that one thread made all tracked reads. Then a closure that reads and sets the value
  /// would be told of its own change.
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

  /// Tells the closures that made tracked reads and have returned: Observation calls their
  /// `onChange`.
  ///
  /// Observation cannot call the `onChange` of a closure that still runs. So a task reports the
  /// change to Observation again, at most 13 times, after the closure has had time to return.
  ///
  /// No such task is started if the calling thread made all tracked reads. Then a closure that
  /// still runs is on this thread's call stack, so it has made the change itself. The `onChange` of
  /// that closure might run the closure again, which might make another change, and so on for ever.
  ///
  /// `onChange` is the users' code. The caller has changed the value, and holds no mutex.
  ///
  /// - Parameter reads: The reads. They are `nil` afterwards, so that the caller retains no lease.
  /// - Returns: The reads of the closures that made the change themselves, for which no task was
  ///   started. The caller keeps these reads for the next change. `nil` if there are none.
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

  /// Starts a task for the closures that made these tracked reads and have not been told of the
  /// change. Some of them may still run, and Observation calls `onChange` only for a closure that
  /// has returned. So the task reports the change to Observation at most 13 times, after longer and
  /// longer pauses. The task ends when all these closures have been told.
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
    // Observation may call an `onChange` in `willSet` or in `didSet`. The value has changed before
    // both calls. So an `onChange` that reads the value finds the new one, or a later one.
    registrar.willSet(TrackedSubject.shared, keyPath: keyPath)
    registrar.didSet(TrackedSubject.shared, keyPath: keyPath)
  }
}

/// The argument in the key path that stands for the tracked reads of one ``TrackedReads``:
/// `\TrackedSubject[lease]`. The key path retains the lease, and Observation retains the key path
/// for each closure that read the value, until it has called the `onChange` of that closure. So the
/// lease exists while a closure may still have to be told of a change.
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
