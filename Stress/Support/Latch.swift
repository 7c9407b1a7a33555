import Foundation
import Synchronization

/// Lets one task wait, without blocking its thread, until a number of workers have arrived.
// Safe: `lock` guards `waiter`.
final class Latch: @unchecked Sendable {
  private let missing: Atomic<Int>
  private let lock = NSLock()
  /// Guarded by: lock.
  private var waiter: CheckedContinuation<Void, Never>?

  init(_ number: Int) { missing = Atomic(number) }

  func arrive() {
    guard missing.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
    let waiter = lock.withLock {
      defer { self.waiter = nil }
      return self.waiter
    }
    waiter?.resume()
  }

  /// Suspends the caller until all workers have arrived. Only one task may wait.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = lock.withLock {
        if missing.load(ordering: .acquiring) > 0 { waiter = continuation }
        return waiter == nil
      }
      if isOpen { continuation.resume() }
    }
    // This load orders memory for the thread sanitizer, which does not see that a resumption does.
    _ = missing.load(ordering: .acquiring)
  }
}

/// Checks a condition repeatedly, every millisecond after 20 yields, until it holds.
///
/// - Returns: Whether the condition held within this number of seconds.
func eventually(within seconds: Double = 5, _ holds: () -> Bool) async -> Bool {
  let limit = Clock.now + UInt64(seconds * 1e9)
  for attempt in 0... {
    if holds() { return true }
    if Clock.now > limit { return false }
    if attempt < 20 { await Task.yield() } else { try? await Task.sleep(for: .milliseconds(1)) }
  }
  return false
}
