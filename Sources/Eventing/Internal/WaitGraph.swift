/// Who waits for whom, so that no `send` waits for itself (G16).
///
/// A lane has seats, on each of which one call runs at a time. A call waits for flights, a flight for the lanes and seats that it has
/// something on. A lane is blocked when every seat it may have is; a seat when its call waits for something blocked, or is the very
/// call that asks. Before a call waits for a lane it asks whether that lane is blocked by it; if so, it does not wait for that lane, and its
/// report says deferred. So no cycle is ever closed.
@usableFromInline enum WaitGraph {
  /// Guards all `waits` of all seats, and the flights that are `isTracked`. Taken only where a handler sends and waits, or for tickets.
  static let lock = Lock()

  /// One question. Under the lock.
  struct Question {
    let goal: Running
    /// Being asked about: taken for blocked, since only a cycle of waits leads back to it.
    private var asking: Set<ObjectIdentifier> = []
    /// Known to be free.
    private var free: Set<ObjectIdentifier> = []
    /// Found blocked, in the order in which that was found; holds as long as nothing below in `asking` turns out to be free.
    private var blocked: Set<ObjectIdentifier> = []
    private var trail: [ObjectIdentifier] = []

    init(_ goal: Running) { self.goal = goal }

    mutating func isBlocked(_ node: WaitNode) -> Bool {
      let id = ObjectIdentifier(node)
      if asking.contains(id) || blocked.contains(id) { return true }
      if free.contains(id) { return false }
      asking.insert(id)
      let mark = trail.count
      let isBlocked = node.isBlocked(&self)
      asking.remove(id)
      if isBlocked {
        blocked.insert(id)
        trail.append(id)
      } else {
        free.insert(id)
        // What was found blocked meanwhile may owe that to this node's having been taken for blocked.
        for late in trail[mark...] { blocked.remove(late) }
        trail.removeSubrange(mark...)
      }
      return isBlocked
    }
  }
}

/// What a flight can wait for: a lane or a seat.
// Safe: an abstract class without state of its own.
@usableFromInline class WaitNode: @unchecked Sendable {
  @usableFromInline init() {}
  func isBlocked(_ question: inout WaitGraph.Question) -> Bool { preconditionFailure("a wait node is a lane or a seat") }
}

/// The place of one running call.
// Safe: `waits` is guarded by the lock of the graph.
@usableFromInline final class Seat: WaitNode, @unchecked Sendable {
  /// What the calls on this seat wait for; those of ended calls do not count.
  var waits: [(running: Running, flight: Flight, sleeper: Int)] = []

  @inlinable override init() {}

  override func isBlocked(_ question: inout WaitGraph.Question) -> Bool {
    if self === question.goal.seat { return true }
    for wait in waits where wait.running.isCurrent {
      if wait.flight.isBlocked(for: wait.sleeper, &question) { return true }
    }
    return false
  }
}
