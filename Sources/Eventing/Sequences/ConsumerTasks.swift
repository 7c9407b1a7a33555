import Synchronization

/// In the wait graph, a task that iterates is like a running handler call (G16): its ``Invocation``
/// has an execution slot of its own. A `send` that waits for room waits for that slot, or for the
/// handler call in which the task iterates.
enum ConsumerTasks {
  private static let isAny = Atomic<Bool>(false)
  // Safe: guarded by the mutex of the wait graph.
  /// Guarded by: WaitGraph.mutex.
  nonisolated(unsafe) private static var all: [UInt64: (invocation: Invocation, iterators: Int)] = [:]

  static var invocation: Invocation? {
    guard isAny.load(ordering: .acquiring), case let task = TaskID.current, task != 0 else { return nil }
    return WaitGraph.mutex.withLock { unsafe all[task]?.invocation }
  }

  // The callers of the two functions hold `WaitGraph.mutex`.
  static func join(_ task: UInt64) -> Invocation {
    let known = unsafe all[task] ?? (Invocation(ExecutionSlot()), 0)
    unsafe all[task] = (known.invocation, known.iterators + 1)
    isAny.publish(true)
    return known.invocation
  }

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
