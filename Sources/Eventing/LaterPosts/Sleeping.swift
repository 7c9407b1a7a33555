/// On the standard library's clocks, a wait is work in a ``DelayQueue``: a cancelled `Task.sleep`
/// would stay in the runtime until its deadline.
package enum Sleeping {
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

  /// - Parameter isPosting: Whether the thread may be running user code, under a lock of the
  ///   user's: see `Scheduling.resume`.
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
