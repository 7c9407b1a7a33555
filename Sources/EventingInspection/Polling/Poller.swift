import Eventing

/// Used by the thread of an inspection only. Rows are formatted only for an answer or an update. A
/// whole update has all rows, any other update only the changes since the one before.
final class Poller {
  /// Ordered by number.
  private(set) var events: [PolledEvent] = []
  private(set) var waits: Versioned<PolledWait> = []
  private(set) var tables: Versioned<PolledTable> = []
  private(set) var busEdges: Versioned<GraphEdge> = []
  /// The last poll that saw an edge in ``busEdges``, from an event bus to an event, come or go.
  private(set) var busEdgesVersion: UInt64 = 0
  let warnings = Warnings()
  let durations = CallDurations()
  private(set) var tick: UInt64 = 0
  /// A time on the ``InspectionClock``.
  private(set) var polledAt: UInt64 = 0
  /// The oldest row comes first.
  private(set) var gone: [GoneRow] = []
  /// The last poll whose removed rows ``gone`` may lack. A client that got its last update before
  /// gets a whole one.
  private(set) var forgottenTick: UInt64 = 0
  private var revision: UInt64?
  /// Places by the number of the handler; `nil` until a warning needs a title.
  private var handlerPlaces: [UInt64: (event: Int, handler: Int)]?

  /// Clients that have missed older removals get a whole update.
  static let mostGone = 4_096

  func rest() {
    guard revision != nil else { return }
    (events, waits, tables, busEdges, gone, revision) = ([], [], [], [], [], nil)
    warnings.removeAll()
    durations.removeAll()
    forgottenTick = tick
  }

  func poll(at now: UInt64 = InspectionClock.now) {
    tick += 1
    polledAt = now
    findEvents()
    var (parents, hasGone): ([UInt64: UInt64], Bool) = ([:], false)
    for polled in events {
      let isWhole = polled.version == 0 || (tick &+ polled.id) % 8 == 0
      if !poll(polled, isWhole: isWhole) {
        forget(polled)
        hasGone = true
      }
      let children = polled.reading.children
      if children.unheard != 0 { parents[children.unheard] = polled.id }
      if children.failures != 0 { parents[children.failures] = polled.id }
    }
    if hasGone { events.removeAll { $0.version == .max } }
    for (child, parent) in parents { if let at = index(of: child) { note(parent, of: events[at]) } }
    readDurations()
    noteDurations()
    pollWaits()
    pollBuses()
    pollTables()
    handlerPlaces = nil
    warnings.find(in: self)
    handlerPlaces = nil
    if gone.count > Self.mostGone {
      let surplus = gone.count - Self.mostGone / 2
      forgottenTick = gone[surplus - 1].version
      gone.removeFirst(surplus)
    }
  }

