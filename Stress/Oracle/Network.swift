import Eventing

/// The payload of a network. It names the event that the worker sent it to (`origin`), and the
/// *marked* edges that it passed: the forwards with a transform (``Network/Edge/isMarked``).
struct Traveller: Sendable {
  let payload: StressPayload
  let origin: Int
  /// The numbers of the edges (forwards) that the payload passed, four bits each. Forwards without
  /// a transform are missing, because they change nothing in the payload. The lowest four bits are
  /// the number of the edge that was passed last. The numbers begin at 1; 0 stands for no edge.
  var trace: UInt64 = 0

  /// A unique number, which seeds random numbers.
  var number: Int { Int(payload.senderLog) << 32 + Int(payload.index) }

  func along(_ edge: Int) -> Traveller {
    var copy = self
    copy.trace = trace << 4 | UInt64(edge + 1)
    return copy
  }
}

/// Events that forward to each other: a ring, a diamond, a chain, parallel edges, and edges back.
/// Workers add and remove the edges.
final class Network: Sendable {
  /// A forward from one event to another. All edges between two events belong to one worker, so
  /// that `removeForwarding` ends only that worker's edges.
  struct Edge: Sendable {
    let source: Int
    let target: Int
    /// Whether the forward has a transform. The transform adds the number of the edge to the
    /// payload's ``Traveller/trace``, and passes only payloads that ``lets(_:)`` accepts.
    ///
    /// A forward without a transform changes nothing in the payload, so its edge is missing in the
    /// trace. ``Network/path(of:to:)`` finds the missing edge by the edges before and after it.
    /// This works because no two edges without a transform follow each other.
    var isMarked = true
    var filter: Int32?

    func lets(_ index: Int32) -> Bool { filter.map { index % 5 != $0 } ?? true }
  }

  // At most 15 edges: a payload's list of passed edges (`Traveller.trace`) has four bits for the
  // number of each.
  //
  // Edges with `isMarked: false` are missing in that list. `path(of:to:)` finds a missing edge by
  // the event at which the listed edge before it ends, and the event at which the next listed edge
  // begins. So no two missing edges may follow each other on a path. And a missing edge must be the
  // only edge without a mark from its source to its target.
  static let edges: [Edge] = [
    // A ring of three events, one backward edge, and an event that forwards to itself.
    Edge(source: 0, target: 1, isMarked: false), Edge(source: 1, target: 2), Edge(source: 2, target: 0, filter: 3),
    Edge(source: 1, target: 0), Edge(source: 2, target: 2),
    // A diamond from event 0 of the ring to event 5, a second edge from 4 to 5, and an edge from 5
    // back to 0.
    Edge(source: 0, target: 3), Edge(source: 0, target: 4, filter: 1), Edge(source: 3, target: 5),
    Edge(source: 4, target: 5),
    Edge(source: 4, target: 5, filter: 2), Edge(source: 5, target: 0),
    // A chain from event 5 of the diamond above to 6 and 7, and an edge from 7 back to event 3 of
    // the diamond: a cycle.
    Edge(source: 5, target: 6, isMarked: false), Edge(source: 6, target: 7), Edge(source: 7, target: 3, filter: 4),
  ]
  static let size = 8
  /// The event that also forwards to *guests*: temporary events that workers make and release.
  static let guestHouse = 7

  /// Returns the numbers of all edges that have the source and the target of the edge `number`.
  /// This edge itself is among them.
  static func beside(_ number: Int) -> [Int] {
    edges.indices.filter { edges[$0].source == edges[number].source && edges[$0].target == edges[number].target }
  }

  /// A call of a handler of a node, as the handler recorded it.
  struct EventArrival: Sendable {
    let senderLog: Int32
    let index: Int32
    let origin: Int
    let trace: UInt64
    /// The time at which the handler made this record: an inline handler at the beginning of its
    /// call, a handler on a lane at the end.
    let at: UInt64

    init(_ traveller: Traveller) {
      senderLog = traveller.payload.senderLog
      index = traveller.payload.index
      origin = traveller.origin
      trace = traveller.trace
      at = Clock.now
    }

