/// A value that a mutex guards.
///
/// A closure that takes an object out of the value returns the object, and the caller releases it.
/// So no `deinit` runs under the mutex.
// Safe: `value` is touched under `mutex` alone.
package final class Guarded<Value>: @unchecked Sendable {
  let mutex = UnfairMutex()
  /// Guarded by: mutex.
  @exclusivity(unchecked) var value: Value

  package init(_ value: sending Value) { unsafe self.value = value }

  @inlinable package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    mutex.withLock { unsafe body(&value) }
  }
}
