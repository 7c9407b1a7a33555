/// The table of a run: a column for each scenario, a row for each figure.
struct Table {
  private let contexts: [ScenarioContext]

  init(_ contexts: [ScenarioContext]) { self.contexts = contexts }

  var text: String {
    let all = rows
    let labelWidth = all.map(\.label.count).max() ?? 0
    let widths = contexts.indices.map { column in all.map { $0.cells.isEmpty ? 0 : $0.cells[column].count }.max() ?? 0 }
    let lines = all.map { row in
      let label = row.label + String(repeating: " ", count: labelWidth - row.label.count)
      let cells = zip(row.cells, widths).map { String(repeating: " ", count: $1 - $0.count) + $0 }
      return ([label] + cells).joined(separator: "  ")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private struct Row {
    let label: String
    let cells: [String]
  }

  private func row(_ label: String, _ cell: (ScenarioContext) -> String) -> Row {
    Row(label: label, cells: contexts.map(cell))
  }
  private func row(count label: String, _ number: (ScenarioContext) -> Int) -> Row {
    row(label) { Format.count(number($0)) }
  }
  private func heading(_ label: String) -> Row { Row(label: label, cells: []) }

  private var rows: [Row] {
    [row("scenario") { $0.name }, row(count: "rounds") { $0.rounds.value }, heading("operations")]
      + operationRows
      + [
        row(count: "  per second") { Int(Double($0.operations) / max($0.seconds, 0.001)) },
        row(count: "  overlapping") { $0.overlaps },
        heading("deliveries"),
        row(count: "  required") { $0.must }, row(count: "  actual") { $0.did },
        row(count: "  possible") { $0.may },
        heading("faults"),
      ]
      + Fault.allCases.map { kind in row(count: "  \(kind)") { $0.faults.count(of: kind) } }
      + [heading("checks")]
      + checkRows
      + [
        row(count: "  VIOLATED") { $0.checks.violatedCount },
        row(count: "canaries alive") { _ in Canary.alive },
        row("memory, peak MB") { Format.megabytes(Double($0.memory.peak)) },
        row("  slope, MB/s") { Format.megabytes($0.memory.slope) },
      ]
      + latencyRows
  }

  private var operationRows: [Row] {
    Activity.counted.compactMap { activity in
      contexts.contains { $0.count(activity) > 0 } ? row(count: "  \(activity)") { $0.count(activity) } : nil
    }
  }

  private var checkRows: [Row] {
    Guarantee.allCases.compactMap { guarantee in
      guard contexts.contains(where: { $0.checks.checkedCount(guarantee) > 0 }) else { return nil }
      return row("  \(guarantee.label) \(guarantee.title)") { context in
        let checked = Format.count(context.checks.checkedCount(guarantee))
        let violated = context.checks.violatedCount(guarantee)
        return violated > 0 ? "\(violated)!/\(checked)" : checked == "0" ? "-" : checked
      }
    }
  }

  private var latencyRows: [Row] {
    let kinds: [(String, (ScenarioContext) -> Histogram)] = [
      ("post", { $0.posting }), ("send", { $0.sending }), ("isolated call", { $0.looking }),
    ]
    return kinds.flatMap { name, histogram -> [Row] in
      let merged = contexts.map(histogram)
      guard merged.contains(where: { $0.count > 0 }) else { return [] }
      return [
        Row(label: "\(name), p50", cells: merged.map { Format.time($0.quantile(0.5)) }),
        Row(label: "  p99", cells: merged.map { Format.time($0.quantile(0.99)) }),
        Row(label: "  max", cells: merged.map { Format.time($0.count > 0 ? $0.max : nil) }),
      ]
    }
  }
}

extension Activity {
  /// The activities that are operations on an event.
  static let counted: [Activity] = [.add, .remove, .lock, .post, .submit, .send, .look, .quiesce]
}

extension ScenarioContext {
  func count(_ activity: Activity) -> Int {
    workers.reduce(activity == .look ? looks : 0) { $0 + $1.counts[Int(activity.rawValue)] }
  }

  var operations: Int { Activity.counted.reduce(0) { $0 + count($1) } }

  var posting: Histogram { workers.reduce(into: Histogram()) { $0.add($1.posting) } }
  var sending: Histogram { workers.reduce(into: Histogram()) { $0.add($1.sending) } }
  var looking: Histogram { workers.reduce(into: lookLatency) { $0.add($1.looking) } }
}
