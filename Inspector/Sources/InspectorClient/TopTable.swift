import Foundation

/// The table of `--top`, as text.
public enum TopTable {
  /// Returns the lines of the table for a model.
  ///
  /// - Parameters:
  ///   - model: The state of the app.
  ///   - title: The first line.
  ///   - width: The columns of the terminal.
  ///   - height: The lines of the terminal.
  /// - Returns: At most `height` lines of at most `width` columns. Control characters in names are
  ///   replaced.
  public static func lines(_ model: AppModel, title: String, width: Int, height: Int) -> [String] {
    var lines = [title]
    let warnings = model.rows("warnings").compactMap(\.members).sorted {
      ($0["sinceAt"]?.int ?? 0, $0["id"]?.int ?? 0) < ($1["sinceAt"]?.int ?? 0, $1["id"]?.int ?? 0)
    }
    for warning in warnings.prefix(max(1, height / 3)) {
      lines.append("! \(warning["code"]?.string ?? "?"): \(warning["text"]?.string ?? "")")
    }
    lines.append(row("EVENT", "PER S", "LAST 2 MIN", "WAITING", "HANDLERS", "SEQUENCE", "", width))
    let warned = Set(warnings.compactMap { $0["event"]?.int })
    let events = model.rows("events").compactMap(\.members).map { event in
      let id = event["id"]?.int ?? 0
      return (event: event, id: id, counts: model.history.counts(of: id))
    }
    func name(_ event: [String: JSONSlice]) -> String {
      event["name"]?.string ?? event["type"]?.string ?? "?"
    }
    func fullName(_ event: [String: JSONSlice]) -> String {
      let owner = events.first { $0.id == event["of"]?.int }?.event
      return name(event) + (owner.map { " of \(name($0))" } ?? "")
    }
    func rate(_ counts: [Int]) -> Int { counts.count > 1 ? counts[counts.count - 2] : 0 }
    let sorted = events.sorted {
      let (left, right) = (warned.contains($0.id), warned.contains($1.id))
      if left != right { return left }
      let (more, less) = (rate($0.counts), rate($1.counts))
      return more != less ? more > less : $0.id < $1.id
    }
    for (event, _, counts) in sorted {
      let marks = (event["locked"]?.bool == true ? "locked " : "") + (event["finished"]?.bool == true ? "finished" : "")
      lines.append(
        row(
          fullName(event), "\(rate(counts))", spark(counts), "\(event["waiting"]?.int ?? 0)",
          "\(event["handlers"]?.int ?? 0)", "\(event["sequence"]?.int ?? 0)", marks, width))
    }
    if sorted.isEmpty { lines.append("no events") }
    return lines.prefix(max(1, height)).map { String(plain($0).prefix(width)) }
  }

  private static func row(
    _ name: String, _ rate: String, _ spark: String, _ waiting: String, _ handlers: String, _ sequence: String,
    _ marks: String, _ width: Int
  ) -> String {
    func left(_ text: String, _ width: Int) -> String {
      text.count > width
        ? text.prefix(width - 1) + "…" : text + String(repeating: " ", count: width - text.count)
    }
    func right(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    let fixed = 8 + 26 + 9 + 10 + 13
    let isWide = width >= fixed + 24
    let room = isWide ? min(48, width - fixed - 10) : max(12, width - 17)
    guard isWide else { return left(plain(name), room) + right(rate, 8) + right(waiting, 9) }
    return left(plain(name), room) + right(rate, 8) + "  " + left(spark, 24) + right(waiting, 9)
      + right(handlers, 10) + right(sequence, 13) + " " + marks
  }

  /// Returns a bar chart of 120 seconds: 24 characters, each for five seconds.
  static func spark(_ counts: [Int]) -> String {
    let sums = stride(from: 0, to: counts.count, by: 5).map { counts[$0..<min($0 + 5, counts.count)].reduce(0, +) }
    let most = sums.max() ?? 0
    guard most > 0 else { return String(repeating: "·", count: sums.count) }
    let bars = Array("▁▂▃▄▅▆▇█")
    return String(sums.map { $0 == 0 ? "·" : bars[min(7, $0 * 8 / (most + 1))] })
  }

  /// Replaces characters that control a terminal, have no width, or change the direction of text.
  static func plain(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: result += "\u{fffd}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
