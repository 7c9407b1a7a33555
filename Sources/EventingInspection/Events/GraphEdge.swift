import Dispatch
import Eventing

/// A route of occurrences from one place to another, as a poll saw it.
struct GraphEdge: Hashable, Sendable {
  enum Kind: String, Sendable { case forward, bus, key, lane, bridge }

  /// An end of an edge: `event:12`, `handler:7`, `lane:3`, `bus:1`, `out:notifications`.
  struct Place: Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, Sendable { case event, handler, lane, bus, out }
    let kind: Kind
    /// The number of the event, handler, lane or bus. If `kind` is `out`: the name of a place
    /// outside of the process's events, such as `notifications`.
    let text: String
    var description: String { "\(kind.rawValue):\(text)" }

    init(kind: Kind, text: String) { (self.kind, self.text) = (kind, text) }
    init(kind: Kind, number: UInt64) { self.init(kind: kind, text: "\(number)") }
  }

  let from: Place
  let to: Place
  let kind: Kind
  /// The number of occurrences that took this route; `nil` if it is not known.
  fileprivate(set) var count: Int?
  /// The key, the name of the queue or shared lane, the label of the bridge, or the name of the
  /// bus's event; `nil` if there is none.
  let label: String?

  /// The fields that tell an edge from others.
  struct Key: Hashable, Sendable {
    private let (from, to, kind, label): (Place, Place, Kind, String?)
    fileprivate init(_ edge: GraphEdge) { (from, to, kind, label) = (edge.from, edge.to, edge.kind, edge.label) }
  }
  var key: Key { Key(self) }

  /// Returns the edges that begin at an event or at its handlers, from what a poll has read. No two
  /// returned edges have equal keys: two forwards to one event are one edge, with the sum of their
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

  /// Merges the edges with equal keys into one each, in the order in which the keys occur first.
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

  /// Returns the edges from the included buses to their events.
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
  /// The key that the handler listens to: a string, integer or Boolean as text, any other key as
  /// its type. No `description` that the user wrote runs here.
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
  /// The name of a lane that several handlers may share; `nil` for other places.
  var laneLabel: String? {
    switch self {
    case .main: "main"
    case .queue(let queue, _): queue.label
    case .lane(let lane, _): lane.description
    default: nil
    }
  }
}
