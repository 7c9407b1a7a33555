import Eventing

extension WaitingSends {
  /// The waits of one moment, by what they wait for. Making it is O(*n*) for *n* waits and the
  /// nodes that they wait for; ``waits(for:)`` costs what it returns. So a look that tells of many
  /// calls does not search all waits for each.
  struct Look {
    struct Wait: Sendable {
      /// `nil` if they are not known.
      let event: EventIdentity?
      let sequence: UInt64?
      let duration: Duration
    }

    static let most = 100

    private struct Node {
      /// Retained, so that no other node can have its address.
      let object: WaitNode
      /// Entries that wait for the node, the longest wait first.
      var entries: [Int] = []
      var dependents: [ObjectIdentifier] = []
      /// The number of nodes that must be blocked to block this one.
      var needed = 1
    }

    private let now = ContinuousClock.now
    /// The longest wait comes first.
    private let entries: [Entry]
    private var nodes: [ObjectIdentifier: Node] = [:]
    /// Entries whose occurrences the event may still have to deliver, by its anchor.
    private var undelivered: [ObjectIdentifier: [Int]] = [:]
    /// Nodes and entries that were looked at, for tests.
    private(set) var steps = 0

    init() {
      var known: Set<ObjectIdentifier> = []
      // A ticket that several tasks await counts once.
      entries = WaitingSends.entries.filter { known.insert(ObjectIdentifier($0.completion)).inserted }
      // No call has this slot. So no node counts as blocked because of the goal.
      let goal = Invocation(ExecutionSlot())
      for (index, entry) in entries.enumerated() {
        if let anchor = entry.wait.anchor { undelivered[ObjectIdentifier(anchor), default: []].append(index) }
        // The mutex is given back after each wait: every `send` inside of a call needs it. So the
        // picture may be of several moments, which is good enough to tell what waits.
        WaitGraph.mutex.withLock {
          for node in entry.awaitedNodes {
            insert(node, goal)
            nodes[ObjectIdentifier(node)]?.entries.append(index)
          }
        }
      }
    }

    /// Also inserts the nodes that the node waits for. The caller holds `WaitGraph.mutex`.
    private mutating func insert(_ node: WaitNode, _ goal: Invocation) {
      guard nodes[ObjectIdentifier(node)] == nil else { return }
      nodes[ObjectIdentifier(node)] = Node(object: node)
      var rest = [node]  // and not a recursion: a chain of waits may be longer than a thread's stack is deep
      while let next = rest.popLast() {
        steps += 1
        let id = ObjectIdentifier(next)
        let (needed, all): ([WaitNode], Bool) =
          switch next.needs(goal) {
          case .any(let some): (some, false)
          case .all(let all): (all, true)
          }
        if all { nodes[id]?.needed = needed.count }
        for other in needed {
          steps += 1
          if nodes[ObjectIdentifier(other)] == nil {
            nodes[ObjectIdentifier(other)] = Node(object: other)
            rest.append(other)
          }
          nodes[ObjectIdentifier(other)]?.dependents.append(id)
        }
      }
    }

    /// Waits that cannot end before the call has returned: those for the call itself first, the
    /// longest first, and at most ``most``.
    mutating func waits(for call: RunningCall) -> [Wait] {
      guard let lane = call.lane else {
        // The handler is inline, so its event delivers nothing else until the call ends. Therefore
        // the call holds up all waits for occurrences that this event has not delivered yet.
        var found: [Wait] = []
        for index in undelivered[ObjectIdentifier(call.handler.anchor)] ?? [] where found.count < Self.most {
          steps += 1
          guard entries[index].completion.isUndelivered else { continue }
          found.append(Wait(event: call.event, sequence: nil, duration: now - entries[index].start))
        }
        return found
      }
      // The lane and the slot of the call are blocked. The call of a synchronous handler cannot
      // wait, so it has no slot of its own: then the slot is the one that the lane uses now.
      return waits(for: [lane, call.executionSlot ?? (lane as? LaneQueue)?.runningWorker].compactMap { $0 })
    }

    /// Waits that cannot end before the lane begins a call: see ``waits(for:)``.
    mutating func waits(behind lane: LaneLoad) -> [Wait] { waits(for: [lane.lane.counters]) }

    /// Returns at most ``most`` waits, the longest first. A node that waits for a blocked one is
    /// blocked, too: a call that is queued behind the call, or another handler on the same
    /// ``HandlerLane``.
    mutating func waits(for blocked: [WaitNode]) -> [Wait] {
      var queue = blocked.map { ObjectIdentifier($0) }
      var seen = Set(queue)
      var missing: [ObjectIdentifier: Int] = [:]
      var found: Set<Int> = []
      var next = 0
      while next < queue.count, found.count < Self.most {
        steps += 1
        defer { next += 1 }
        guard let node = nodes[queue[next]] else { continue }
        for index in node.entries where found.count < Self.most {
          steps += 1
          found.insert(index)
        }
        for id in node.dependents where found.count + queue.count - next <= Self.most {
          steps += 1
          let left = (missing[id] ?? nodes[id]?.needed ?? 1) - 1
          missing[id] = left
          if left <= 0, seen.insert(id).inserted { queue.append(id) }
        }
      }
      return found.sorted().map { index in
        // `occurrence` was set before the lane had the completion, and does not change afterwards.
        let occurrence = entries[index].completion.occurrence
        return Wait(
          event: occurrence?.event, sequence: occurrence?.sequence, duration: now - entries[index].start)
      }
    }
  }
}

extension Completion {
  fileprivate var isUndelivered: Bool { withMutex { !isDelivered } }
}

extension WaitingSends.Entry {
  /// The caller holds `WaitGraph.mutex`.
  fileprivate var awaitedNodes: [WaitNode] {
    completion.isTracked ? completion.waiters.flatMap { completion.nodes(for: $0.id) } : []
  }
}
