import Eventing

/// An answer goes on here when there is room for more. Polls may change the rows meanwhile. The
/// cursor names events, waits, warnings and tables by number; if the list of handlers or edges in which it
/// stands has changed, it writes that list again.
struct RowCursor {
  /// Still to be written. Of the first part, some rows may be written already.
  private var left: [(name: StaticString, part: Parts)]
  /// All rows of the current part with lower numbers are done. Handlers and edges have the number
  /// of their event; an edge from an event bus has 0.
  private var next: UInt64 = 0
  /// In the list that is being written: an event's handlers or edges, or the edges from buses.
  private var (inner, innerVersion): (Int, UInt64) = (0, 0)
  private let events: Set<UInt64>?
  /// The version that the client has.
  private let since: UInt64
  /// Write a part without rows as an empty array.
  private let writesEmptyParts: Bool

  init(_ parts: Parts, events: Set<UInt64>?, since: UInt64, writesEmptyParts: Bool) {
    left = Parts.named.filter { parts.contains($0.part) }
    self.events = events
    self.since = since
    self.writesEmptyParts = writesEmptyParts
  }

  var isAtEnd: Bool { left.isEmpty }

  /// The rows of each part become one JSON array.
  ///
  /// - Parameter room: The largest length of the line, without the bytes that close it.
  mutating func write(_ poller: Poller, to line: inout JSONWriter, room: Int) {
    while let current = left.first {
      let start = line.mark
      line.key(current.name)
      line.beginArray()
      let first = line.mark
      let isDone = writeRows(of: current.part, poller, &line, room)
      let isEmpty = first.isEmpty(in: line)
      line.endArray()
      if isEmpty, !(writesEmptyParts && isDone) { line.goBack(to: start) }
      guard isDone else { return }
      left.removeFirst()
      (next, inner) = (0, 0)
    }
  }

  private func includes(_ event: UInt64) -> Bool { events?.contains(event) ?? true }

  private func write(_ line: inout JSONWriter, _ room: Int, _ row: (inout JSONWriter) -> Void) -> Bool {
    let mark = line.mark
    row(&line)
    if line.bytes.count <= room { return true }
    line.goBack(to: mark)
    return false
  }

  private mutating func writeRows(
    of part: Parts, _ poller: Poller, _ line: inout JSONWriter, _ room: Int
  ) -> Bool {
    switch part {
    case .waits:
      for (wait, version) in poller.waits where wait.id >= next && version > since && includes(wait.event) {
        guard write(&line, room, { $0.wait(wait) }) else { return false }
        next = wait.id + 1
      }
      return true
    case .warnings:
      for warning in poller.warnings.all
      where warning.id >= next && warning.version > since && includes(warning.event) {
        guard write(&line, room, { $0.warning(warning) }) else { return false }
        next = warning.id + 1
      }
      return true
    case .tables:
      for (table, version) in poller.tables where table.id >= next && version > since && includes(0) {
        guard write(&line, room, { $0.table(table) }) else { return false }
        next = table.id + 1
      }
      return true
    default: return writeEvents(of: part, poller, &line, room)
    }
  }

  private mutating func writeEvents(
    of part: Parts, _ poller: Poller, _ line: inout JSONWriter, _ room: Int
  ) -> Bool {
    if part == .graph, next == 0 {
      if poller.busEdgesVersion != innerVersion { (inner, innerVersion) = (0, poller.busEdgesVersion) }
      guard write(poller.busEdges, &line, room) else { return false }
      (next, inner) = (1, 0)
    }
    var index = poller.place(of: next)
    while index < poller.events.count {
      let polled = poller.events[index]
      if polled.id != next { inner = 0 }
      next = polled.id
      if includes(polled.id) {
        switch part {
        case .events:
          if polled.version > since, !write(&line, room, { $0.event(polled) }) { return false }
        case .handlers:
          if polled.listVersion != innerVersion { (inner, innerVersion) = (0, polled.listVersion) }
          while inner < polled.handlers.count {
            let handler = polled.handlers[inner]
            if handler.version > since, !write(&line, room, { $0.handler(handler, of: polled.id) }) { return false }
            inner += 1
          }
        default:
          if polled.edgesVersion != innerVersion { (inner, innerVersion) = (0, polled.edgesVersion) }
          guard write(polled.edges, &line, room) else { return false }
        }
      }
      (next, inner) = (polled.id + 1, 0)
      index += 1
    }
    return true
  }

  private mutating func write(
    _ edges: Versioned<GraphEdge>, _ line: inout JSONWriter, _ room: Int
  ) -> Bool {
    while inner < edges.count {
      let (edge, version) = edges[inner]
      if version > since, !write(&line, room, { $0.edge(edge) }) { return false }
      inner += 1
    }
    return true
  }
}

extension JSONWriter.Mark {
  /// Nothing was written since this position.
  func isEmpty(in writer: JSONWriter) -> Bool { writer.mark == self }
}
