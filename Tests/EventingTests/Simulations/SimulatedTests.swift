#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif
import Eventing
import EventingTesting
import Testing

/// Tests of random programs in simulations (G1 to G13, G16, G21, G22). A seed chooses the actions
/// of tasks and handlers, and their order.
@Suite(.serialized, .fewAtATime) struct SimulatedTests {
  /// Runs a program of three tasks that act on the event, and of a `for await` loop that the
  /// program cancels when the tasks have ended.
  @Sendable static func program(_ mode: SimulatedWorld.Mode, seed: UInt64) async throws {
    let world = SimulatedWorld(mode, seed: seed)
    world.add(.inline)
    for _ in 0..<3 { addOne(to: world) }
    await withTaskGroup(of: Void.self) { group in
      let loop = (mode.isPlain ? Event<Int>() : world.plain).payloads()
      world.loops = mode.isPlain || world.keyed != nil ? 0 : 1
      let looping = Task(executorPreference: Simulation.executor) {
        var last = -1
        for await send in loop {
          if send <= last, !mode.replays { break }
          last = send
        }
      }
      for task in 0..<3 {
        group.addTask {
          for _ in 0..<5 {
            await step(task, of: world)
            if world.below(3) == 0 { await Task.yield() }
          }
        }
      }
      await group.waitForAll()
      looping.cancel()
      await looping.value
    }
    try await world.finish()
  }

  static func addOne(to world: SimulatedWorld) {
    world.add(
      world.pick(world.places), once: world.below(5) == 0, reaction: world.pick(SimulatedWorld.Reaction.allCases),
      isOwned: world.below(4) == 0 && !world.mode.isPlain)
  }

  static func step(_ task: Int, of world: SimulatedWorld) async {
    let number = world.below(world.handlers.count)
    switch world.below(world.keyed == nil ? 16 : 17) {
    case 0: if world.handlers.count < 12 { addOne(to: world) }
    case 1: world.remove(number)
    case 2, 3: world.toggleLock(number)
    case 4: world.toggleGate()
    case 5..<9: world.post(task)
    case 9: await world.quiesce()
    case 16: world.replaceObject()
    default: await world.send(task)
    }
  }

  static let modes =
    [false, true].flatMap { holds in [false, true].map { SimulatedWorld.Mode(holds: holds, replays: $0) } } + [
      .init(isPlain: true), .init(isModified: true), .init(holds: true, isModified: true),
    ]
    + [.bus, .value, .objects].flatMap { kind in [false, true].map { SimulatedWorld.Mode(holds: $0, kind: kind) } }

  @Test(arguments: modes, [Simulation.Strategy.random, .priorities(changes: 3)])
  func randomProgramsKeepTheGuarantees(mode: SimulatedWorld.Mode, strategy: Simulation.Strategy) async throws {
    let first = UInt64.random(in: 1...1_000_000_000)
    try await onThread {
      Result {
        for seed in first..<first + SimulatedTests.seeds {
          try Simulation.run(seed: seed, by: strategy) { try await SimulatedTests.program(mode, seed: seed) }
        }
      }
    }.get()
  }

  @Test(arguments: modes) func aSeedRepeatsItsOrder(mode: SimulatedWorld.Mode) async throws {
    let orders = try await onThread {
      Result {
        try (1...40 as ClosedRange<UInt64>).map { seed in
          try (0..<2).map { _ in
            try Simulation.run(seed: seed) { try await SimulatedTests.program(mode, seed: seed) }.description
          }
        }
      }
    }.get()
    for (one, other) in orders.map({ ($0[0], $0[1]) }) { #expect(one == other) }
  }

  /// The number of seeds that each test tries: the value of `EVENTING_SEEDS`, or 100.
  static var seeds: UInt64 { unsafe getenv("EVENTING_SEEDS").flatMap { unsafe UInt64(String(cString: $0)) } ?? 100 }
}
