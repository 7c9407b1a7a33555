import Synchronization

/// The graph of waits, which keeps a `send` from waiting for itself (G16).
///
/// A lane has execution slots, on each of which one call runs at a time. A call waits for
/// completions. A completion waits for the lanes and slots where it has outstanding work. A lane is
/// blocked if every slot that it may use is blocked. A slot is blocked if its call is the one that
/// is about to wait (the goal of the search), or waits for a blocked node.
///
/// Before a call waits for a lane, a ``CycleSearch`` finds out whether that call blocks the lane.
/// If it does, the call does not wait for the lane, and the report that the call awaits counts the
/// work there as deferred. So no cycle is ever closed.
@usableFromInline package enum WaitGraph {
  /// Guards the graph: the waits of its nodes, each ``Completion`` that is part of it, and
  /// ``ConsumerTasks``.
  ///
  /// Threads lock this mutex for the completions whose ``Completion/isTracked`` is true. They also
  /// lock it for loops that senders wait for, for new execution slots of lanes, and when
  /// diagnostics look for stuck calls.
  package static let mutex = UnfairMutex()

  #if DEBUG
    /// The number of steps that threads have made under `mutex`: nodes visited, and waits added,
    /// removed or read.
    static let steps = Atomic<Int>(0)
  #endif

  /// Counts a step, in a debug build.
  @inline(__always) static func count() {
    #if DEBUG
      steps.wrappingAdd(1, ordering: .relaxed)
    #endif
  }

  /// A search for a cycle of waits. The caller holds `mutex`.
  ///
  /// The search visits a node, and from there the nodes that this node waits for. A visit ends when
  /// it is known whether its node is blocked. Unfinished visits are on an explicit stack, because a
  /// chain of waits may be longer than a thread's stack is deep.
  struct CycleSearch {
    /// The invocation that is about to wait.
    let goal: Invocation
    /// The nodes that are blocked by something outside of the graph.
    private let sleeping: Set<ObjectIdentifier>
    /// The nodes whose visits have not ended. If the search comes to one of them again, it has
    /// followed a cycle, and assumes for the moment that the node is blocked. If the visit later
    /// finds the node free, the search forgets which other nodes it found blocked meanwhile: see
    /// `blocked`.
    private var searching: Set<ObjectIdentifier> = []
    /// The nodes that the search has found not to be blocked.
    private var free: Set<ObjectIdentifier> = []
    /// The nodes that were found blocked. If a visit finds its node free, the nodes that were found
    /// blocked during that visit are removed.
    private var blocked: Set<ObjectIdentifier> = []
    /// The blocked nodes, in the order in which they were found.
    private var trail: [ObjectIdentifier] = []
    /// The visits that have not ended, one frame for each, the latest at the end. The node of each
    /// frame but the first is one of the `nodes` of the frame below it on the stack.
    private var stack: [Frame] = []

    /// A visit to one node, which has not ended.
    private struct Frame {
      let id: ObjectIdentifier
      /// The nodes that the node waits for.
      let nodes: [WaitNode]
      /// True if the visited node is blocked as soon as one of `nodes` is blocked, and free if none
      /// is. False if the visited node is free as soon as one of `nodes` is free, and blocked if
      /// none is.
      let decisive: Bool
      /// The length of `trail` when the visit began. The elements that `trail` got later are nodes
      /// that the search found blocked during the visit. If the visited node turns out to be free,
      /// ``close(_:_:)`` discards these elements.
      let mark: Int
      /// The index in `nodes` of the next one to visit.
      var next = 0
    }

    init(_ goal: Invocation, sleeping: Set<ObjectIdentifier> = []) {
      self.goal = goal
      self.sleeping = sleeping
    }

    /// Returns whether a node is blocked: whether it cannot go on before a certain call has
    /// returned, namely the call of the invocation `goal`. The nodes in `sleeping` count as blocked
    /// from the start, whatever `goal` does.
    mutating func isBlocked(_ node: WaitNode) -> Bool {
      var answer = look(at: node)
      while let last = stack.indices.last {
        if answer == stack[last].decisive || stack[last].next == stack[last].nodes.count {
          let result = answer == stack[last].decisive ? stack[last].decisive : !stack[last].decisive
          close(stack.removeLast(), result)
          answer = result
        } else {
          stack[last].next += 1
          answer = look(at: stack[last].nodes[stack[last].next - 1])
        }
      }
      return answer ?? false
    }

    /// Returns whether a node is blocked, if that is known. Otherwise begins a visit to the node,
    /// and returns `nil`.
    private mutating func look(at node: WaitNode) -> Bool? {
      WaitGraph.count()
      let id = ObjectIdentifier(node)
      if searching.contains(id) || blocked.contains(id) || sleeping.contains(id) { return true }
      if free.contains(id) { return false }
      let (nodes, decisive): ([WaitNode], Bool)
      switch node.needs(goal) {
      case .any(let some): (nodes, decisive) = (some, true)
      case .all(let all): (nodes, decisive) = (all, false)
      }
      searching.insert(id)
      stack.append(Frame(id: id, nodes: nodes, decisive: decisive, mark: trail.count))
      return nil
    }

    /// Ends a visit, and notes whether its node is blocked.
    private mutating func close(_ frame: Frame, _ isBlocked: Bool) {
      searching.remove(frame.id)
      if isBlocked {
        blocked.insert(frame.id)
        trail.append(frame.id)
      } else {
        free.insert(frame.id)
        // While this node was assumed to be blocked, other nodes may have been found blocked only
        // because of that.
        for doubtful in trail[frame.mark...] { blocked.remove(doubtful) }
        trail.removeSubrange(frame.mark...)
      }
    }
  }
}

