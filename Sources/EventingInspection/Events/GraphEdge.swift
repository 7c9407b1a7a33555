import Dispatch
import Eventing

struct GraphEdge: Hashable, Sendable {
  enum Kind: String, Sendable { case forward, bus, key, lane, bridge }

  /// Written as `event:12`, `handler:7`, `lane:3`, `bus:1` or `out:notifications`.
  struct Place: Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, Sendable { case event, handler, lane, bus, out }
    let kind: Kind
    /// The number; for `out`, the name of a place outside of the process's events.
    let text: String
    var description: String { "\(kind.rawValue):\(text)" }

    init(kind: Kind, text: String) { (self.kind, self.text) = (kind, text) }
    init(kind: Kind, number: UInt64) { self.init(kind: kind, text: "\(number)") }
  }

  let from: Place
  let to: Place
  let kind: Kind
  /// `nil` if it is not known.
  fileprivate(set) var count: Int?
  /// The key, the name of the queue or shared lane, the label of the bridge, or the name in the
  /// bus.
  let label: String?

  struct Key: Hashable, Sendable {
    private let (from, to, kind, label): (Place, Place, Kind, String?)
    fileprivate init(_ edge: GraphEdge) { (from, to, kind, label) = (edge.from, edge.to, edge.kind, edge.label) }
  }
  var key: Key { Key(self) }

  /// No two edges have equal keys: two forwards to one event are one edge, with the sum of the
  /// counts.
  static func all(of event: RegisteredEvent, _ reading: EventReading) -> [GraphEdge] {
    let edges = reading.handlers.flatMap { handler -> [GraphEdge] in
      let details = handler.record.details
      var edges: [GraphEdge] = []
      let source = Place(kind: .event, number: event.id)
      let itself = Place(kind: .handler, number: handler.id)
      if let bridge = details?.options.bridge {
        let to = Place(kind: .out, text: bridge.place)
        edges.append(GraphEdge(from: source, to: to, kind: .bridge, count: handler.calls, label: bridge.label))
      } else if let target = handler.record.forwardTarget {
        let to = Place(kind: .event, number: target.number)
        edges.append(GraphEdge(from: source, to: to, kind: .forward, count: handler.calls, label: nil))
      }
      if let key = handler.keyLabel {
        edges.append(GraphEdge(from: source, to: itself, kind: .key, count: handler.calls, label: key))
      }
      if let lane = handler.lane {
        let to = Place(kind: .lane, number: lane)
        edges.append(
          GraphEdge(from: itself, to: to, kind: .lane, count: handler.calls, label: details?.place.laneLabel))
      }
      return edges
    }
    return summed(edges)
  }

  private static func summed(_ edges: [GraphEdge]) -> [GraphEdge] {
    var (sums, places): ([GraphEdge], [Key: Int]) = ([], [:])
    for edge in edges {
      if let place = places[edge.key] {
        if let more = edge.count { sums[place].count = (sums[place].count ?? 0) + more }
      } else {
        places[edge.key] = sums.count
        sums.append(edge)
      }
    }
    return sums
  }

  static func ofBuses() -> [GraphEdge] {
    EventRegistry.buses.flatMap { id, bus in
      bus.handlerTable.inspected.map { event in
        GraphEdge(
          from: Place(kind: .bus, number: id), to: Place(kind: .event, number: event.id), kind: .bus, count: nil,
          label: event.name)
      }
    }
  }
}

extension HandlerReading {
  /// No `description` that the user wrote runs here: a key that is no string, integer or Boolean is
  /// shown as its type.
  fileprivate var keyLabel: String? {
    switch (keyBox as? any HashableKey)?.hashableKey {
    case let text as String: text
    case let number as any FixedWidthInteger: "\(number)"
    case let truth as Bool: "\(truth)"
    case let key?: "\(type(of: key))"
    case nil: nil
    }
  }
}

extension ExecutionPlace {
  var laneLabel: String? {
    switch self {
    case .main: "main"
    case .queue(let queue, _): queue.label
    case .lane(let lane, _): lane.description
    default: nil
    }
  }
}
