import Eventing
import Foundation

/// In the object form of Chrome's "Trace Event Format", which Perfetto and chrome://tracing open.
struct ChromeTraceFile {
  private enum Entry {
    case occurrence(Int), call(Int), noCall(Int)
    /// An arrow from an occurrence to a call that handles it.
    case deliveryStart(call: Int, occurrence: Int), deliveryEnd(call: Int)
    /// An arrow from a call to an occurrence that it sent.
    case causeStart(occurrence: Int, call: Int), causeEnd(occurrence: Int)
  }

  private let spans: TraceSpans
  private let rows: TraceRows
  private let events: [EventIdentity]
  private let names: [UInt64: String]
  private let entries: [(time: UInt64, rank: Int, entry: Entry)]
  private let process = Int(ProcessInfo.processInfo.processIdentifier)

  init(_ spans: TraceSpans, _ events: [EventIdentity]) {
    self.spans = spans
    self.events = events
    rows = TraceRows(spans)
    names = Dictionary(events.map { ($0.number, "\($0)") }) { first, _ in first }
    var entries: [(time: UInt64, rank: Int, entry: Entry)] = []
    for (place, occurrence) in spans.occurrences.enumerated() {
      entries.append((occurrence.begin, 0, .occurrence(place)))
      guard let call = spans.callPlaces[occurrence.cause] else { continue }
      entries.append((min(occurrence.postedAt, occurrence.begin), 2, .causeStart(occurrence: place, call: call)))
      entries.append((occurrence.begin, 3, .causeEnd(occurrence: place)))
    }
    for (place, call) in spans.calls.enumerated() {
      entries.append((call.begin, 1, .call(place)))
      let id = TraceSpans.OccurrenceID(event: call.event, sequence: call.sequence)
      guard let occurrence = spans.occurrencePlaces[id], spans.occurrences[occurrence].begin <= call.begin else {
        continue
      }
      entries.append((spans.occurrences[occurrence].begin, 2, .deliveryStart(call: place, occurrence: occurrence)))
      entries.append((call.begin, 3, .deliveryEnd(call: place)))
    }
    for (place, noCall) in spans.noCalls.enumerated() { entries.append((noCall.time, 1, .noCall(place))) }
    self.entries = entries.sorted { ($0.time, $0.rank) < ($1.time, $1.rank) }
  }

  var bytes: [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.pair("displayTimeUnit", "ns")
    json.key("otherData")
    json.beginObject()
    json.pair("protocol", 1)
    json.pair("overwritten", spans.overwritten)
    json.key("events")
    json.beginArray()
    for event in events {
      json.beginObject()
      json.pair("id", event.number)
      json.pair("name", event.name)
      json.pair("type", "\(event.payloadType)")
      json.endObject()
    }
    json.endArray()
    json.endObject()
    json.key("traceEvents")
    json.beginArray()
    for place in 0..<count { write(place, to: &json) }
    json.endArray()
    json.endObject()
    json.endLine()
    return json.bytes
  }

  var count: Int { rows.names.count + entries.count }

  /// By the index among all records: first the names of the rows, then those with a time, in order.
  func write(_ place: Int, to json: inout JSONWriter) {
    guard place < rows.names.count else { return write(entries[place - rows.names.count].entry, &json) }
    begin(&json, "M", "__metadata", "thread_name", row: place + 1, at: 0)
    json.key("args")
    json.beginObject()
    json.pair("name", rows.names[place])
    json.endObject()
    json.endObject()
  }

  private func write(_ entry: Entry, _ json: inout JSONWriter) {
    switch entry {
    case .occurrence(let place): write(spans.occurrences[place], &json)
    case .call(let place): write(spans.calls[place], row: rows.calls[place], &json)
    case .noCall(let place): write(spans.noCalls[place], &json)
    case .deliveryStart(let call, let occurrence):
      let occurrence = spans.occurrences[occurrence]
      arrow(&json, "s", "delivery", "d\(spans.calls[call].number)", rows.thread(occurrence.thread), occurrence.begin)
    case .deliveryEnd(let place):
      let call = spans.calls[place]
      arrow(&json, "f", "delivery", "d\(call.number)", rows.calls[place], call.begin)
    case .causeStart(let place, let call):
      let occurrence = spans.occurrences[place]
      let posted = min(occurrence.postedAt, occurrence.begin)
      arrow(&json, "s", "cause", "c\(occurrence.event).\(occurrence.sequence)", rows.calls[call], posted)
    case .causeEnd(let place):
      let occurrence = spans.occurrences[place]
      let id = "c\(occurrence.event).\(occurrence.sequence)"
      arrow(&json, "f", "cause", id, rows.thread(occurrence.thread), occurrence.begin)
    }
  }

  private func write(_ occurrence: TraceSpans.Occurrence, _ json: inout JSONWriter) {
    let row = rows.thread(occurrence.thread)
    begin(&json, "X", "occurrence", name(of: occurrence.event), row: row, at: occurrence.begin)
    json.key("dur")
    json.microseconds(occurrence.end - occurrence.begin)
    json.key("args")
    json.beginObject()
    json.pair("event", occurrence.event)
    json.pair("sequence", occurrence.sequence)
    json.key("postedTs")
    json.microseconds(occurrence.postedAt)
    json.pair("cause", spans.callPlaces[occurrence.cause] == nil ? nil : occurrence.cause)
    if let payload = occurrence.payload { json.pair("payload", payload) }
    json.endObject()
    json.endObject()
  }

  private func write(_ call: TraceSpans.Call, row: Int, _ json: inout JSONWriter) {
    begin(&json, "X", "call", call.name, row: row, at: call.begin)
    json.key("dur")
    json.microseconds(call.end - call.begin)
    json.key("args")
    json.beginObject()
    json.pair("call", call.number)
    json.pair("handler", call.handler)
    json.pair("event", call.event)
    json.pair("sequence", call.sequence)
    json.pair("outcome", call.outcome.rawValue)
    json.endObject()
    json.endObject()
  }

  private func write(_ noCall: TraceSpans.NoCall, _ json: inout JSONWriter) {
    begin(&json, "i", noCall.reason, noCall.name, row: rows.thread(noCall.thread), at: noCall.time)
    json.pair("s", "t")
    json.key("args")
    json.beginObject()
    json.pair("handler", noCall.handler)
    json.pair("event", noCall.event)
    json.pair("sequence", noCall.sequence)
    json.endObject()
    json.endObject()
  }

  private func arrow(
    _ json: inout JSONWriter, _ phase: String, _ category: String, _ id: String, _ row: Int, _ time: UInt64
  ) {
    begin(&json, phase, category, category, row: row, at: time)
    json.pair("id", id)
    if phase == "f" { json.pair("bp", "e") }
    json.endObject()
  }

  private func begin(
    _ json: inout JSONWriter, _ phase: String, _ category: String, _ name: String, row: Int, at time: UInt64
  ) {
    json.beginObject()
    json.pair("ph", phase)
    json.pair("cat", category)
    json.pair("name", name)
    json.pair("pid", process)
    json.pair("tid", row)
    json.key("ts")
    json.microseconds(time)
  }

  private func name(of event: UInt64) -> String { names[event] ?? "event \(event)" }
}
