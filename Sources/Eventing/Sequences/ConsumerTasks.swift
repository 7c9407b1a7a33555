import Synchronization

/// The tasks that iterate over a sequence whose bound makes senders wait.
///
/// In the wait graph, such a task counts as a running call of a handler does (G16): it has an
/// ``Invocation`` with an execution slot of its own. A `send` that waits for room waits for that
/// slot, or for the handler call in which the task iterates.
enum ConsumerTasks {
  /// Whether `all` has elements: whether any task iterates over a sequence whose bound makes
  /// senders wait. If none does, a send finds that out here, and locks no mutex.
  private static let isAny = Atomic<Bool>(false)
  // Safe: guarded by the mutex of the wait graph.
  /// The invocation of each task, and the number of its iterators, by the number of the task.
  /// Guarded by: WaitGraph.mutex.
  nonisolated(unsafe) private static var all: [UInt64: (invocation: Invocation, iterators: Int)] = [:]

  /// The invocation of the calling task, if the task iterates over a sequence whose bound makes
  /// senders wait; otherwise `nil`.
  static var invocation: Invocation? {
    guard isAny.load(ordering: .acquiring), case let task = TaskID.current, task != 0 else { return nil }
    return WaitGraph.mutex.withLock { unsafe all[task]?.invocation }
  }

  /// Adds 1 to the number of iterators of a task. Returns the invocation that stands for the task
  /// in the wait graph. The caller holds `WaitGraph.mutex`.
  static func join(_ task: UInt64) -> Invocation {
    let known = unsafe all[task] ?? (Invocation(ExecutionSlot()), 0)
    unsafe all[task] = (known.invocation, known.iterators + 1)
    isAny.publish(true)
    return known.invocation
  }

  /// Subtracts 1 from the number of iterators of a task. After the last iterator, ends the
  /// invocation that stands for the task in the wait graph. The caller holds `WaitGraph.mutex`.
  static func leave(_ task: UInt64) {
    guard let known = unsafe all[task] else { return }
    if known.iterators > 1 {
      unsafe all[task] = (known.invocation, known.iterators - 1)
    } else {
      unsafe all[task] = nil
      known.invocation.end()
      isAny.publish(unsafe !all.isEmpty)
    }
  }
}
