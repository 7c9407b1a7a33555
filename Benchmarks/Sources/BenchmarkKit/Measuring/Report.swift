import Foundation

/// Collects the rows, prints each one as it comes, and writes them all as JSON.
public final class Report {
  public private(set) var rows: [Row] = []
  private let path: String?

  public init(path: String?) { self.path = path }

  func add(_ row: Row) {
    rows.append(row)
    let figures = [
      left(row.workload.rawValue, 4), left(row.parameter, 16), left(row.label, 52), right(text(row.median), 11), left(row.unit, 12),
      "min " + right(text(row.min), 9), "cpu " + right(text(row.cpu), 9), row.status.rawValue,
    ]
    let extra = row.extra.sorted { $0.key < $1.key }.map { "\($0.key)=\(text($0.value))" }
    say((figures + [row.note] + extra).filter { !$0.isEmpty }.joined(separator: " "))
  }

  func say(_ line: String) {
    print(line)
    fflush(nil)
  }

  public func save() throws {
    guard let path else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    try encoder.encode(rows).write(to: URL(fileURLWithPath: path))
  }

  private func text(_ figure: Double?) -> String { figure.map { String(format: $0 < 100 ? "%.2f" : "%.0f", $0) } ?? "-" }
  private func left(_ text: String, _ width: Int) -> String { text.padding(toLength: max(width, text.count), withPad: " ", startingAt: 0) }
  private func right(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(0, width - text.count)) + text }
}
