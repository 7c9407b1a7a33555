import Eventing

/// One row of the state that clients ask for, as are each handler and each edge. The `version` of a
/// row is the number of the last poll that saw the row change: see ``Poller/tick``.
final class PolledEvent {
  let event: RegisteredEvent
  let type: String
  let reading = EventReading()
  var version: UInt64 = 0
  /// When a poll first saw the running delivery.
  var busyAt: UInt64?
  /// How long polls saw one delivery run that has ended, at most.
  var longestDelivery: UInt64 = 0
  /// The event whose `failures` or `unheard` this is.
  var parent: UInt64?
  var handlers: [PolledHandler] = []
  var listVersion: UInt64 = 0
  var edges: Versioned<GraphEdge> = []
  /// The last poll that saw an edge come or go.
  var edgesVersion: UInt64 = 0
  /// The backlog when a poll last noted it, at most once a second.
  var before: (at: UInt64, waiting: Int) = (0, 0)
  var wasHeard = false

  init(_ event: RegisteredEvent) {
    self.event = event
    type = "\(event.type)"
    before = (event.joinedAt, 0)
  }

  var id: UInt64 { event.id }
}

struct PolledHandler {
  var reading: HandlerReading
  let info: HandlerInfo
  /// When a poll first saw the handler.
  let sequenceBefore: UInt64
  var version: UInt64
  /// When a poll first saw the oldest running call.
  var runningAt: UInt64?
  /// How long polls saw one call run that has ended, at most.
  var longestCall: UInt64 = 0
  /// The backlog when a poll last noted it, at most once a second.
  var before: (at: UInt64, waiting: Int)
  /// Never decreases: see ``noteSuccesses(_:)``.
  private var successes = 0
  /// As read by the last poll that saw a new success.
  private(set) var failedBefore = 0
  /// `nil` unless the event is, or was, traced.
  var timing: CallTiming?
  /// When a poll last saw a new drop.
  var droppedAt: UInt64?

  init(_ reading: HandlerReading, after sequence: UInt64, version: UInt64, at now: UInt64) {
    self.reading = reading
    sequenceBefore = sequence
    self.version = version
    info = reading.info
    before = (now, 0)
    if reading.dropped > 0 { droppedAt = now }
    if reading.running ?? 0 > 0 { runningAt = now }
    noteSuccesses(reading)
  }

  /// Notes the failures so far if a call has succeeded since the last poll, so that the failures
  /// above ``failedBefore`` come after the last success.
  ///
  /// The number of successes is `ended` less `failed`. A failed call raises `ended` first, so a
  /// poll in between counts a success too many, and the next one reads one less. `successes` keeps
  /// the higher number, so that such a poll sees no new success again.
  mutating func noteSuccesses(_ reading: HandlerReading) {
    let ended = reading.ended - reading.failed
    guard ended > successes else { return }
    (successes, failedBefore) = (ended, reading.failed)
  }
}

/// A table has no event: clients that asked for some events only get none.
struct PolledTable: Equatable {
  let id: UInt64
  let title: String
  let columns: [String]
  let actions: [String]
  /// At most ``mostRows``.
  let rows: [InspectedRow]
  /// Of all rows.
  let count: Int
  let latest: UInt64

  static let mostRows = 100

  init(_ id: UInt64, _ table: any InspectedTable) {
    self.id = id
    (title, columns, actions) = (table.title, table.columns, table.actions)
    (rows, count, latest) = table.rows(upTo: Self.mostRows)
  }
}

/// Rows, each with the number of the last poll that saw it change.
typealias Versioned<Row> = [(row: Row, version: UInt64)]

struct Parts: OptionSet {
  let rawValue: UInt8
  static let events = Parts(rawValue: 1)
  static let handlers = Parts(rawValue: 2)
  static let graph = Parts(rawValue: 4)
  static let waits = Parts(rawValue: 8)
  static let warnings = Parts(rawValue: 16)
  static let tables = Parts(rawValue: 32)
  static let all: Parts = [.events, .handlers, .graph, .waits, .warnings, .tables]

  static let named: [(name: StaticString, part: Parts)] = [
    ("events", .events), ("handlers", .handlers), ("graph", .graph), ("waits", .waits), ("warnings", .warnings),
    ("tables", .tables),
  ]
}

struct GoneRow {
  enum Row {
    case event(UInt64)
    case handler(UInt64)
    case edge(GraphEdge)
    case wait(UInt64)
    case warning(UInt64)
    case table(UInt64)
  }
  let row: Row
  /// 0 for an edge from an event bus and for a table. Clients that asked for some events only learn
  /// of the removal of their rows.
  let event: UInt64
  let version: UInt64
}
