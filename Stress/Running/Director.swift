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

/// Shows the progress of the run: on one line of a terminal, otherwise once a second on the
/// standard error.
// Safe: `lock` guards `context` and `isOver`.
final class Progress: @unchecked Sendable {
  private let contexts: [ScenarioContext]
  private let lock = NSLock()
  /// Guarded by: lock.
  private var context: ScenarioContext
  /// Guarded by: lock.
  private var isOver = false

  init(_ contexts: [ScenarioContext]) {
    self.contexts = contexts
    context = contexts[0]
  }

  var current: ScenarioContext { lock.withLock { context } }

  func move(to context: ScenarioContext) { lock.withLock { self.context = context } }

  func stop() {
    lock.withLock { isOver = true }
    if Print.isTerminal { Print.replacing("") }
  }

  func start() {
    let started = Clock.now
    let pause = Print.isTerminal ? 0.1 : 1
    RawThread.start("progress") { [self] in
      while true {
        Thread.sleep(forTimeInterval: pause)
        lock.withLock { if !isOver { show(Double(Clock.now - started) / 1e9) } }
        if lock.withLock({ isOver }) { return }
      }
    }
  }

  private func show(_ seconds: Double) {
    let number = (contexts.firstIndex { $0 === context } ?? 0) + 1
    let steps = contexts.reduce(0) { $0 + $1.workers.reduce(0) { $0 + $1.activityLog.count } }
    let violated = contexts.reduce(0) { $0 + $1.checks.violatedCount }
    let line =
      "\(Format.fixed(seconds, Print.isTerminal ? 1 : 0)) s  \(number)/\(contexts.count) \(context.name), round \(context.rounds.value)  "
      + "\(Format.count(steps)) operations  \(violated == 0 ? "no violations" : "\(violated) violations")"
    if Print.isTerminal { Print.replacing(line) } else { Print.error(line) }
  }
}
