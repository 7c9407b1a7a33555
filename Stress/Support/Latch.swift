import Foundation
import Synchronization

/// Lets a task wait, without blocking its thread, until so many have arrived.
// Safe: `waiter` is guarded by `lock`.
final class Latch: @unchecked Sendable {
  private let missing: Atomic<Int>
  private let lock = NSLock()
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

  /// One task may wait.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = lock.withLock {
        if missing.load(ordering: .acquiring) > 0 { waiter = continuation }
        return waiter == nil
      }
      if isOpen { continuation.resume() }
    }
    _ = missing.load(ordering: .acquiring)  // for the thread sanitizer, which does not see that a resumption orders memory
  }
}

/// Waits until something holds, a millisecond at a time; false if it did not within so many seconds.
func eventually(within seconds: Double = 5, _ holds: () -> Bool) async -> Bool {
  let limit = Clock.now + UInt64(seconds * 1e9)
  for attempt in 0... {
    if holds() { return true }
    if Clock.now > limit { return false }
    if attempt < 20 { await Task.yield() } else { try? await Task.sleep(for: .milliseconds(1)) }
  }
  return false
}
