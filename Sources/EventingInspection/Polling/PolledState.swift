import Eventing

/// One event, as the last polls saw it. The event is one row of the state that clients ask for;
/// each of its handlers and edges is another row. The `version` of a row is the number of the last
/// poll that saw the row change: see ``Poller/tick``.
final class PolledEvent {
  let event: RegisteredEvent
  let type: String
  let reading = EventReading()
  var version: UInt64 = 0
  /// When a poll first saw the delivery that is still running.
  var busyAt: UInt64?
  /// The event whose `failures` or `unheard` this event is.
  var parent: UInt64?
  var handlers: [PolledHandler] = []
  /// The number of polls that saw a handler come or go.
  var listVersion: UInt64 = 0
  var edges: [(edge: GraphEdge, version: UInt64)] = []
  /// The number of the last poll that saw an edge come or go.
  var edgesVersion: UInt64 = 0
  /// The number of occurrences that waited in the event when a poll last noted it, and the time of
  /// that poll. Polls note it at most once a second.
  var before: (at: UInt64, waiting: Int) = (0, 0)
  /// Whether a poll has seen a call of any handler.
  var wasHeard = false

  init(_ event: RegisteredEvent) {
    self.event = event
    type = "\(event.type)"
    before = (event.joinedAt, 0)
  }

  var id: UInt64 { event.id }
}

/// One handler, as the last polls saw it.
struct PolledHandler {
  var reading: HandlerReading
  let info: HandlerInfo
  /// The number of the event's last delivery when a poll first saw the handler.
  let sequenceBefore: UInt64
  var version: UInt64
  /// When a poll first saw the oldest call that is still running.
  var runningAt: UInt64?
  /// The number of occurrences that waited for the handler when a poll last noted it, and the time
  /// of that poll. Polls note it at most once a second.
  var before: (at: UInt64, waiting: Int)
  /// The number of calls that ended without a failure since the handler was added. Never decreases:
  /// if a poll reads a lower number than an earlier poll, the higher one stays. See
  /// ``noteSuccesses(_:)``.
  private var successes = 0
  /// The number of failures, since the handler was added, as read by the last poll that saw a new
  /// success.
  private(set) var failedBefore = 0
  /// The durations of the calls; `nil` unless the event is, or was, traced.
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

  /// Notes the number of failures so far if a call has succeeded since the last poll. So the
  /// failures above ``failedBefore`` are those after the last success.
  ///
  /// The number of successes is `ended` less `failed`. A failed call raises `ended` first, and
  /// `failed` a moment later. A poll between these two steps counts the call as a success, and the
  /// next poll reads one success less. `successes` keeps the higher number, and so never decreases.
  /// Otherwise the next poll that comes between the two steps of a failed call would see a new
  /// success.
  mutating func noteSuccesses(_ reading: HandlerReading) {
    let ended = reading.ended - reading.failed
    guard ended > successes else { return }
    (successes, failedBefore) = (ended, reading.failed)
  }
}

/// The parts of the state that a client can ask for.
struct Parts: OptionSet {
  let rawValue: UInt8
  static let events = Parts(rawValue: 1)
  static let handlers = Parts(rawValue: 2)
  static let graph = Parts(rawValue: 4)
  static let waits = Parts(rawValue: 8)
  static let warnings = Parts(rawValue: 16)
  static let all: Parts = [.events, .handlers, .graph, .waits, .warnings]

  static let named: [(name: StaticString, part: Parts)] = [
    ("events", .events), ("handlers", .handlers), ("graph", .graph), ("waits", .waits), ("warnings", .warnings),
  ]
}

/// A removed row: a poll found that its event, handler, edge, wait or warning no longer exists.
struct GoneRow {
  enum Row {
    case event(UInt64)
    case handler(UInt64)
    case edge(GraphEdge)
    case wait(UInt64)
    case warning(UInt64)
  }
  let row: Row
  /// The event that the removed row belonged to; 0 for an edge of the graph from an event bus to
  /// one of its events. A client that asked for some events only is told of the removal only if
  /// this event is one of them.
  let event: UInt64
  /// The number of the poll that removed the row.
  let version: UInt64
}
