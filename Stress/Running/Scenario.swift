/// One way to make trouble, and how to tell whether the library took any harm.
///
/// A scenario is a sequence of short rounds: make an event, let all workers race, wait until nothing moves, verifier, let everything go.
protocol Scenario: Sendable {
  /// What `--scenario` takes.
  static var name: String { get }
  /// What `--list` says, in one line.
  static var summary: String { get }

  init()

  /// One round. What it made is gone when it returns, or the canaries tell.
  func round(_ context: ScenarioContext) async
}

/// All scenarios, in the order in which they run.
let scenarios: [any Scenario.Type] = [
  Churn.self, Once.self, Locking.self, HeldLocks.self, Owners.self, Lanes.self, Nested.self, Flood.self,
  SlowConsumer.self, Ending.self,
  Reuse.self,
  ManyEvents.self, Forwarding.self, Keyed.self, Bus.self, Observing.self, Sequences.self, Meddle.self,
]
