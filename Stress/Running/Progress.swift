import Foundation

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
