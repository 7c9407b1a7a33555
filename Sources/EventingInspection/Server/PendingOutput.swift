import Eventing

/// Lines are made one by one, when there is room for a line.
struct PendingOutput {
  /// `nil` for an answer, or for the records of a trace.
  let subscription: UInt64?
  private var content: Content

  private enum Content {
    case line([UInt8])
    case answer(RequestID, RowCursor, isAlone: Bool)
    case update(Update, RowCursor)
    case trace(UInt64, ChromeTraceFile, from: Int)
  }

  struct Update {
    let number: UInt64
    let isWhole: Bool
    let missed: Int
    /// Only the first line has these rows.
    var gone: [GoneRow]
  }

  init(line: [UInt8]) {
    subscription = nil
    content = .line(line)
  }

  /// - Parameter isAlone: The answer has the rows of its one part directly, not in its member
  ///   `parts`.
  init(answering id: RequestID, _ parts: Parts, _ events: Set<UInt64>?, isAlone: Bool) {
    subscription = nil
    content = .answer(
      id, RowCursor(parts, events: events, since: 0, writesEmptyParts: true), isAlone: isAlone)
  }

  init(_ update: Update, of subscription: UInt64, _ cursor: RowCursor) {
    self.subscription = subscription
    content = .update(update, cursor)
  }

  init(_ file: ChromeTraceFile, of trace: UInt64) {
    subscription = nil
    content = .trace(trace, file, from: 0)
  }

  /// Returns whether the line is the last.
  mutating func makeLine(_ poller: Poller, _ limits: ClientLimits) -> (line: [UInt8], isDone: Bool) {
    let room = limits.reply - 64  // for the end of the line
    var line = JSONWriter()
    var isDone = true
    switch content {
    case .line(let bytes): return (bytes, true)
    case .answer(let id, var cursor, let isAlone):
      line.beginAnswer(id)
      line.pair("t", poller.polledAt)
      if isAlone {
        cursor.write(poller, to: &line, room: room)
      } else {
        line.key("parts")
        line.beginObject()
        cursor.write(poller, to: &line, room: room)
        line.endObject()
      }
      isDone = cursor.isAtEnd
      line.pair("more", !isDone)
      content = .answer(id, cursor, isAlone: isAlone)
    case .update(var update, var cursor):
      line.beginObject()
      line.pair("push", "update")
      line.pair("sub", subscription)
      line.pair("n", update.number)
      line.pair("t", poller.polledAt)
      line.pair("whole", update.isWhole)
      line.pair("missed", update.missed)
      line.key("gone")
      line.gone(update.gone)
      update.gone = []
      line.key("parts")
      line.beginObject()
      cursor.write(poller, to: &line, room: room)
      line.endObject()
      isDone = cursor.isAtEnd
      if !isDone { line.pair("more", true) }
      content = .update(update, cursor)
    case .trace(let trace, let file, var place):
      line.beginObject()
      line.pair("push", "trace")
      line.pair("trace", trace)
      line.key("records")
      line.beginArray()
      while place < file.count {
        let mark = line.mark
        file.write(place, to: &line)
        if line.bytes.count > room {
          line.goBack(to: mark)
          break
        }
        place += 1
      }
      line.endArray()
      isDone = place == file.count
      content = .trace(trace, file, from: place)
    }
    line.endObject()
    return (line.line(), isDone)
  }
}
