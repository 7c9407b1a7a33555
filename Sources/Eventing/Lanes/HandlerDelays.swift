import Synchronization

// Safe: each field says what guards it.
final class HandlerDelays: @unchecked Sendable {
  private let mutex = UnfairMutex()
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var timers: [UInt64: Delay] = [:]

  func insert(_ timer: Delay) { mutex.withLock { unsafe timers[timer.number] = timer } }

  func remove(_ timer: Delay) {
    let removed = mutex.withLock {
      let removed = unsafe timers.removeValue(forKey: timer.number)
      unsafe timers.giveBackRoom()
      return removed
    }
    withExtendedLifetime(removed) {}  // released after the unlock
  }

  /// Each delay gets a flag, because the lock may have ended by the time its call goes on. Never
  /// called under a mutex.
  @inline(never) func end(givingUp: Bool = false) {
    for timer in mutex.withLock({ unsafe Array(timers.values) }).sortedUnspecialized(by: { $0.number < $1.number }) {
      if givingUp { timer.isGivenUp.publish(true) }
      timer.fireNow()
    }
  }
}