  func place(of id: UInt64) -> Int {
    var (low, high) = (0, events.count)
    while low < high {
      let middle = (low + high) / 2
      if events[middle].id < id { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func index(of id: UInt64) -> Int? {
    let place = place(of: id)
    return place < events.count && events[place].id == id ? place : nil
  }

  func title(ofEvent id: UInt64) -> String { index(of: id).map { Warnings.title(events[$0]) } ?? "event \(id)" }

  /// A handler without a name is shown by its file and line, or by its number.
  func title(ofHandler id: UInt64) -> String {
    let places = handlerPlaces ?? findHandlerPlaces()
    guard let place = places[id] else { return "handler \(id)" }
    return Warnings.title(events[place.event].handlers[place.handler])
  }

  /// O(handlers), once a poll at most. With a thousand waits and a million handlers, a search for
  /// each title would take minutes.
  private func findHandlerPlaces() -> [UInt64: (event: Int, handler: Int)] {
    var places: [UInt64: (event: Int, handler: Int)] = [:]
    for (event, polled) in events.enumerated() {
      for (handler, row) in polled.handlers.enumerated() { places[row.reading.id] = (event, handler) }
    }
    handlerPlaces = places
    return places
  }

  func noteGone(_ row: GoneRow.Row, of event: UInt64) {
    gone.append(GoneRow(row: row, event: event, version: tick))
    if case .handler(let id) = row { durations.forget(id) }
  }

  /// Called once more before a trace ends.
  func readDurations() { durations.read() }

  private func noteDurations() {
    var changed = durations.takeChanged()
    if changed.isEmpty { return }
    // The handlers that are left in `changed` after the loop have no row in `events`: they were
    // removed before a poll saw them, or between their last call and this poll.
    defer { for handler in changed { durations.forget(handler) } }
    for polled in events {
      for index in polled.handlers.indices where changed.contains(polled.handlers[index].reading.id) {
        let id = polled.handlers[index].reading.id
        polled.handlers[index].timing = durations.timing(of: id)
        polled.handlers[index].version = tick
        changed.remove(id)
      }
    }
  }

  // MARK: Events

  private func findEvents() {
    let now = EventRegistry.revision
    guard revision != now else { return }
    revision = now
    var known: [UInt64: PolledEvent] = [:]
    for polled in events { known[polled.id] = polled }
    let found = EventRegistry.events
    var all = found.map { known.removeValue(forKey: $0.id) ?? PolledEvent($0) }
    // The registry no longer lists the events that are left in `known`. They stay in `events` until
    // the poller reads their counters, and finds that they are gone.
    all += known.values
    events = all.sorted { $0.id < $1.id }
  }

  private func forget(_ polled: PolledEvent) {
    noteGone(.event(polled.id), of: polled.id)
    for handler in polled.handlers { noteGone(.handler(handler.reading.id), of: polled.id) }
    for edge in polled.edges { noteGone(.edge(edge.row), of: polled.id) }
    polled.version = .max
  }

  private func note(_ parent: UInt64, of polled: PolledEvent) {
    guard polled.parent != parent else { return }
    polled.parent = parent
    polled.version = tick
  }

  private func poll(_ polled: PolledEvent, isWhole: Bool) -> Bool {
    let reading = polled.reading
    let before = (
      reading.sequence, reading.waiting, reading.handlerCount, reading.unheard, reading.isLocked, reading.isFinished
    )
    let wasBusyAt = polled.busyAt
    guard polled.event.poll(into: reading, isWhole: isWhole) else { return false }
    if let wasBusyAt, !reading.isBusy || before.0 != reading.sequence {
      polled.longestDelivery = max(polled.longestDelivery, polledAt.since(wasBusyAt))
    }
    if !reading.isBusy {
      polled.busyAt = nil
    } else if polled.busyAt == nil || before.0 != reading.sequence {
      polled.busyAt = polledAt
    }
    let after = (
      reading.sequence, reading.waiting, reading.handlerCount, reading.unheard, reading.isLocked, reading.isFinished
    )
    if polled.version == 0 || before != after || wasBusyAt != polled.busyAt { polled.version = tick }
    if reading.hasReadHandlers { mergeHandlers(polled) }
    return true
  }

  private func mergeHandlers(_ polled: PolledEvent) {
    let readings = polled.reading.handlers
    var hasChanged = false
    let isSameList =
      readings.count == polled.handlers.count && zip(readings, polled.handlers).allSatisfy { $0.id == $1.reading.id }
    if isSameList {
      for index in readings.indices where update(&polled.handlers[index], readings[index]) { hasChanged = true }
    } else {
      hasChanged = true
      polled.listVersion += 1
      var known: [UInt64: PolledHandler] = [:]
      for handler in polled.handlers { known[handler.reading.id] = handler }
      polled.handlers = readings.map { reading in
        guard var handler = known.removeValue(forKey: reading.id) else {
          return PolledHandler(reading, after: polled.reading.sequence, version: tick, at: polledAt)
        }
        _ = update(&handler, reading)
        return handler
      }
      for id in known.keys { noteGone(.handler(id), of: polled.id) }
    }
    if hasChanged {
      polled.wasHeard = polled.wasHeard || readings.contains { $0.calls > 0 }
      mergeEdges(polled)
    }
  }

  private func update(_ handler: inout PolledHandler, _ reading: HandlerReading) -> Bool {
    let old = handler.reading
    if reading == old { return false }
    if reading.dropped > old.dropped { handler.droppedAt = polledAt }
    handler.noteSuccesses(reading)
    if let runningAt = handler.runningAt, reading.running ?? 0 == 0 || reading.oldestCall != old.oldestCall {
      handler.longestCall = max(handler.longestCall, polledAt.since(runningAt))
    }
    if reading.running ?? 0 == 0 {
      handler.runningAt = nil
    } else if handler.runningAt == nil || reading.oldestCall != old.oldestCall {
      handler.runningAt = polledAt
    }
    handler.reading = reading
    handler.version = tick
    return true
  }

  // MARK: Edges and waits

  private func mergeEdges(_ polled: PolledEvent) {
    let edges = GraphEdge.all(of: polled.event, polled.reading)
    if edges.isEmpty, polled.edges.isEmpty { return }
    merge(edges, into: &polled.edges, &polled.edgesVersion, of: polled.id)
  }

  private func pollBuses() { merge(GraphEdge.ofBuses(), into: &busEdges, &busEdgesVersion, of: 0) }

  private func merge(
    _ edges: [GraphEdge], into known: inout Versioned<GraphEdge>, _ version: inout UInt64, of event: UInt64
  ) {
    let isSameList = edges.count == known.count && zip(edges, known).allSatisfy { $0.key == $1.row.key }
    if !isSameList { version = tick }
    for edge in merge(edges, into: &known, by: \.key) { noteGone(.edge(edge), of: event) }
  }

  private func pollWaits() {
    for wait in merge(PolledWait.all(), into: &waits, by: \.id) { noteGone(.wait(wait.id), of: wait.event) }
  }

  private func pollTables() {
    let all = InspectedTables.current.map(PolledTable.init)
    for table in merge(all, into: &tables, by: \.id) { noteGone(.table(table.id), of: 0) }
  }

  /// Returns the rows that are gone. A row that is as it was keeps its version.
  private func merge<Row: Equatable, Key: Hashable>(
    _ rows: [Row], into known: inout Versioned<Row>, by key: (Row) -> Key
  ) -> [Row] {
    var old = Dictionary(known.map { (key($0.row), $0) }) { $1 }
    known = rows.map { row in
      let old = old.removeValue(forKey: key(row))
      return (row: row, version: old?.row == row ? old?.version ?? tick : tick)
    }
    return old.values.map(\.row)
  }
}
