/// A value that a mutex guards.
///
/// The closure of ``withLock(_:)`` runs no user code, and releases no object of the user.
// Safe: `value` is only touched under `mutex`.
final class Guarded<Value>: @unchecked Sendable {
  private let mutex = UnfairMutex()
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var value: Value

  init(_ value: sending Value) { unsafe self.value = value }

  func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result { mutex.withLock { unsafe body(&value) } }
}
