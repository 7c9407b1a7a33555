import Observation
import Synchronization

/// Whether Observation is used: whether any thread has read a value while the thread tracked its
/// reads, for `withObservationTracking`, for `Observations` or for a view.
///
/// Until the first such read, values have no registrars. Observation has no call that tells whether
/// a thread tracks its reads. So each read reports an access of a key path to Observation, which
/// hashes the key path only if the thread tracks its reads. The key path contains a `ReadMark`,
/// whose `hash(into:)` counts how often it is called. If the count has grown, the thread tracks its
/// reads.
@usableFromInline enum Tracking {
  private static let used = Atomic<Bool>(false)

  /// Whether the calling thread tracks its reads now, or any thread did so at an earlier read of a
  /// value.
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

/// The registrar that each read of a value accesses until the library has found a thread that
/// tracks its reads: see ``Tracking``. No change is ever reported to this registrar: values report
/// changes to registrars of their own. Observation registers the closures of the first tracked
/// reads both here and with the registrar of the value. When the value's registrar tells such a
/// closure of a change, Observation removes the closure from both registrars.
private final class TrackingProbe: Sendable {
  private let registrar = ObservationRegistrar()
  private let keyPath: any KeyPath<TrackedSubject, Void> & Sendable = \TrackedSubject[ReadMark()]

  @inline(__always) func access() { registrar.access(TrackedSubject.shared, keyPath: keyPath) }
}

/// An argument of the key path that ``Tracking`` accesses. It counts how often Observation has
/// hashed the key path, as Observation does only for a tracked read.
private struct ReadMark: Hashable, Sendable {
  static let hashed = Atomic<UInt>(0)
  func hash(into hasher: inout Hasher) { ReadMark.hashed.wrappingAdd(1, ordering: .relaxed) }
}

/// The object that the library passes where a function of Observation has a parameter `subject`.
/// The key paths of this type stand for the reads of a value.
final class TrackedSubject: Observable, Sendable {
  static let shared = TrackedSubject()
  fileprivate subscript(_ mark: ReadMark) -> Void { () }
  subscript(_ lease: ReadLease) -> Void { () }
}
