import Eventing
import EventingInspection
import Foundation
import Testing

/// A trace as a reader of its format sees it.
struct TraceJSON {
  struct Record {
    let phase: String
    let category: String
    let name: String
    let row: Int
    /// The time at which a record begins, in nanoseconds.
    let begin: Int
    let duration: Int
    let id: String?
    let args: [String: any Sendable]

    var end: Int { begin + duration }
    func number(_ key: String) -> Int? { args[key] as? Int }
  }

  let records: [Record]
  let overwritten: Int
  let events: [[String: any Sendable]]

  init(_ trace: EventTrace) throws {
    let file = try #require(try JSONSerialization.jsonObject(with: trace.json()) as? [String: any Sendable])
    let other = try #require(file["otherData"] as? [String: any Sendable])
    overwritten = try #require(other["overwritten"] as? Int)
    events = try #require(other["events"] as? [[String: any Sendable]])
    records = try #require(file["traceEvents"] as? [[String: any Sendable]]).map { record in
      Record(
        phase: try #require(record["ph"] as? String), category: try #require(record["cat"] as? String),
        name: try #require(record["name"] as? String), row: try #require(record["tid"] as? Int),
        begin: TraceJSON.nanoseconds(record["ts"]), duration: TraceJSON.nanoseconds(record["dur"]),
        id: record["id"] as? String, args: record["args"] as? [String: any Sendable] ?? [:])
    }
  }

  private static func nanoseconds(_ microseconds: (any Sendable)?) -> Int {
    Int(((microseconds as? Double) ?? 0) * 1_000 + 0.5)
  }

  func records(_ category: String) -> [Record] { records.filter { $0.category == category && "Xi".contains($0.phase) } }
  var occurrences: [Record] { records("occurrence") }
  var calls: [Record] { records("call") }

  /// The faults of the format: rows without a name, spans that overlap without nesting, arrows that
  /// lack an end or have an end outside of all spans, and records that are out of order.
  var faults: [String] {
    var faults: [String] = []
    let named = Set(records.filter { $0.phase == "M" }.map(\.row))
    let spans = records.filter { $0.phase == "X" }
    for record in records where !named.contains(record.row) { faults.append("row \(record.row) has no name") }
    let times = records.filter { $0.phase != "M" }.map(\.begin)
    if times != times.sorted() { faults.append("records are out of order") }
    var covers: [Int: Cover] = [:]
    for (row, spans) in Dictionary(grouping: spans, by: \.row) {
      let spans = spans.sorted { ($0.begin, -$0.end) < ($1.begin, -$1.end) }
      covers[row] = Cover(spans)
      var open: [Record] = []
      for span in spans {
        while let last = open.last, last.end <= span.begin { open.removeLast() }
        if let last = open.last, span.end > last.end {
          faults.append("row \(row): \(span.name) ends after \(last.name)")
        }
        open.append(span)
      }
    }
    let arrows = records.filter { $0.phase == "s" || $0.phase == "f" }
    for (id, ends) in Dictionary(grouping: arrows, by: { "\($0.category) \($0.id ?? "")" }) {
      guard ends.count == 2, ends[0].phase == "s", ends[1].phase == "f" else {
        faults.append("the arrow \(id) has \(ends.count) ends")
        continue
      }
      for end in ends where covers[end.row]?.contains(end.begin) != true {
        faults.append("the end of the arrow \(id) lies in no span")
      }
    }
    return faults
  }

  /// The times that the spans of one row cover. An arrow leads from an occurrence to a call, or
  /// from a call to an occurrence. `faults` asks for both ends of each arrow whether a span covers
  /// them. A trace has thousands of arrows, so `contains` searches in O(log *n*).
  private struct Cover {
    private let begins: [Int]
    /// The element at index *i* is the latest end of the spans 0 to *i*. The spans are sorted by
    /// the time at which they begin.
    private let latestEnds: [Int]

    init(_ sorted: [Record]) {
      begins = sorted.map(\.begin)
      var latest = Int.min
      latestEnds = sorted.map { span in
        latest = max(latest, span.end)
        return latest
      }
    }

    func contains(_ time: Int) -> Bool {
      var (low, high) = (0, begins.count)
      while low < high {
        let middle = (low + high) / 2
        if begins[middle] <= time { low = middle + 1 } else { high = middle }
      }
      return low > 0 && time <= latestEnds[low - 1]
    }
  }
}
