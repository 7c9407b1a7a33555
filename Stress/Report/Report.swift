import Foundation

/// The results of a run, for people and for programs.
struct Report {
  let contexts: [ScenarioContext]
  let options: Options

  init(_ contexts: [ScenarioContext], _ options: Options) {
    self.contexts = contexts
    self.options = options
  }

  private var failed: [ScenarioContext] { contexts.filter { $0.checks.violatedCount > 0 } }
  var isClean: Bool { failed.isEmpty }

  var text: String {
    ([Table(contexts).text, remarks, "seed \(options.seed)"] + violations + [verdict]).filter { !$0.isEmpty }.joined(
      separator: "\n")
  }

  /// The figures that only some scenarios have, printed below the table.
  private var remarks: String {
    let lines = contexts.compactMap { context in
      context.remarks.isEmpty
        ? nil
        : "\(context.name): "
          + context.remarks.sorted { $0.key < $1.key }.map { "\(Format.count($0.value)) \($0.key)" }.joined(
            separator: ", ")
    }
    return lines.joined(separator: "\n") + (lines.isEmpty ? "" : "\n")
  }

  private var violations: [String] {
    failed.flatMap { context in
      let messages = context.checks.firstMessages
      let more = context.checks.violatedCount - messages.count
      return messages.map { "\(context.name): \($0)" } + (more > 0 ? ["\(context.name): and \(more) more"] : [])
    }
  }

  private var verdict: String {
    let faults = Format.count(contexts.reduce(0) { $0 + $1.faults.total })
    guard !isClean else {
      let checked = contexts.reduce(0) { sum, context in
        sum + Guarantee.allCases.reduce(0) { $0 + context.checks.checkedCount($1) }
      }
      return "All held: \(Format.count(checked)) checks, none violated; \(faults) faults injected and survived. "
        + "To repeat: \(options.commandLine(only: options.scenarioNames))"
    }
    let broken = Guarantee.allCases.filter { guarantee in failed.contains { $0.checks.violatedCount(guarantee) > 0 } }
    return
      "VIOLATED: \(broken.map { "\($0.label) (\($0.title))" }.joined(separator: ", ")); \(faults) faults injected. "
      + "To repeat: \(options.commandLine(only: failed.map(\.name)))"
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
    try Report.write(encoder.encode(JSONReport(contexts, options)), to: path, "--json")
  }

  func writePlot(to path: String) throws {
    try Report.write(Data(Plot(contexts, options).text.utf8), to: path, "--plot")
  }

  private static func write(_ data: Data, to path: String, _ option: String) throws {
    guard FileManager.default.createFile(atPath: path, contents: data) else {
      throw UsageError("\(option): \"\(path)\" could not be written")
    }
  }
}
