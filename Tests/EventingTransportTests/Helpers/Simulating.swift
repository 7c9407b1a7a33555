import Eventing
import EventingTesting

/// A condition that a simulated program did not meet.
struct Unmet: Error, CustomStringConvertible {
  let description: String
}

/// Throws unless a condition holds. The error ends the simulation, which reports it together with
/// the order of the simulation's steps.
func require(_ condition: Bool, _ text: @autoclosure () -> String, line: Int = #line) throws {
  if !condition { throw Unmet(description: "line \(line): \(text())") }
}

/// Runs a program once for each seed, which decides the order in which its tasks run. The
/// simulation's clock moves only when nothing else can run. So a sleep ends after all work that is
/// due earlier.
func simulate(_ seeds: ClosedRange<UInt64> = 1...60, _ body: @escaping @Sendable (ManualClock) async throws -> Void)
  throws
{
  try Simulation.run(seeds: seeds) { try await body(Simulation.clock) }
}

/// Values that handlers note, in the order in which they came.
final class Notes<Value: Sendable>: Sendable {
  private let all = Guarded<[Value]>([])

  var values: [Value] { all.withLock { values in values.map { $0 } } }
  var count: Int { values.count }
  func note(_ value: Value) { all.withLock { $0.append(value) } }
}

struct Refused: Error, Sendable {}
