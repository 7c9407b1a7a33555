import Eventing
import EventingTesting
import Testing

/// Tests of small programs for each way in which lanes can break (G7, G9, G13, G21, G22, H1 to H8).
///
/// A seed chooses the program of each test, and the order of its steps.
@Suite(.serialized, .fewAtATime) struct LaneSimulationTests {
  private struct Failed: Error, CustomStringConvertible {
    let description: String
  }

  /// Runs a program once for each seed.
  ///
  /// - Parameter known: Seeds that have found a fault.
  static func simulate(known: [UInt64] = [], _ body: @escaping @Sendable (LaneWorld) async throws -> Void) async throws
  {
    let first = UInt64.random(in: 1...1_000_000_000)
    try await onThread {
      Result {
        for seed in known + Array(first..<first + SimulatedTests.seeds) {
          do {
            try Simulation.run(seed: seed, by: seed % 2 == 0 ? .random : .priorities(changes: 3)) {
              try await body(LaneWorld(seed))
            }
          } catch {
            throw Failed(description: "seed \(seed): \(error)")
          }
        }
      }
    }.get()
  }

  // MARK: Batches by key

  @Test func aKeyGoesOnWhoseLastPayloadWasDropped() async throws {
    try await LaneSimulationTests.simulate(known: [199_720_083, 559_493_810]) { world in
      world.add(
        .init(place: .concurrent, bound: .newest(world.below(3) + 1), batch: 2, gathers: true, isByKey: true))
      await world.run([.post, .post, .submit, .submit, .hold, .unlock, .sleep, .quiesce], length: 6)
      try await world.finish()
    }
  }

  /// Runs with so many keys that the lane forgets the unused ones during the program.
  @Test func noKeyIsForgottenWhileTheLaneHasIt() async throws {
    try await LaneSimulationTests.simulate { world in
      let bound = world.pick(Buffering.unbounded, .newest(1), .newest(2))
      world.add(
        .init(
          place: .concurrent, bound: bound, batch: world.pick(nil, 2), gathers: world.below(2) == 0, isByKey: true))
      world.quick = 1_022
      for number in 0..<world.quick { world.event?.post(world.next(key: number)) }
      await world.run([.post, .post, .submit, .newKey, .hold, .unlock, .sleep], length: 6)
      try await world.finish()
    }
  }

  @Test func aBatchWhosePayloadsWereDroppedLeavesNothing() async throws {
    try await LaneSimulationTests.simulate { world in
      world.add(
        .init(
          place: world.pick(.concurrent, .shared, .inOrder), bound: .newest(world.below(3) + 1), batch: 3,
          gathers: true, isByKey: world.below(2) == 0))
      await world.run([.post, .post, .post, .hold, .unlock, .sleep, .finish, .remove], length: 5)
      try await world.end()
    }
  }

  @Test func aBatchThatClosesBesideAPauseLosesNothing() async throws {
    try await LaneSimulationTests.simulate { world in
      world.lane = HandlerLane(limit: world.pick(1, 2))
      world.add(
        .init(
          place: world.pick(.concurrent, .concurrent, .shared, .inOrder),
          bound: world.pick(.unbounded, .newest(3), .newest(4)), batch: 2, gathers: world.below(4) > 0,
          isByKey: world.below(3) > 0))
      let steps: [LaneWorld.Step] = [.post, .post, .submit, .submit, .hold, .unlock, .sleep]
      await world.run(steps + world.pick([], [], [.quiesce], [.finish]), length: 6)
      try await world.finish()
    }
  }

  // MARK: Keys

  /// Before some of the programs, a worker uses up most of its quota, or all.
  @Test func aPauseBetweenTwoCallsOfAKeyStopsNoKey() async throws {
    try await LaneSimulationTests.simulate { world in
      world.add(.init(place: world.pick(.concurrent, .task), isByKey: true, isRetried: world.below(4) == 0))
      world.quick = world.pick(0, 0, 0, 250 + world.below(10))
      for _ in 0..<world.quick { world.event?.post(world.next(key: 0)) }
      var steps: [LaneWorld.Step] = [.post, .post, .submit, .submit, .hold, .unlock, .quiesce]
      if world.below(3) == 0 { steps.append(world.pick(.remove, .finish)) }
      await world.run(steps, length: 6)
      try await world.finish()
    }
  }

  @Test func aBarrierPassesWhenAllBeforeItWereDropped() async throws {
    try await LaneSimulationTests.simulate { world in
      let bound = Buffering.newest(world.below(3) + 1)
      world.add(
        .init(
          place: .concurrent, bound: bound, batch: world.pick(nil, 2, 2), gathers: world.below(2) == 0, isByKey: true,
          isRetried: world.below(4) == 0))
      await world.run([.post, .post, .post, .submit, .quiesce, .quiesce], length: 6)
      try await world.finish()
    }
  }

  /// Runs handlers that send to each other while the calls of their keys run.
  @Test func retriedHandlersThatSendToEachOtherDoNotWaitForEver() async throws {
    try await LaneSimulationTests.simulate { world in
      world.add(.init(place: world.pick(.concurrent, .task, .inOrder), isByKey: true, isRetried: true))
      world.reaction = { world, hearer, numbers in
        guard world.keys.count < 14, !hearer.fails(numbers[0]) else { return }
        await world.send(world.next(key: 1 - world.keys[numbers[0]]))
      }
      await world.run([.post, .submit, .send, .quiesce], tasks: 3, length: 2)
      try await world.finish()
    }
  }

  // MARK: Shared lanes

  @Test func aHandlerThatWasPausedComesAsOftenAsItHasItems() async throws {
    try await LaneSimulationTests.simulate { world in
      world.lane = HandlerLane(limit: world.pick(1, 1, 2))
      world.add(.init(place: .shared, batch: 2, gathers: world.below(3) == 0, isByKey: world.below(3) == 0))
      for _ in 0..<2 { world.add(.init(place: .shared)) }
      await world.run([.post, .post, .post, .submit, .hold, .unlock, world.pick(.sleep, .quiesce)], length: 7)
      try await world.finish()
    }
  }

  @Test func aBarrierAmongPayloadsThatGatherKeepsItsPlace() async throws {
    try await LaneSimulationTests.simulate { world in
      world.add(
        .init(place: .shared, bound: world.pick(.newest(2), .newest(3), .unbounded), batch: 3, gathers: true))
      world.add(.init(place: .shared))
      await world.run([.post, .post, .submit, .quiesce, .quiesceLane, .hold, .unlock, .sleep], length: 6)
      try await world.finish()
    }
  }

  @Test func noHandlerOfASharedLaneChangesThePlacesOfAnother() async throws {
    try await LaneSimulationTests.simulate { world in
      world.add(.init(place: .shared))
      world.add(.init(place: .shared, bound: world.pick(.newest(1), .newest(2)), batch: world.pick(nil, nil, 2)))
      world.add(.init(place: .shared, batch: world.pick(nil, 2), isRetried: world.below(2) == 0))
      await world.run([.post, .post, .post, .submit, .hold, .unlock, world.pick(.remove, .sleep, .quiesce)], length: 7)
      try await world.finish()
    }
  }
}
