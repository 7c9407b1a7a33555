import Synchronization

// Safe: each field says what guards it.
final class AttemptTask: @unchecked Sendable {
  private let mutex = UnfairMutex()
  // Guarded by: mutex.
  @exclusivity(unchecked) private var task: Task<AttemptResult, Never>?
  // Guarded by: mutex.
  @exclusivity(unchecked) private var isCancelled = false
  let isLate = Atomic<Bool>(false)

  func set(_ task: Task<AttemptResult, Never>) {
    let isLate = mutex.withLock { () -> Bool in
      unsafe self.task = task
      return unsafe isCancelled
    }
    if isLate { task.cancel() }
  }

  func cancel() {
    let task = mutex.withLock { () -> Task<AttemptResult, Never>? in
      unsafe isCancelled = true
      return unsafe self.task
    }
    task?.cancel()
  }
}
