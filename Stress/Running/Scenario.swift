/// A test in which workers race with operations on events, and which verifies the results.
///
/// A scenario runs in short rounds. A round makes events, lets all workers race, waits until the
/// events are quiet, verifies the results, and releases everything.
protocol Scenario: Sendable {
  /// The name that `--scenario` takes.
  static var name: String { get }
  /// The description that `--list` prints, in one line.
  static var summary: String { get }

  init()

  /// Runs one round. Soon after the return, all objects of the round must be deallocated. A
  /// ``Canary`` in each handler, payload and owner shows whether the object lives, and a
  /// ``WeakLook`` shows it for an event.
  func round(_ context: ScenarioContext) async
}

/// All scenarios, in the order in which they run.
let scenarios: [any Scenario.Type] = [
  Churn.self, Once.self, Locking.self, HeldLocks.self, Owners.self, Lanes.self, Nested.self, Flood.self,
  SlowConsumer.self, Ending.self,
  Reuse.self,
  ManyEvents.self, Forwarding.self, Keyed.self, Bus.self, Observing.self, Combining.self, BusWide.self, Sequences.self,
  Retrying.self, Batching.self,
  Pacing.self, OrderByKey.self, SharedLane.self, Remote.self, Meddle.self,
]