/// The nodes that one node waits for, and the rule by which they block the waiting node: one
/// blocked node is enough (`any`), or all of them must be blocked (`all`).
package enum WaitNeeds {
  /// The waiting node is blocked if one of the listed nodes is. It is free if the list is empty.
  case any([WaitNode])
  /// The waiting node is blocked if all of the listed nodes are, or if the list is empty.
  case all([WaitNode])

  /// The value for a node that is blocked whatever other nodes do. By the rule of ``all(_:)``, a
  /// node is blocked if none of the listed nodes is free, and an empty list has no free node.
  static var blocked: WaitNeeds { .all([]) }
  /// The value for a node that is free whatever other nodes do. By the rule of ``any(_:)``, a node
  /// is free if none of the listed nodes is blocked, and an empty list has no blocked node.
  static var free: WaitNeeds { .any([]) }
}

/// A node that a completion can wait for: a lane, an execution slot, or the buffer of a sequence's
/// iterator.
// Safe: an abstract class without state of its own.
@usableFromInline package class WaitNode: @unchecked Sendable {
  init() {}
  /// Returns the nodes that this node waits for, and whether one of them or all of them must be
  /// blocked to block this node. The caller holds `WaitGraph.mutex`.
  ///
  /// - Parameter goal: The invocation that is about to wait. Its execution slot counts as blocked.
  package func needs(_ goal: Invocation) -> WaitNeeds {
    preconditionFailure("a wait node is a lane, an execution slot or an iterator buffer")
  }

  /// The number of the handler whose calls run or wait at this node. A waiter that waits for the
  /// node waits for these calls. `nil` if there are several such handlers, or none.
  package var handlerID: UInt64? { nil }
  /// The anchor of the event that has the handler with the number ``handlerID``; `nil` if the node
  /// does not know it.
  package var eventAnchor: EventAnchor? { nil }

  #if DEBUG
    /// The name of the node in a ``CycleReport``.
    var title: String { "what runs there" }
  #endif
}

/// A place where one call runs at a time.
// Safe: each field says what guards it.
@usableFromInline package class ExecutionSlot: WaitNode, @unchecked Sendable {
  /// The number of the handler, on a slot that a lane made for its only handler; 0 on other slots,
  /// such as those of a shared lane.
  let handler: UInt64

  /// The waits of the calls on this slot, in no particular order. Waits of invocations that are
  /// over do not count. Guarded by: WaitGraph.mutex.
  private var waits: [SlotWait] = []

  /// Adds a wait of a call on this slot. O(1). The caller holds `WaitGraph.mutex`.
  final func add(_ wait: SlotWait) {
    WaitGraph.count()
    unsafe wait.index = waits.count
    waits.append(wait)
  }

  /// Removes a wait: the last one takes its place. O(1), because one call may have thousands of
  /// waits, and a search under the one mutex of the graph would delay all other sends of the
  /// process. The caller holds `WaitGraph.mutex`.
  final func remove(_ wait: SlotWait) {
    WaitGraph.count()
    let last = waits.removeLast()
    guard last !== wait else { return }
    unsafe waits[wait.index] = last
    unsafe last.index = wait.index
  }

  /// The number of waits. The caller holds `WaitGraph.mutex`.
  final var waitCount: Int { waits.count }

  #if DEBUG
    // Safe: set before any other thread has the execution slot.
    /// The place where calls wait for the slot, for a ``CycleReport``.
    weak var target: DeliveryTarget?
    override var title: String { target?.title ?? super.title }
  #endif

  package init(of handler: UInt64 = 0) { self.handler = handler }

  package override var handlerID: UInt64? { handler == 0 ? nil : handler }

  package override func needs(_ goal: Invocation) -> WaitNeeds {
    if self === goal.executionSlot { return .blocked }
    return .any(
      waits.flatMap { wait -> [WaitNode] in
        WaitGraph.count()
        return wait.invocation.isCurrent ? wait.completion.nodes(for: wait.waiter) : []
      })
  }
}

/// One wait of a call: for a completion, as one of its waiters. Guarded by: WaitGraph.mutex.
final class SlotWait {
  let invocation: Invocation
  let completion: Completion
  /// The number of the waiter.
  let waiter: Int
  /// The index in the waits of the execution slot. Guarded by: WaitGraph.mutex.
  @exclusivity(unchecked) fileprivate var index = 0

  init(_ invocation: Invocation, _ completion: Completion, _ waiter: Int) {
    (self.invocation, self.completion, self.waiter) = (invocation, completion, waiter)
  }
}

extension Completion.Waiter {
  /// The invocation that waits, if the completion is part of the wait graph.
  var invocation: Invocation? { wait?.invocation }
}
