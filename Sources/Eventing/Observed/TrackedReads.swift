import Observation
import Synchronization

/// Observation registers `onChange` only after the reading closure has returned, so it misses a
/// change between the read and the registration. The lease shows whether it may have: the lease is
/// retained by the reading thread, then by Observation's list of what the closure has read, then by
/// the registrar until `onChange` is called. If the lease still exists after a change was reported,
/// the change is reported again a little later.
@usableFromInline final class TrackedReads: Sendable {
  private let registrar: ObservationRegistrar
  private let lease: ReadLease
  private let keyPath: any KeyPath<TrackedSubject, Void> & Sendable
  /// The thread of all tracked reads; 0 before the first, 1 for several threads.
  private let thread: Atomic<UInt>

  convenience init() { self.init(ObservationRegistrar(), ReadLease(), thread: 0) }

  private init(_ registrar: ObservationRegistrar, _ lease: ReadLease, thread: UInt) {
    self.registrar = registrar
    self.lease = lease
    self.thread = Atomic(thread)
    keyPath = lease.keyPath
  }

  var isTracked: Bool { lease.hashCount.load(ordering: .relaxed) != 0 }

  /// Only a tracked read changes `thread`, so that `tell(_:)` knows if one thread made all of them.
  func add() -> Bool {
    let before = lease.hashCount.load(ordering: .relaxed)
    registrar.access(TrackedSubject.shared, keyPath: keyPath)
    guard lease.hashCount.load(ordering: .relaxed) != before else { return false }
    let (isFirst, reader) = thread.compareExchange(expected: 0, desired: Thread.current, ordering: .relaxed)
    if !isFirst, reader != Thread.current { thread.store(1, ordering: .relaxed) }
    return true
  }

  /// Observation calls `onChange`, which is user code; no mutex is held. A closure that still runs
  /// is told by a task later. If this thread made all tracked reads, the closure is on its call
  /// stack: its `onChange` might run it again, and so on for ever. Those reads are returned, and
  /// kept for the next change.
  ///
  /// - Parameter reads: `nil` afterwards, so that the caller retains no lease.
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
    // The value has changed before both calls, so an `onChange` in either finds the new value.
    registrar.willSet(TrackedSubject.shared, keyPath: keyPath)
    registrar.didSet(TrackedSubject.shared, keyPath: keyPath)
  }
}

/// Retained by the key path `\TrackedSubject[lease]`, which Observation retains until it has called
/// the `onChange` of each closure that read the value.
final class ReadLease: Hashable, Sendable {
  let hashCount = Atomic<UInt>(0)

  var keyPath: any KeyPath<TrackedSubject, Void> & Sendable { \TrackedSubject[self] }

  static func == (one: ReadLease, other: ReadLease) -> Bool { one === other }
  func hash(into hasher: inout Hasher) {
    hashCount.wrappingAdd(1, ordering: .relaxed)
    hasher.combine(ObjectIdentifier(self))
  }
}
