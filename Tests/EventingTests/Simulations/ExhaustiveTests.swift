import Eventing
import EventingTesting
import Testing

/// Tests small programs of two and three tasks in every possible order. ``SimulatedWorld`` checks
/// them.
@Suite(.serialized, .fewAtATime) struct ExhaustiveTests {
  enum Step: Sendable {
    case post, send, lock, remove, add, gate, quiesce
  }

  struct Program: Sendable, CustomTestStringConvertible {
    let tasks: [[Step]]
    var testDescription: String { tasks.map { $0.map { "\($0)" }.joined(separator: " ") }.joined(separator: " | ") }
  }

  static let programs: [Program] = [
    [[.send], [.lock, .lock]], [[.send, .post], [.remove]], [[.post], [.add]], [[.send], [.gate, .gate]],
    [[.send], [.quiesce, .remove]], [[.send], [.post], [.lock]], [[.send], [.post], [.remove]],
  ].map(Program.init)

  @Test(arguments: programs, [SimulatedWorld.HandlerKind.inOrder, .background])
  func noOrderBreaksAGuarantee(program: Program, place: SimulatedWorld.HandlerKind) async throws {
    for holds in [false, true] {
      let explored = try await onThread {
        Result {
          try Simulation.explore(atMost: 20_000) { try await ExhaustiveTests.run(program, place, .init(holds: holds)) }
        }
      }.get()
      #expect(explored.isComplete && explored.runs > 5, "\(explored.runs) orders")
    }
  }

  @Sendable static func run(_ program: Program, _ place: SimulatedWorld.HandlerKind, _ mode: SimulatedWorld.Mode)
    async throws
  {
    let world = SimulatedWorld(mode, seed: 1)
    world.add(.inline)
    world.add(place)
    await withTaskGroup(of: Void.self) { group in
      for (task, steps) in program.tasks.enumerated() {
        group.addTask {
          for (number, step) in steps.enumerated() {
            if number > 0 { await Task.yield() }
            await perform(step, task, world)
          }
        }
      }
    }
    try await world.finish()
  }

  private static func perform(_ step: Step, _ task: Int, _ world: SimulatedWorld) async {
    switch step {
    case .post: world.post(task)
    case .send: await world.send(task)
    case .lock: world.toggleLock(1)
    case .remove: world.remove(1)
    case .add: world.add(.inOrder)
    case .gate: world.toggleGate()
    case .quiesce: await world.quiesce()
    }
  }
}
