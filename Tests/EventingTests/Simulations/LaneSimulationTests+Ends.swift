import Eventing
import EventingTesting
import Testing

extension LaneSimulationTests {
  // MARK: Bounds and delays

  @Test func whatALockHoldsAndABoundDropsCountsOnce() async throws {
    try await LaneSimulationTests.simulate { world in
      let place = world.pick(LaneWorld.Place.inOrder, .concurrent, .shared)
      world.add(
        .init(
          place: place, bound: .newest(world.below(3) + 1), batch: world.pick(nil, 3), isByKey: world.below(2) == 0))
      await world.run([.post, .submit, .submit, .hold, .unlock, .lock], length: 6)
      try await world.finish()
    }
  }

  @Test(arguments: [LaneWorld.Place.inOrder, .concurrent, .shared, .task], [false, true])
  func aDelayThatEndsBesideAChangeEndsItsCallOnce(place: LaneWorld.Place, isRestarting: Bool) async throws {
    try await LaneSimulationTests.simulate { world in
      world.lane = HandlerLane(limit: world.pick(1, 2))
      world.add(
        .init(
          place: place, isByKey: !isRestarting && world.below(2) == 0, isRetried: true, isRestarting: isRestarting))
      await world.run(
        [.post, .submit, .submit, .send, .sleep, .quiesce]
          + world.pick([.hold, .unlock], [.lock, .unlock], [.remove], [.finish], [.hold, .unlock, .finish]))
      try await world.finish()
    }
  }

  // MARK: Workers

  /// Runs calls that wait for each other in pairs, so that each pair needs two workers. Before the
  /// program, a worker uses up most of its quota, or all.
  @Test func twoWorkersComeWheneverTwoCallsMayBegin() async throws {
    try await LaneSimulationTests.simulate { world in
      world.lane = HandlerLane(limit: 2)
      world.add(.init(place: world.pick(.concurrent, .shared, .task)))
      world.quick = world.pick(0, 0, 250 + 2 * world.below(8))
      for _ in 0..<world.quick { world.event?.post(world.next()) }
      world.reaction = { world, hearer, numbers in
        for _ in 0..<20 {
          if hearer.attempts[numbers[0] ^ 1] != nil { return }
          try? await Simulation.clock.sleep(for: .milliseconds(1))
        }
        world.fail("the lane has no second worker for \(numbers[0] ^ 1)")
      }
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<3 {
          group.addTask {
            for _ in 0..<4 {
              for _ in 0..<2 { world.event?.post(world.next()) }
              for _ in 0..<world.below(3) { await Task.yield() }
              if world.below(6) == 0 { await world.perform(world.pick(.sleep, .quiesce)) }
            }
          }
        }
      }
      try await world.finish()
    }
  }

  @Test func aLaneMayBeReleasedInsideItsLastCall() async throws {
    try await LaneSimulationTests.simulate { world in
      let count = world.below(3) + 1
      let place = world.pick(LaneWorld.Place.inOrder, .concurrent, .shared, .task)
      world.add(
        .init(
          place: place, batch: place == .task ? nil : world.pick(nil, 2), isByKey: world.below(2) == 0,
          isRetried: world.below(2) == 0))
      world.reaction = { world, hearer, numbers in
        guard numbers.contains(count - 1) || world.below(4) == 0 else { return }
        (world.event, world.lane, hearer.token) = (nil, nil, nil)
        await Task.yield()
      }
      for _ in 0..<count { world.event?.post(world.next()) }
      try? await Simulation.clock.sleep(for: .milliseconds(10))
      if world.hearers[0].attempts.count != count { world.fail("\(world.hearers[0].attempts) are not all") }
      try await world.end()
    }
  }

  // MARK: Threads

  /// Lets barriers meet the attempts of calls, for the thread sanitizer.
  @Test func barriersAndRestartsMeetAttempts() async {
    struct Refused: Error {}
    let event = Event<Int>("barriers")
    let counter = Counter()
    let byKey = Handler<Int>(on: .concurrent(limit: 2)) { number async throws in
      if counter.add() % 2 == 1 { throw Refused() }
    }
    event.add(byKey.with(.inOrder { $0 % 2 }).with(.retrying(.immediately(attempts: 2))))
    let restarting = Handler<Int>(.cancellingPrevious, on: .inOrder) { _ async throws in throw Refused() }
    event.add(restarting.with(.retrying(.immediately(attempts: 2))))
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<4 {
        group.addTask {
          for number in 0..<200 {
            event.post(number)
            if number % 4 == task { await event.quiesce() }
          }
        }
      }
    }
    await event.quiesce()
    #expect(await event.handlers().map(\.waitingCount) == [0, 0])
  }

  /// Releases events and lanes inside of calls, for the address sanitizer.
  @Test func tasksReleaseTheirLaneInsideTheLastCall() async {
    final class Holder: Sendable {
      let contents: ConditionLock<(event: Event<Canary>?, lane: HandlerLane?)>
      init(_ event: Event<Canary>, _ lane: HandlerLane) { contents = ConditionLock((event, lane)) }
      func release() {
        let old = contents.withLock { contents in
          defer { contents = (nil, nil) }
          return contents
        }
        withExtendedLifetime(old) {}
      }
    }
    let live = LiveCount()
    for round in 0..<200 {
      let gate = Gate()
      do {
        let (event, lane) = (Event<Canary>("released"), HandlerLane(limit: 1 + round % 2))
        let holder = Holder(event, lane)
        let delivery: AsyncDelivery =
          switch round % 4 {
          case 0: .inOrder
          case 1: .concurrent(limit: 2)
          default: .lane(lane)
          }
        let own = Canary(live)
        let handler = Handler<Canary>(on: delivery) { canary async in
          holder.release()
          own.sing()
          canary.sing()
          gate.open()
        }
        event.add(handler)
        event.post(Canary(live))
      }
      await gate.opened()
    }
    #expect(await eventually { live.alive == 0 })
  }
}
