/// `stress replay`: processes real lines with a chain of events and with a plain loop, and compares
/// the results in a table.
enum Replay {
  /// Processes the lines of a file, or of the standard input if the path is `-`.
  ///
  /// - Returns: Whether the results of the chain and of the loop are equal.
  /// - Throws: `UsageError` if the input cannot be read.
  static func run(_ path: String) async throws -> Bool {
    var lines = try Lines(path)
    let activity = ActivityLog("replay")
    let chain = Chain(activity)
    var plain = PlainLoop()
    var number = 0
    let started = Clock.now
    Watchdog.shared.watch([activity], scene: "replay")
    Watchdog.shared.start { state in fail(state, code: 70) }
    activity.begin(.read)
    while let text = try lines.next() {
      number += 1
      let line = LogLine(number: number, text: text)
      activity.begin(.post)
      await chain.take(line)
      plain.take(line)
      activity.begin(.read)
    }
    activity.begin(.quiesce)
    let outcome = await chain.finish()
    activity.begin(.verify)
    let seconds = Double(Clock.now - started) / 1e9
    Print.out(table(outcome, plain.outcome))
    if lines.repaired > 0 { Print.out("\(lines.repaired) lines were not UTF-8; their invalid bytes were replaced") }
    Print.out("\(number) lines in \(Format.fixed(seconds, 2)) s")
    Print.out(
      outcome == plain.outcome ? "All results are equal." : "DIFFERENT: the events and the plain loop disagree")
    return outcome == plain.outcome
  }

  private static func table(_ events: LineCounts, _ plain: LineCounts) -> String {
    func row(_ label: String, _ one: Int, _ other: Int, _ isSame: Bool? = nil) -> [String] {
      [label, "\(one)", "\(other)", (isSame ?? true) && one == other ? "equal" : "DIFFERENT"]
    }
    var rows = [["", "events", "plain loop", "content"]]
    rows.append(row("lines", events.lines, plain.lines))
    rows.append(row("bytes", events.bytes, plain.bytes))
    rows.append(
      row("blank lines, to the errors event", events.blankCount, plain.blankCount, events.blank == plain.blank))
    for kind in LineClass.allCases {
      rows.append(row("first word is: \(kind)", events.perClass[kind.rawValue], plain.perClass[kind.rawValue]))
    }
    rows.append(row("stored in the background", events.storedCount, plain.storedCount, events.stored == plain.stored))
    rows.append(row("shown on the main actor", events.shown, plain.shown))
    rows.append(row("rates computed by an actor", events.rateCount, plain.rateCount, events.rates == plain.rates))
    rows.append(
      row("audited, locked at times", events.auditedCount, plain.auditedCount, events.audited == plain.audited))
    rows.append(
      row("to a temporary handler", events.visitingCount, plain.visitingCount, events.visiting == plain.visiting))
    rows.append(row("to once handlers", events.onceCount, plain.onceCount, events.once == plain.once))
    let widths = (0..<4).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let label = row[0] + String(repeating: " ", count: widths[0] - row[0].count)
      let cells = (1..<4).map { String(repeating: " ", count: widths[$0] - row[$0].count) + row[$0] }
      return ([label] + cells).joined(separator: "  ")
    }.joined(separator: "\n")
  }
}
