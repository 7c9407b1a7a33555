import Eventing

/// Every key of a row is always there.
extension JSONWriter {
  mutating func event(_ polled: PolledEvent) {
    let (event, reading) = (polled.event, polled.reading)
    beginObject()
    pair("id", event.id)
    pair("name", event.name)
    pair("type", polled.type)
    pair("kind", event.kind.rawValue)
    pair("of", polled.parent)
    pair("sequence", reading.sequence)
    pair("waiting", reading.waiting)
    pair("handlers", reading.handlerCount)
    pair("unheard", reading.unheard)
    pair("locked", reading.isLocked)
    pair("finished", reading.isFinished)
    pair("busyAt", polled.busyAt)
    pair("madeAt", event.joinedAt)
    endObject()
  }

  mutating func handler(_ handler: PolledHandler, of event: UInt64) {
    let (reading, info) = (handler.reading, handler.info)
    beginObject()
    pair("id", reading.id)
    pair("event", event)
    pair("name", info.name)
    pair("file", info.fileID)
    pair("line", info.line)
    pair("delivery", info.delivery)
    pair("lane", reading.lane)
    pair("priority", info.priority)
    key("tags")
    beginArray()
    for tag in info.tags.prefix(64) { value(tag) }
    endArray()
    pair("once", info.isOnce)
    pair("locked", reading.isLocked)
    pair("owner", reading.owner.rawValue)
    pair("ownerType", info.ownerType)
    pair("calls", reading.calls)
    pair("ended", reading.ended)
    pair("failed", reading.failed)
    pair("skipped", reading.skipped)
    pair("dropped", reading.dropped)
    pair("held", reading.held)
    pair("waiting", reading.waiting)
    pair("running", reading.running)
    pair("runningAt", handler.runningAt)
    pair("p50Ns", handler.timing?.p50)
    pair("p99Ns", handler.timing?.p99)
    pair("timed", handler.timing?.count ?? 0)
    endObject()
  }

  mutating func edge(_ edge: GraphEdge) {
    beginObject()
    pair("from", edge.from.description)
    pair("to", edge.to.description)
    pair("kind", edge.kind.rawValue)
    pair("count", edge.count)
    pair("label", edge.label)
    endObject()
  }

  mutating func wait(_ wait: PolledWait) {
    beginObject()
    pair("id", wait.id)
    pair("kind", wait.kind.rawValue)
    pair("event", wait.event)
    pair("sequence", wait.sequence)
    pair("handlers", wait.handlers)
    pair("waitsFor", wait.waitsFor)
    pair("by", wait.by)
    pair("sinceAt", wait.since)
    pair("deferred", Array(wait.deferred.prefix(64)))
    endObject()
  }

  mutating func warning(_ warning: PolledWarning) {
    beginObject()
    pair("id", warning.id)
    pair("code", warning.code.rawValue)
    pair("event", warning.event)
    pair("handler", warning.handler)
    pair("sinceAt", warning.since)
    pair("count", warning.count)
    pair("limit", warning.limit)
    pair("text", warning.text)
    endObject()
  }

  mutating func table(_ table: PolledTable) {
    beginObject()
    pair("id", table.id)
    pair("title", table.title)
    key("columns")
    array(table.columns)
    key("actions")
    array(table.actions)
    pair("count", table.count)
    pair("latest", table.latest)
    key("rows")
    beginArray()
    for row in table.rows {
      beginObject()
      pair("id", row.id)
      pair("bad", row.isBad)
      key("cells")
      array(row.cells)
      endObject()
    }
    endArray()
    endObject()
  }

  private mutating func array(_ texts: [String]) {
    beginArray()
    for text in texts { value(text) }
    endArray()
  }

  /// An edge is written as a whole row, any other row as its id.
  mutating func gone(_ rows: [GoneRow]) {
    beginObject()
    for (name, part) in Parts.named {
      let mine = rows.filter { $0.part == part }
      if mine.isEmpty { continue }
      key(name)
      beginArray()
      for row in mine {
        switch row.row {
        case .event(let id), .handler(let id), .wait(let id), .warning(let id), .table(let id): value(id)
        case .edge(let edge): self.edge(edge)
        }
      }
      endArray()
    }
    endObject()
  }
}

extension GoneRow {
  var part: Parts {
    switch row {
    case .event: .events
    case .handler: .handlers
    case .edge: .graph
    case .wait: .waits
    case .warning: .warnings
    case .table: .tables
    }
  }
}
