import Synchronization

/// A barrier for which no task is suspended.
package final class EventProbe: Sendable {
  private let completion = Completion(.probe)
  /// The probe ignores work that waits for this invocation. Nothing waits for a new one.
  private let goal = Invocation.current ?? Invocation(ExecutionSlot())
  private let lastSequence = Atomic<UInt64>(0)

  init(_ core: EventCore) {
    // The event runs the change after everything that was enqueued earlier, and before the barrier.
    // `lastSequence` does not count occurrences that other threads enqueue between the change and
    // the barrier.
    core.enqueue(.change({ [self] in lastSequence.publish(core.sequence) }, by: Thread.current))
    core.enqueue(.barrier(completion))
  }

  /// Valid after ``isOver(except:)`` has returned true.
  package var sequence: UInt64 { lastSequence.load(ordering: .acquiring) }

  package func isOver(except sleeping: [SleepingWork]) -> Bool {
    let nodes = Set(sleeping.lazy.filter(\.isCurrent).map(\.id))
    return completion.withMutex {
      guard completion.isDelivered else { return false }
      var search = WaitGraph.CycleSearch(goal, sleeping: nodes)
      return completion.outstanding.values.allSatisfy { search.isBlocked($0.node) }
    }
  }

  package var remaining: String {
    #if DEBUG
      let nodes = completion.withMutex { completion.outstanding.values.map(\.node) }
      return nodes.isEmpty ? "an event" : Set(nodes.map(\.title)).sortedUnspecialized(by: <).joined(separator: ", ")
    #else
      return "a handler"
    #endif
  }
}
