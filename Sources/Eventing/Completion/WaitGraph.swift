/// Who waits for whom, so that no `send` waits for itself (G16).
///
/// A lane has executionSlots, on each of which one call runs at a time. A call waits for completions, a completion for the lanes and executionSlots that it has
/// something on. A lane is blocked when every executionSlot it may have is; a executionSlot when its call waits for something blocked, or is the very
/// call that asks. Before a call waits for a lane it asks whether that lane is blocked by it; if so, it does not wait for that lane, and its
/// report says deferred. So no cycle is ever closed.
@usableFromInline enum WaitGraph {
  /// Guards all `waits` of all executionSlots, and the completions that are `isTracked`. Taken only where a handler sends and waits, or for tickets.
  static let mutex = UnfairMutex()

  /// One search. Under the lock.
  ///
  /// It goes from node to node with a stack of its own: a chain of waits may be longer than a thread's stack is deep.
  struct CycleSearch {
    let goal: Invocation
    /// Being asked about: taken for blocked, since only a cycle of waits leads back to it.
    private var asking: Set<ObjectIdentifier> = []
    /// Known to be free.
    private var free: Set<ObjectIdentifier> = []
    /// Found blocked, in the order in which that was found; holds as long as nothing below in `asking` turns out to be free.
    private var blocked: Set<ObjectIdentifier> = []
    private var trail: [ObjectIdentifier] = []
    private var stack: [Frame] = []

    private struct Frame {
      let id: ObjectIdentifier
      let nodes: [WaitNode]
      /// The answer of one of them that is the answer of all.
      let decisive: Bool
      let mark: Int
      var next = 0
    }

    init(_ goal: Invocation) { self.goal = goal }

    mutating func isBlocked(_ node: WaitNode) -> Bool {
      var answer = look(at: node)
      while let last = stack.indices.last {
        if answer == stack[last].decisive || stack[last].next == stack[last].nodes.count {
          let result = answer == stack[last].decisive ? stack[last].decisive : !stack[last].decisive
          drain(stack.removeLast(), result)
          answer = result
        } else {
          stack[last].next += 1
          answer = look(at: stack[last].nodes[stack[last].next - 1])
        }
      }
      return answer ?? false
    }

    /// The answer, or nil if that has to be found out first.
    private mutating func look(at node: WaitNode) -> Bool? {
      let id = ObjectIdentifier(node)
      if asking.contains(id) || blocked.contains(id) { return true }
      if free.contains(id) { return false }
      let (nodes, decisive): ([WaitNode], Bool)
      switch node.needs(goal) {
      case .any(let some): (nodes, decisive) = (some, true)
      case .all(let all): (nodes, decisive) = (all, false)
      }
      asking.insert(id)
      stack.append(Frame(id: id, nodes: nodes, decisive: decisive, mark: trail.count))
      return nil
    }

    private mutating func drain(_ frame: Frame, _ isBlocked: Bool) {
      asking.remove(frame.id)
      if isBlocked {
        blocked.insert(frame.id)
        trail.append(frame.id)
      } else {
        free.insert(frame.id)
        // What was found blocked meanwhile may owe that to this node's having been taken for blocked.
        for late in trail[frame.mark...] { blocked.remove(late) }
        trail.removeSubrange(frame.mark...)
      }
    }
  }
}

/// What a node waits for.
enum WaitNeeds {
  /// It is blocked if one of these is; free if there is none.
  case any([WaitNode])
  /// It is blocked if all of these are; blocked if there is none.
  case all([WaitNode])

  static var blocked: WaitNeeds { .all([]) }
  static var free: WaitNeeds { .any([]) }
}

/// What a completion can wait for: a lane, a executionSlot, or an iterator.
// Safe: an abstract class without state of its own.
@usableFromInline class WaitNode: @unchecked Sendable {
  @usableFromInline init() {}
  /// Under the lock.
  func needs(_ goal: Invocation) -> WaitNeeds {
    preconditionFailure("a wait node is a lane, a executionSlot or an buffer")
  }

  #if DEBUG
    /// For ``CycleReport``.
    var title: String { "what runs there" }
  #endif
}

/// The place of one running call.
// Safe: `waits` is guarded by the lock of the graph.
@usableFromInline final class ExecutionSlot: WaitNode, @unchecked Sendable {
  /// What the calls on this executionSlot wait for; those of ended calls do not count.
  var waits: [(running: Invocation, completion: Completion, waiter: Int)] = []

  #if DEBUG
    // Safe: set before anybody else knows the executionSlot.
    weak var lane: AnyLane?
    override var title: String { lane?.title ?? super.title }
  #endif

  @inlinable override init() {}

  override func needs(_ goal: Invocation) -> WaitNeeds {
    if self === goal.executionSlot { return .blocked }
    return .any(waits.filter(\.running.isCurrent).flatMap { $0.completion.nodes(for: $0.waiter) })
  }
}
