import Eventing
import Synchronization

/// An answer or an update that is made line by line, when there is room for a line.
struct Job {
  /// The subscription of an update; `nil` for an answer.
  let subscription: UInt64?
  private var content: Content

  private enum Content {
    case line([UInt8])
    case answer(RequestID, RowCursor, isAlone: Bool)
    case update(Update, RowCursor)
    case trace(UInt64, ChromeTraceFile, from: Int)
  }

  /// The head of an update, which all of its lines repeat.
  struct Update {
    let number: UInt64
    let isWhole: Bool
    let missed: Int
    /// The rows that went; only the first line has them.
    var gone: [GoneRow]
  }

  init(line: [UInt8]) {
    subscription = nil
    content = .line(line)
  }

  /// - Parameter isAlone: Whether the one part stands in the answer itself.
  init(answering id: RequestID, _ parts: Parts, _ events: Set<UInt64>?, isAlone: Bool) {
    subscription = nil
    content = .answer(
      id, RowCursor(parts, events: events, since: 0, writesEmptyParts: true), isAlone: isAlone)
  }

  init(_ update: Update, of subscription: UInt64, _ cursor: RowCursor) {
    self.subscription = subscription
    content = .update(update, cursor)
  }

  /// Sends the records of a trace that has ended.
  init(_ file: ChromeTraceFile, of trace: UInt64) {
    subscription = nil
    content = .trace(trace, file, from: 0)
  }

  /// Makes the next line, and returns whether it is the last.
  mutating func next(_ poller: Poller, _ limits: Limits) -> (line: [UInt8], isDone: Bool) {
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

/// The events and parts of which a client is told again and again.
struct Subscription {
  let id: UInt64
  let interval: UInt64
  let parts: Parts
  let events: Set<UInt64>?
  /// When the next update is due.
  var nextAt: UInt64
  private var number: UInt64 = 0
  private var missed = 0
  /// The tick that the client has; `nil` if the next update must be whole.
  private var known: UInt64?

  private static let last = Atomic<UInt64>(0)
  static func nextID() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }

  /// The largest number of rows that a client is told to forget at once.
  private static let mostGone = 1_024

  init(id: UInt64, interval: UInt64, parts: Parts, events: Set<UInt64>?, nextAt: UInt64) {
    (self.id, self.interval, self.parts, self.events, self.nextAt) = (id, interval, parts, events, nextAt)
  }

  /// Returns the update that is due; `nil` if the one before still waits.
  mutating func update(at now: UInt64, isWaiting: Bool, _ poller: Poller) -> Job? {
    nextAt = now + interval
    guard !isWaiting else {
      missed += 1
      known = nil
      return nil
    }
    var gone: [GoneRow] = []
    if let tick = known {
      gone = poller.gone.filter { row in
        row.version > tick && parts.contains(row.part) && (events?.contains(row.event) ?? true)
      }
      if tick < poller.forgottenTick || gone.count > Self.mostGone { known = nil }
    }
    let isWhole = known == nil
    number += 1
    let update = Job.Update(number: number, isWhole: isWhole, missed: missed, gone: isWhole ? [] : gone)
    let cursor = RowCursor(parts, events: events, since: known ?? 0, writesEmptyParts: isWhole)
    (known, missed) = (poller.tick, 0)
    return Job(update, of: id, cursor)
  }
}

/// The id that a client gave a request, to be repeated in the answer.
enum RequestID {
  case number(Int)
  case text(String)

  init?(_ json: JSONValue?) {
    switch json {
    case .integer(let number)?: self = .number(number)
    case .text(let text)? where text.utf8.count <= 64: self = .text(text)
    default: return nil
    }
  }
}

extension JSONWriter {
  /// The bytes as a line.
  consuming func line() -> [UInt8] {
    endLine()
    return bytes
  }

  mutating func pair(_ key: StaticString, _ id: RequestID?) {
    self.key(key)
    switch id {
    case .number(let number)?: value(number)
    case .text(let text)?: value(text)
    case nil: null()
    }
  }

  mutating func beginAnswer(_ id: RequestID) {
    beginObject()
    pair("id", id)
    pair("ok", true)
  }

  static func error(_ code: String, _ message: String, _ id: RequestID?, supported: Bool = false) -> [UInt8] {
    var line = JSONWriter()
    line.beginObject()
    line.pair("id", id)
    line.pair("ok", false)
    line.error(code, message, supported: supported)
    line.endObject()
    return line.line()
  }

  mutating func error(_ code: String, _ message: String, supported: Bool = false) {
    key("error")
    beginObject()
    pair("code", code)
    pair("message", message)
    if supported { pair("supported", [1]) }
    endObject()
  }
}
