import Synchronization

/// Tasks that iterate over a sequence for which senders wait: in the wait graph each is like the call of a handler (G16).
enum Loops {
  /// Whether there is any.
  private static let isAny = Atomic<Bool>(false)
  // Safe: guarded by the lock of the wait graph.
  /// By the number of the task.
  nonisolated(unsafe) private static var all: [UInt64: (running: Running, iterators: Int)] = [:]

  /// Of the calling task.
  static var running: Running? {
    guard isAny.load(ordering: .acquiring), case let task = TaskNumber.current, task != 0 else { return nil }
    return WaitGraph.lock.withLock { unsafe all[task]?.running }
  }

  /// Under the lock of the wait graph: a task has one iterator more.
  static func join(_ task: UInt64) -> Running {
    let known = unsafe all[task] ?? (Running(Seat()), 0)
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
