import Synchronization

/// Tasks that iterate over a sequence for which senders wait: in the wait graph each is like the call of a handler (G16).
enum ConsumerTasks {
  /// Whether there is any.
  private static let isAny = Atomic<Bool>(false)
  // Safe: guarded by the lock of the wait graph.
  /// By the number of the task.
  nonisolated(unsafe) private static var all: [UInt64: (running: Invocation, iterators: Int)] = [:]

  /// Of the calling task.
  static var running: Invocation? {
    guard isAny.load(ordering: .acquiring), case let task = TaskID.current, task != 0 else { return nil }
    return WaitGraph.mutex.withLock { unsafe all[task]?.running }
  }

  /// Under the lock of the wait graph: a task has one iterator more.
  static func join(_ task: UInt64) -> Invocation {
    let known = unsafe all[task] ?? (Invocation(ExecutionSlot()), 0)
    unsafe all[task] = (known.running, known.iterators + 1)
    isAny.publish(true)
    return known.running
  }

  /// The same: it has one less.
  static func leave(_ task: UInt64) {
    guard let known = unsafe all[task] else { return }
    if known.iterators > 1 {
      unsafe all[task] = (known.running, known.iterators - 1)
    } else {
      unsafe all[task] = nil
      known.running.end()
      isAny.publish(unsafe !all.isEmpty)
    }
  }
}
