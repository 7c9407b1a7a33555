/// The state that an app has sent: the newest version of each row, as the app wrote it.
public struct AppModel: Sendable {
  /// The rows of each part of the state, such as `events` and `graph`, by their ids. An edge of the
  /// graph has no id: its key is its two ends, its kind and its label.
  public private(set) var parts: [String: [RowKey: JSONSlice]] = [:]
  /// The number of occurrences of each event in each of the last 120 seconds.
  public private(set) var history = History()
  /// The time of the last update, in nanoseconds of the app's clock.
  public private(set) var time = 0
  /// The number, `n` in the protocol, of the last update that was applied, wholly or in part: an
  /// update has one line or more.
  private var number: Int?
  /// The events of a whole update whose lines may not all have come, and so the only ones whose
  /// history is kept when the next update begins; `nil` if the last update was not whole.
  private var named: Set<Int>?

  public init() {}

  /// The key that identifies a row within its part of the state: see ``parts``.
  public enum RowKey: Hashable, Sendable {
    case id(Int)
    case edge([String])

    init?(_ row: JSONSlice, in part: String) {
      if part == "graph" {
        guard let members = row.members else { return nil }
        self = .edge(["from", "to", "kind", "label"].map { members[$0]?.string ?? "" })
      } else {
        guard let id = row.int ?? row.members?["id"]?.int else { return nil }
        self = .id(id)
      }
    }
  }

  /// Applies one line of an update: removes and replaces rows, and adds to the history.
  public mutating func apply(_ update: [String: JSONSlice]) {
    let next = update["n"]?.int
    let isWhole = update["whole"]?.bool == true
    if next != number {
      // The lines of a whole update name all rows that there are. Only then it is known which
      // events have gone, and their history goes with their rows.
      if let named { history.keep(only: named) }
      named = isWhole ? [] : nil
      if isWhole { parts = [:] }
    }
    number = next
    time = max(0, update["t"]?.int ?? time)
    history.advance(to: time)
    // `gone` comes before `parts`: a row that went and came back since the last update is in both.
    for (part, rows) in update["gone"]?.members ?? [:] {
      for row in rows.elements ?? [] {
        guard let key = RowKey(row, in: part) else { continue }
        parts[part]?[key] = nil
        if part == "events", case .id(let id) = key { history.remove(id) }
      }
    }
    for (part, rows) in update["parts"]?.members ?? [:] {
      for row in rows.elements ?? [] {
        guard let key = RowKey(row, in: part) else { continue }
        parts[part, default: [:]][key] = row.copied
        guard part == "events", case .id(let id) = key, let sequence = row.members?["sequence"]?.int else { continue }
        history.add(sequence, of: id)
        named?.insert(id)
      }
    }
  }

  /// The rows of a part of the state, in no order.
  public func rows(_ part: String) -> [JSONSlice] { parts[part].map { Array($0.values) } ?? [] }

  /// The whole state as one update of the protocol, for a reader that has seen nothing.
  ///
  /// Its number `n` is 0; the updates of the app begin at 1. An app update may have several lines.
  /// `upTo` is the number of the last app update of which this state contains at least one line;
  /// null before the first one. If further lines of that app update follow, their `n` equals
  /// `upTo`. From the equal numbers the reader knows that it must add these lines to this state. A
  /// whole update with another number would replace the state.
  public var asUpdate: String {
    let parts = parts.map { part, rows in
      let texts = rows.values.map { String(decoding: $0.bytes, as: UTF8.self) }
      return "\(part.asJSON):[\(texts.joined(separator: ","))]"
    }
    return
      #"{"push":"update","n":0,"upTo":\#(number.map(String.init) ?? "null"),"t":\#(time),"whole":true,"missed":0,"parts":{\#(parts.joined(separator: ","))},"gone":{}}"#
  }
}
