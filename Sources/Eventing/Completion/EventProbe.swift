import Synchronization

/// Tells whether an event has done all the work that it had when the probe was made, except calls
/// that sleep and work that waits for such calls.
///
/// A probe is a barrier, but no task is suspended for it.
package final class EventProbe: Sendable {
  private let completion = Completion(.probe)
  /// The invocation of the handler that makes the probe. If no handler makes it, this is a new
  /// invocation, for which nothing waits. The probe ignores work that waits for this invocation.
  private let goal = Invocation.current ?? Invocation(ExecutionSlot())
  private let lastSequence = Atomic<UInt64>(0)

  init(_ core: EventCore) {
    // The event runs the change after everything that was enqueued earlier, and before the barrier.
    // `lastSequence` does not count occurrences that other threads enqueue between the change and
    // the barrier.
    core.enqueue(.change({ [self] in lastSequence.publish(core.sequence) }, by: Thread.current))
    core.enqueue(.barrier(completion))
  }

  /// The number of the last occurrence that the event delivered before it ran the change that this
  /// probe enqueued. Valid after ``isOver(except:)`` has returned true.
  package var sequence: UInt64 { lastSequence.load(ordering: .acquiring) }

  /// Returns whether nothing is left of the work except calls that sleep and work that waits for
  /// such calls.
  package func isOver(except sleeping: [SleepingWork]) -> Bool {
    let nodes = Set(sleeping.lazy.filter(\.isCurrent).map(\.id))
    return completion.withMutex {
      guard completion.isDelivered else { return false }
      var search = WaitGraph.CycleSearch(goal, sleeping: nodes)
      return completion.outstanding.values.allSatisfy { search.isBlocked($0.node) }
    }
  }

  /// The handlers that have work left, in words.
  package var remaining: String {
    #if DEBUG
      let nodes = completion.withMutex { completion.outstanding.values.map(\.node) }
      return nodes.isEmpty ? "an event" : Set(nodes.map(\.title)).sortedUnspecialized(by: <).joined(separator: ", ")
    #else
      return "a handler"
    #endif
  }
}
