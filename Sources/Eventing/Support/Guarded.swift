/// A value guarded by a mutex. The closure passed to ``withLock(_:)`` returns the objects that it
/// removes, so that no `deinit` runs under the mutex.
///
/// It returns no collection that is later changed in place, but the elements in a new one. The
/// reference count would make a read after the unlock safe, but the thread sanitizer doesn't see
/// that.
// Safe: `value` is accessed only under `mutex`.
@usableFromInline package final class Guarded<Value>: @unchecked Sendable {
  @usableFromInline let mutex = UnfairMutex()
  // Guarded by: mutex.
  @usableFromInline @exclusivity(unchecked) var value: Value

  package init(_ value: sending Value) { unsafe self.value = value }

  @inlinable package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    mutex.withLock { unsafe body(&value) }
  }
}
