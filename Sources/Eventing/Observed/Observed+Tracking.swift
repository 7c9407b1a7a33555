import Observation
import Synchronization

// Values in Swift's Observation: which reads are tracked, and which closures are notified of
// changes.

extension Observed.Storage {
  /// Uses no type that depends on `Value`, because looking up its metadata would take most of the
  /// time of a read.
  @usableFromInline @inline(never) func reportRead() -> TrackedReads? {
    let reads = core.mutex.withLock { unsafe trackedReads } ?? makeTrackedReads()
    return reads.add() ? reads : nil
  }

  private func makeTrackedReads() -> TrackedReads {
    let made = TrackedReads()
    return core.mutex.withLock {
      if let other = unsafe trackedReads { return other }
      unsafe trackedReads = made
      return made
    }
  }

  @usableFromInline @inline(never) func trackedValue(of reported: TrackedReads) -> Value {
    var reads = reported
    while true {
      let current: Value? = core.mutex.withLock {
        guard unsafe trackedReads === reads else { return nil }
        choosePath()
        return unsafe box.current
      }
      if let current { return current }
      guard let next = reportRead() else { return value }
      reads = next
    }
  }

  /// The caller holds `core.mutex` and notifies the closures after unlocking.
  func takeTrackedReads() -> TrackedReads? {
    guard let reads = unsafe trackedReads, reads.isTracked else { return nil }
    unsafe trackedReads = nil
    choosePath()
    return reads
  }

  /// The caller holds no mutex. If this thread made all tracked reads, a closure that is still
  /// running is on its call stack and made the change itself. Its reads are stored again so that
  /// it's notified of the next change.
  func tell(_ reads: inout TrackedReads?) {
    guard let left = TrackedReads.tell(&reads) else { return }
    let isKept = core.mutex.withLock {
      guard unsafe trackedReads == nil else { return false }
      unsafe trackedReads = left
      choosePath()
      return true
    }
    if !isKept { left.tellLater() }
  }
}

/// Whether any thread has read a value under tracking. Until then, values have no registrars.
///
/// Observation can't be asked whether a thread tracks its reads, but it hashes the key path of an
/// access only if it does. Each read therefore reports an access of a key path with a `ReadMark`,
/// which counts the calls of its `hash(into:)`.
@usableFromInline enum Tracking {
  private static let used = Atomic<Bool>(false)

  @usableFromInline @inline(never) static var isUsed: Bool {
    if used.load(ordering: .relaxed) { return true }
    let before = ReadMark.hashed.load(ordering: .relaxed)
    probe.access()
    if ReadMark.hashed.load(ordering: .relaxed) == before { return false }
    used.store(true, ordering: .relaxed)
    return true
  }

  private static let probe = TrackingProbe()
}

/// Accessed by each read until a tracked one is found: see ``Tracking``. The value's registrar has
/// the same closures; when it notifies them, Observation removes them from both.
private final class TrackingProbe: Sendable {
  private let registrar = ObservationRegistrar()
  private let keyPath: any KeyPath<TrackedSubject, Void> & Sendable = \TrackedSubject[ReadMark()]

  @inline(__always) func access() { registrar.access(TrackedSubject.shared, keyPath: keyPath) }
}

private struct ReadMark: Hashable, Sendable {
  static let hashed = Atomic<UInt>(0)
  func hash(into hasher: inout Hasher) { ReadMark.hashed.wrappingAdd(1, ordering: .relaxed) }
}

final class TrackedSubject: Observable, Sendable {
  static let shared = TrackedSubject()
  fileprivate subscript(_ mark: ReadMark) -> Void { () }
  subscript(_ lease: ReadLease) -> Void { () }
}

/// Observation registers `onChange` only after the reading closure has returned, so it misses a
/// change between the read and the registration. The lease shows whether that may have happened: it
/// is retained by the reading thread, then by Observation's list of what the closure has read, then
/// by the registrar until `onChange` is called. If the lease still exists after a change was
/// reported, the change is reported again a little later.
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

  /// Only a tracked read changes `thread`, so `tell(_:)` knows whether one thread made all of them.
  func add() -> Bool {
    let before = lease.hashCount.load(ordering: .relaxed)
    registrar.access(TrackedSubject.shared, keyPath: keyPath)
    guard lease.hashCount.load(ordering: .relaxed) != before else { return false }
    let (isFirst, reader) = thread.compareExchange(expected: 0, desired: Thread.current, ordering: .relaxed)
    if !isFirst, reader != Thread.current { thread.store(1, ordering: .relaxed) }
    return true
  }

  /// Observation calls `onChange`, which is user code, so no mutex is held. A task later notifies a
  /// closure that is still running. If this thread made all tracked reads, that closure is on its
  /// call stack, and its `onChange` might run it again, and so on forever. Those reads are returned
  /// and kept for the next change.
  ///
  /// - Parameter reads: Set to `nil`, so that the caller retains no lease.
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

extension Event {
  /// Creates an event that posts a value computed from `@Observable` objects, now and after each
  /// change.
  ///
  ///     let count = Event(observing: { @MainActor in model.items.count })
  ///
  /// A task posts the first value soon after the event is created, possibly too early for a handler
  /// that is added on the next line. Changes that follow one another before the closure is
  /// evaluated again arrive as one payload.
  ///
  /// The event retains the closure and what it captures. The observation doesn't retain the event
  /// and ends when the last reference to the event is gone.
  ///
  /// - Parameter value: A closure that computes the payload from `@Observable` objects. It's
  ///   evaluated where it is isolated, for instance on the main actor.
  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  public init(observing value: @escaping @isolated(any) @Sendable () -> Payload) {
    self.init()
    let values = Observations(value)
    keep(
      Scheduling.cancelledWhenDropped { [weak self] in
        for await value in values {
          guard let self else { return }
          self.post(value)
        }
      })
  }
}
