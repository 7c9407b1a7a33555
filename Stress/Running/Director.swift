import EventingInspection
import Foundation
import Synchronization

/// Runs the scenarios one after another, shows the progress, and reports the results.
struct Director: Sendable {
  let options: Options

  init(_ options: Options) { self.options = options }

  /// Runs the scenarios and writes the reports.
  ///
  /// - Returns: Whether every check held.
  /// - Throws: `UsageError` if a file for a report cannot be written.
  func run() async throws -> Bool {
    if let path = options.jsonPath { try Report.checkWritable(path, "--json") }
    if let path = options.plotPath { try Report.checkWritable(path, "--plot") }
    if let path = options.tracePath { try Report.checkWritable(path, "--trace") }
    MainQueue.mark()
    let chosen = scenarios.filter { options.scenarioNames.isEmpty || options.scenarioNames.contains($0.name) }
    let contexts = chosen.map { ScenarioContext($0.name, options) }
    let progress = Progress(contexts)
    Watchdog.shared.start { state in
      Print.error("\n\(state)\nto repeat: \(options.commandLine(only: [progress.current.name]))")
      exit(70)
    }
    progress.start()
    for (scenario, context) in zip(chosen, contexts) {
      progress.move(to: context)
      await context.run(scenario.init(), seconds: options.seconds / Double(chosen.count))
    }
    progress.stop()
    let report = Report(contexts, options)
    Print.out(report.text)
    if let path = options.jsonPath { try report.writeJSON(to: path) }
    if let path = options.plotPath { try report.writePlot(to: path) }
    if let path = options.tracePath { try contexts.last?.trace?.write(to: path) }
    return report.isClean
  }
}
