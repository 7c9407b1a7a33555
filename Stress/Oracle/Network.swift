import Eventing

/// What goes through a network: a payload, where it entered, and the marked edges that it came along.
struct Traveller: Sendable {
  let payload: StressPayload
  let origin: Int
  /// Four bits for each marked edge, the last one lowest; 0 stands for none, so they are counted from 1.
  var trace: UInt64 = 0

  /// For random numbers.
  var number: Int { Int(payload.senderLog) << 32 + Int(payload.index) }

  func along(_ edge: Int) -> Traveller {
    var copy = self
    copy.trace = trace << 4 | UInt64(edge + 1)
    return copy
  }
}

/// Events that forward to each other along edges which come and go: two rings, a diamond, a chain, and two edges side by side.
final class Network: Sendable {
  /// A way from one event to another. It belongs to one worker, as do all edges between the same two, so that `removeForwarding` ends only that worker's.
  struct Edge: Sendable {
    let source: Int
    let target: Int
    /// A marked edge writes its number into what passes, and lets pass what ``lets(_:)`` says. One that is not has no transform: from what
    /// came along it one can tell, because no two of them meet.
    var isMarked = true
    var filter: Int32?

    func lets(_ index: Int32) -> Bool { filter.map { index % 5 != $0 } ?? true }
  }

  static let edges: [Edge] = [
    // A ring of three, one backward edge, and one event that forwards to itself.
    Edge(source: 0, target: 1, isMarked: false), Edge(source: 1, target: 2), Edge(source: 2, target: 0, filter: 3),
    Edge(source: 1, target: 0), Edge(source: 2, target: 2),
    // A diamond, two edges side by side, and the way back to the ring.
    Edge(source: 0, target: 3), Edge(source: 0, target: 4, filter: 1), Edge(source: 3, target: 5),
    Edge(source: 4, target: 5),
    Edge(source: 4, target: 5, filter: 2), Edge(source: 5, target: 0),
    // A chain that ends where nothing goes on.
    Edge(source: 5, target: 6, isMarked: false), Edge(source: 6, target: 7), Edge(source: 7, target: 3, filter: 4),
  ]
  static let size = 8
  /// Beside its edges this one forwards to events that come and go.
  static let guestHouse = 7

  /// The edges between the same two events.
  static func beside(_ number: Int) -> [Int] {
    edges.indices.filter { edges[$0].source == edges[number].source && edges[$0].target == edges[number].target }
  }

  /// What somebody heard.
  struct Arrival: Sendable {
    let senderLog: Int32
    let index: Int32
    let origin: Int
    let trace: UInt64
    /// An inline handler's first line, or the last of one on a lane.
    let at: UInt64

    init(_ traveller: Traveller) {
      senderLog = traveller.payload.senderLog
      index = traveller.payload.index
      origin = traveller.origin
      trace = traveller.trace
      at = Clock.now
    }

    func isSame(as other: Arrival) -> Bool {
      senderLog == other.senderLog && index == other.index && trace == other.trace && origin == other.origin
    }
  }

  /// One event. Its first handler is its witness, and two more are on lanes.
  // Safe: each array belongs to one handler, which is called one call at a time; read when nothing moves.
  final class Node: @unchecked Sendable {
    let event = Event<Traveller>("node")
    private(set) var arrivals: [Arrival] = []
    private(set) var queued: [Arrival] = []
    private(set) var awaited: [Arrival] = []

    init(_ context: ScenarioContext) {
      let (canary, checks, fates) = (Canary(.handler), context.checks, (0..<3).map { _ in context.makeFate() })
      event.addHandler(priority: 9) { [unowned self] traveller in
        if !canary.isAlive || !traveller.payload.canary.isAlive {
          checks.violate(.g22, "a handler holds what is not its own")
        }
        arrivals.append(Arrival(traveller))
        try checks.faults.meet(fates[0], traveller.number)
      }
      event.addHandler(on: .background) { [unowned self] traveller in
        var luck = Random(seed: fates[1] &+ UInt64(traveller.number))
        checks.faults.delay(&luck)
        queued.append(Arrival(traveller))
        try checks.faults.fail(&luck)
      }
      event.addHandler { [unowned self] traveller in
        var luck = Random(seed: fates[2] &+ UInt64(traveller.number))
        await checks.faults.delayTask(&luck, isSuspended: traveller.payload.index % 3 == 0)
        awaited.append(Arrival(traveller))
        try checks.faults.fail(&luck)
      }
    }
  }

  /// The time for which an edge was there.
  struct Life: Sendable {
    let adding: Span
    var removing: Span?
  }

  let nodes: [Node]

  init(_ context: ScenarioContext) {
    nodes = (0..<Network.size).map { _ in Node(context) }
    for node in nodes { context.watch(node.event) }
  }

  /// Adds an edge.
  func connect(_ number: Int, strongly: Bool) -> HandlerToken {
    let edge = Network.edges[number]
    let (source, target) = (nodes[edge.source].event, nodes[edge.target].event)
    guard edge.isMarked else { return source.forward(to: target, strongly: strongly) }
    let canary = Canary(.handler)
    return source.forward(to: target, strongly: strongly) { traveller in
      edge.lets(traveller.payload.index) && canary.isAlive ? traveller.along(number) : nil
    }
  }

  /// The edges that somebody came along who arrived at a node; nil if there are none that lead there.
  static func path(of arrival: Arrival, to node: Int) -> [Int]? {
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

  /// How often what enters at `origin` arrives at each event if every edge is there: once for each path that visits no event twice.
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
