import Observation
import Synchronization

/// Whether any thread has read a value under tracking. Until then, values have no registrars.
///
/// Observation can't be asked whether a thread tracks its reads. But it hashes the key path of an
/// access only then. So each read reports an access of a key path with a `ReadMark`, which counts
/// the calls of its `hash(into:)`.
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
/// the same closures; when it tells them, Observation removes them from both.
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
