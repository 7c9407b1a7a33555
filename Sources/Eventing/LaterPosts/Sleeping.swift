/// Waits for a limit of time that is usually not needed.
///
/// On the clocks of the standard library, the wait is work in the ``DelayQueue`` of the clock, and
/// goes with the cancellation. A cancelled `Task.sleep` stays in the runtime until its deadline.
/// Other clocks sleep themselves.
package enum Sleeping {
  /// Suspends the task for a time. A time of more than a hundred years never ends, and one below
  /// zero is over at once, on each clock: clocks stop the program if a deadline overflows.
  ///
  /// - Throws: A `CancellationError`, or the error of the clock.
  package static func sleep(for delay: Duration, on clock: any Clock<Duration>) async throws {
    try Task.checkCancellation()
    guard delay > .zero else { return }
    if let queue = DelayQueues.ofStandardLibrary(clock) {
      let sleeper = Sleeper()
      let timer = Delay(queue) { sleeper.wake(isPosting: false) }
      timer.start(after: delay)
      await withTaskCancellationHandler {
        await sleeper.sleep()
      } onCancel: {
        timer.cancel()
        sleeper.wake(isPosting: false)
      }
      return try Task.checkCancellation()
    }
    repeat { try await clock.sleep(for: min(delay, .forever)) } while delay.isForever
  }

  /// Returns the result of a wait, which is cancelled at a limit of time. It then says what it has
  /// come to.
  static func result(
    within limit: Duration, on clock: any Clock<Duration>, of wait: @escaping @Sendable () async -> Bool
  ) async -> Bool {
    await withTaskGroup(of: Bool?.self) { group in
      group.addTask { await wait() }
      group.addTask {
        try? await sleep(for: limit, on: clock)
        return nil
      }
      while let result = await group.next() {
        group.cancelAll()
        if let result { return result }
      }
      preconditionFailure("two tasks are in the group, and one has a result")
    }
  }
}

/// One task that sleeps until another thread wakes it.
// Safe: each field says what guards it.
@safe final class Sleeper: @unchecked Sendable {
  private let mutex = UnfairMutex()
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var isAwake = false
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var continuation: UnsafeContinuation<Void, Never>?

  func sleep() async {
    unsafe await withUnsafeContinuation { continuation in
      let isLate = mutex.withLock { () -> Bool in
        if unsafe !isAwake { unsafe self.continuation = unsafe continuation }
        return unsafe isAwake
      }
      if isLate { unsafe continuation.resume() }
    }
  }

  /// Wakes the task.
  ///
  /// - Parameter isPosting: Whether the calling thread may be running the user's code, under a lock
  ///   of the user's: see `Scheduling.resume`.
  func wake(isPosting: Bool) {
    let waiting = unsafe mutex.withLock { () -> UnsafeContinuation<Void, Never>? in
      unsafe isAwake = true
      defer { unsafe continuation = nil }
      return unsafe continuation
    }
    guard let waiting = unsafe waiting else { return }
    if isPosting { unsafe Scheduling.resume(waiting) } else { unsafe waiting.resume() }
  }
}