    func isSame(as other: EventArrival) -> Bool {
      senderLog == other.senderLog && index == other.index && trace == other.trace && origin == other.origin
    }
  }

  /// An event of the network. Its first handler, the witness, records the arrivals. Two further
  /// handlers are on lanes.
  // Safe: each array belongs to one handler, which is called one call at a time. The verifier reads
  // when no handler runs.
  final class Node: @unchecked Sendable {
    let event = Event<Traveller>("node")
    private(set) var arrivals: [EventArrival] = []
    private(set) var queued: [EventArrival] = []
    private(set) var awaited: [EventArrival] = []

    init(_ context: ScenarioContext) {
      let (canary, checks, fates) = (Canary(.handler), context.checks, (0..<3).map { _ in context.makeFate() })
      event.addHandler(.priority(9)) { [unowned self] traveller in
        if !canary.isAlive || !traveller.payload.canary.isAlive {
          checks.violate(.g22, "a handler uses a released object")
        }
        arrivals.append(EventArrival(traveller))
        try checks.faults.meet(fates[0], traveller.number)
      }
      event.addHandler(on: .background) { [unowned self] traveller in
        var luck = Random(seed: fates[1] &+ UInt64(traveller.number))
        checks.faults.delay(&luck)
        queued.append(EventArrival(traveller))
        try checks.faults.fail(&luck)
      }
      event.addHandler { [unowned self] traveller in
        var luck = Random(seed: fates[2] &+ UInt64(traveller.number))
        await checks.faults.delayTask(&luck, isSuspended: traveller.payload.index % 3 == 0)
        awaited.append(EventArrival(traveller))
        try checks.faults.fail(&luck)
      }
    }
  }

  /// The time during which an edge existed.
  struct Life: Sendable {
    let adding: Span
    var removing: Span?
  }

  let nodes: [Node]

  init(_ context: ScenarioContext) {
    nodes = (0..<Network.size).map { _ in Node(context) }
    for node in nodes { context.watch(node.event) }
  }

  /// Adds the forward of an edge.
  func connect(_ number: Int, strongly: Bool) -> HandlerToken {
    let edge = Network.edges[number]
    let (source, target) = (nodes[edge.source].event, nodes[edge.target].event)
    guard edge.isMarked else { return source.forward(to: target, strongly: strongly) }
    let canary = Canary(.handler)
    return source.compactMap { traveller in
      edge.lets(traveller.payload.index) && canary.isAlive ? traveller.along(number) : nil
    }.forward(to: target, strongly: strongly)
  }

  /// Returns the edges that the payload of an arrival passed from its origin to a node; `nil` if no
  /// such edges exist.
  static func path(of arrival: EventArrival, to node: Int) -> [Int]? {
    var (path, here): ([Int], Int) = ([], arrival.origin)
    func fill(to next: Int) -> Bool {
      guard next != here else { return true }
      guard let plain = edges.firstIndex(where: { !$0.isMarked && $0.source == here && $0.target == next }) else {
        return false
      }
      path.append(plain)
      here = next
      return true
    }
    for shift in stride(from: 60, through: 0, by: -4) {
      let digit = Int(arrival.trace >> UInt64(shift) & 15)
      guard digit > 0 else { continue }
      guard edges.indices.contains(digit - 1), fill(to: edges[digit - 1].source) else { return nil }
      path.append(digit - 1)
      here = edges[digit - 1].target
    }
    return fill(to: node) ? path : nil
  }

  /// Returns how often the payload with this index, sent to `origin`, arrives at each event if
  /// every edge exists: once by each path that visits no event twice and passes all filters.
  static func counts(of index: Int32, from origin: Int) -> [Int] {
    var counts = [Int](repeating: 0, count: size)
    var visited: Set<Int> = []
    func visit(_ node: Int) {
      counts[node] += 1
      visited.insert(node)
      for edge in edges where edge.source == node && !visited.contains(edge.target) && edge.lets(index) {
        visit(edge.target)
      }
      visited.remove(node)
    }
    visit(origin)
    return counts
  }
}
