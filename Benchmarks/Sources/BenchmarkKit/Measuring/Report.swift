import Foundation

/// Collects rows, prints each one when it is added, and writes all of them as JSON.
package final class Report {
  package private(set) var rows: [Row] = []
  private var workloads: [Workload] = []
  private var remarks: [String] = []
  private let path: String?

  package init(path: String?) { self.path = path }

  func begin(_ workload: Workload) {
    workloads.append(workload)
    say("## \(workload.name) (\(workload.rawValue)): \(workload.summary)")
  }

  func add(_ row: Row) {
    rows.append(row)
    let figures = [
      left(row.workload.rawValue, 4), left(row.parameter, 22), left(row.label, 58), right(text(row.median), 11),
      left(row.unit, 12),
      "min " + right(text(row.min), 9), "cpu " + right(text(row.cpu), 9), row.status.rawValue,
    ]
    let extra = row.extra.sorted { $0.key < $1.key }.map { "\($0.key)=\(text($0.value))" }
    say((figures + [row.note] + extra).filter { !$0.isEmpty }.joined(separator: " "))
  }

  /// Prints a remark for the readers of the tables, and adds it to the JSON.
  func remark(_ line: String) {
    remarks.append(line)
    say("# \(line)")
  }

  func say(_ line: String) {
    print(line)
    fflush(nil)
  }

  /// Writes the JSON file, if a path was given.
  package func save() throws {
    guard let path else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    try encoder.encode(Document(workloads: workloads.map(Document.Description.init), remarks: remarks, rows: rows))
      .write(
        to: URL(fileURLWithPath: path))
  }

  /// The content of the JSON file.
  private struct Document: Encodable {
    /// A workload, described in words.
    struct Description: Encodable {
      var id: String
      var name: String
      var budget: [String]
      var summary: String

      init(_ workload: Workload) {
        id = workload.rawValue
        name = workload.name
        budget = workload.budget
        summary = workload.summary
      }
    }
    var workloads: [Description]
    var remarks: [String]
    var rows: [Row]
  }

  private func text(_ figure: Double?) -> String {
    figure.map { String(format: $0 < 100 ? "%.2f" : "%.0f", $0) } ?? "-"
  }
  private func left(_ text: String, _ width: Int) -> String {
    text.padding(toLength: max(width, text.count), withPad: " ", startingAt: 0)
  }
  private func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}
