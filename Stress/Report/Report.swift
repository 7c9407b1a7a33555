import Foundation

/// What a run found, for people and for programs.
struct Report {
  let stages: [Stage]
  let options: Options

  init(_ stages: [Stage], _ options: Options) {
    self.stages = stages
    self.options = options
  }

  private var failed: [Stage] { stages.filter { $0.checks.violatedCount > 0 } }
  var isClean: Bool { failed.isEmpty }

  var text: String {
    ([Table(stages).text, remarks, "seed \(options.seed)"] + violations + [verdict]).filter { !$0.isEmpty }.joined(
      separator: "\n")
  }

  /// What the scenarios have to say beside the table.
  private var remarks: String {
    let lines = stages.compactMap { stage in
      stage.remarks.isEmpty
        ? nil
        : "\(stage.name): "
          + stage.remarks.sorted { $0.key < $1.key }.map { "\(Format.count($0.value)) \($0.key)" }.joined(
            separator: ", ")
    }
    return lines.joined(separator: "\n") + (lines.isEmpty ? "" : "\n")
  }

  private var violations: [String] {
    failed.flatMap { stage in
      let messages = stage.checks.firstMessages
      let more = stage.checks.violatedCount - messages.count
      return messages.map { "\(stage.name): \($0)" } + (more > 0 ? ["\(stage.name): and \(more) more"] : [])
    }
  }

  private var verdict: String {
    let faults = Format.count(stages.reduce(0) { $0 + $1.faults.total })
    guard !isClean else {
      let checked = stages.reduce(0) { sum, stage in
        sum + Guarantee.allCases.reduce(0) { $0 + stage.checks.checkedCount($1) }
      }
      return "All held: \(Format.count(checked)) checks, none violated; \(faults) faults injected and survived. "
        + "Again: \(options.commandLine(only: options.scenarioNames))"
    }
    let broken = Guarantee.allCases.filter { guarantee in failed.contains { $0.checks.violatedCount(guarantee) > 0 } }
    return
      "VIOLATED: \(broken.map { "\($0.label) (\($0.title))" }.joined(separator: ", ")); \(faults) faults injected. "
      + "To show it again: \(options.commandLine(only: failed.map(\.name)))"
  }

  // MARK: Files

  static func checkWritable(_ path: String, _ option: String) throws {
    guard FileManager.default.createFile(atPath: path, contents: nil) else {
      throw UsageError("\(option): expected a file that can be written; got \"\(path)\"")
    }
  }

  func writeJSON(to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try Report.write(encoder.encode(JSONReport(stages, options)), to: path, "--json")
  }

  func writePlot(to path: String) throws {
    try Report.write(Data(Plot(stages, options).text.utf8), to: path, "--plot")
  }

  private static func write(_ data: Data, to path: String, _ option: String) throws {
    guard FileManager.default.createFile(atPath: path, contents: data) else {
      throw UsageError("\(option): \"\(path)\" could not be written")
    }
  }
}
