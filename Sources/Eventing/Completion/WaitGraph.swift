/// The graph of waits, which keeps a `send` from waiting for itself (G16).
///
/// A lane has execution slots, on each of which one call runs at a time. A call waits for
/// completions. A completion waits for the lanes and slots where it has outstanding work. A lane is
/// blocked if every slot that it may use is blocked. A slot is blocked if its call is the one that
/// asks, or waits for a blocked node.
///
/// Before a call waits for a lane, it asks whether the lane is blocked by it. If so, the call does
/// not wait for that lane, and its report says deferred. So no cycle is ever closed.
@usableFromInline enum WaitGraph {
  /// Guards the waits of all execution slots, the tracked completions and ``ConsumerTasks``. Taken
  /// only when a handler sends and waits, for tickets, and for loops that senders wait for.
  static let mutex = UnfairMutex()

  /// A search for a cycle. The caller holds `mutex`.
  ///
  /// The search has an explicit stack, because a chain of waits may be longer than a thread's stack
  /// is deep.
  struct CycleSearch {
    let goal: Invocation
    /// The nodes whose search has not ended. They are taken for blocked, since only a cycle leads
    /// back to them.
    private var asking: Set<ObjectIdentifier> = []
    /// The nodes that are known to be free.
    private var free: Set<ObjectIdentifier> = []
    /// The nodes found blocked, which holds as long as no node below them in `stack` turns out to
    /// be free.
    private var blocked: Set<ObjectIdentifier> = []
    /// The blocked nodes, in the order in which they were found.
    private var trail: [ObjectIdentifier] = []
    private var stack: [Frame] = []

    private struct Frame {
      let id: ObjectIdentifier
      let nodes: [WaitNode]
      /// The answer of one node that decides the answer of all.
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

    /// Returns the answer for a node; `nil` if its search has only begun.
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

    /// Ends the search of a node.
    private mutating func drain(_ frame: Frame, _ isBlocked: Bool) {
      asking.remove(frame.id)
      if isBlocked {
        blocked.insert(frame.id)
        trail.append(frame.id)
      } else {
        free.insert(frame.id)
        // Nodes that were found blocked meanwhile may owe that to the assumption about this node.
        for late in trail[frame.mark...] { blocked.remove(late) }
        trail.removeSubrange(frame.mark...)
      }
    }
  }
}

/// The nodes that a node waits for.
enum WaitNeeds {
  /// Blocked if one of the nodes is blocked; free if there are none.
  case any([WaitNode])
  /// Blocked if all of the nodes are blocked, or if there are none.
  case all([WaitNode])

  static var blocked: WaitNeeds { .all([]) }
  static var free: WaitNeeds { .any([]) }
}

/// A node that a completion can wait for: a lane, an execution slot, or an iterator of a sequence.
// Safe: an abstract class without state of its own.
@usableFromInline class WaitNode: @unchecked Sendable {
  @usableFromInline init() {}
  /// Returns the nodes that this node waits for. The caller holds `WaitGraph.mutex`.
  func needs(_ goal: Invocation) -> WaitNeeds {
    preconditionFailure("a wait node is a lane, a executionSlot or an buffer")
  }

  #if DEBUG
    /// The name of the node in a ``CycleReport``.
    var title: String { "what runs there" }
  #endif
}

/// A place where one call runs at a time.
// Safe: `waits` is guarded by `WaitGraph.mutex`.
@usableFromInline final class ExecutionSlot: WaitNode, @unchecked Sendable {
  /// The waits of the calls on this slot. Waits of invocations that are over do not count. Guarded
  /// by: WaitGraph.mutex.
  var waits: [(running: Invocation, completion: Completion, waiter: Int)] = []

  #if DEBUG
    // Safe: set before any other thread knows the execution slot.
    weak var lane: DeliveryTarget?
    override var title: String { lane?.title ?? super.title }
  #endif

  @inlinable override init() {}

  override func needs(_ goal: Invocation) -> WaitNeeds {
    if self === goal.executionSlot { return .blocked }
    return .any(waits.filter(\.running.isCurrent).flatMap { $0.completion.nodes(for: $0.waiter) })
  }
}
