import Synchronization
import Testing

@testable import Eventing

/// Tests of spare units: ended units that a lane keeps for later payloads.
///
/// Some of the tests run in a process of their own: as soon as any test carries task-local values,
/// each post of the process has a completion, and a post with a completion uses no spare unit.
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct UnitReuseTests {
  @Test func unitsAreUsedAgain() async {
    await #expect(processExitsWith: .success) {
      let (event, ended) = (Event<Int>(), Recorder<Int>())
      let lane = event.addByKey { ended.record($0) }
      for number in 0..<1_000 {
        event.post(number)
        #expect(await eventually { lane.endedCount == number + 1 })
      }
      // A post may come when the earlier call has ended, but the unit of that call is no spare unit
      // of the lane yet. Then the lane makes a second unit.
      #expect(ended.count == 1_000 && (1...2).contains(lane.spareCount))
    }
  }

  @Test func aUnitThatIsUsedAgainHasThePayloadAndTheKeyOfItsOccurrence() async {
    let (event, seen) = (Event<[Int]>(), Recorder<Int>())
    let own = (0..<7).map { _ in RunningCalls() }
    event.add(
      Handler(on: .concurrent(limit: 4)) { payload async throws in
        own[payload[0] % 7].begin()
        seen.record(payload[0])
        await Task.yield()
        own[payload[0] % 7].end()
      }.inOrder { $0[0] % 7 })
    for number in 0..<2_000 {
      event.post([number])
      if number % 50 == 0 { await event.quiesce() }
    }
    await event.quiesce()
    #expect(own.allSatisfy { $0.most <= 1 })
    for key in 0..<7 { #expect(seen.values.filter { $0 % 7 == key } == (0..<2_000).filter { $0 % 7 == key }) }
  }

  @Test func thePayloadOfAnEndedUnitIsGone() async {
    let event = Event<Recorder<Int>>()
    event.add(Handler(on: .concurrent(limit: 2)) { payload async throws in payload.record(1) }.inOrder { _ in 0 })
    for _ in 0..<3 { #expect(await losesItsPayload(event)) }
  }

  @Test func payloadsAreCountedAsWaitingInUnitsThatAreUsedAgain() async {
    await #expect(processExitsWith: .success) {
      let (event, gates) = (Event<Int>(), (0..<3).map { _ in (begun: Gate(), end: Gate()) })
      let lane = event.addByKey(limit: 1) { number in
        guard number % 4 == 0 else { return }
        gates[number / 4].begun.open()
        await gates[number / 4].end.opened()
      }
      for (round, gate) in gates.enumerated() {
        event.post(4 * round)
        await gate.begun.opened()
        for number in 1...3 { event.post(4 * round + number) }
        #expect(lane.waitingCount == 3)
        gate.end.open()
        #expect(await eventually { lane.endedCount == 4 * (round + 1) })
        #expect(lane.waitingCount == 0 && lane.spareCount > 0)
      }
    }
  }

  @Test func aUnitForWhichABarrierWaitsServesOneOccurrence() async {
    await #expect(processExitsWith: .success) {
      let (event, begun, gate) = (Event<Int>(), Gate(), Gate())
      let lane = event.addByKey { number in
        guard number == 0 else { return }
        begun.open()
        await gate.opened()
      }
      event.post(0)
      await begun.opened()
      async let barrier: Void = event.quiesce()
      let isReached = await eventually {
        lane.scheduler.mutex.withLock { lane.units.first.map { !$0.barriers.isEmpty } ?? false }
      }
      gate.open()
      await barrier
      #expect(isReached && lane.spareCount == 0)
      event.post(1)
      #expect(await eventually { lane.endedCount == 2 })
      #expect(lane.spareCount == 1)
    }
  }

  @Test func aUnitForWhichASendWaitsServesOneOccurrence() async {
    let event = Event<Int>()
    let lane = event.addByKey { _ in }
    await event.send(0)
    #expect(await eventually { lane.endedCount == 1 })
    #expect(lane.spareCount == 0)
  }

  @Test func aLaneThatEndsLosesItsUnits() async {
    await #expect(processExitsWith: .success) {
      for byRemoval in [true, false] {
        let live = LiveCount()
        await { () async in
          let (event, canary) = (Event<Int>(), Canary(live))
          let token = event.add(
            Handler(on: .concurrent(limit: 2)) { _ async throws in }.inOrder { number in
              _ = canary
              return number
            })[0]
          for number in 0..<100 { event.post(number) }
          guard case .units(let lane) = token.record.details?.runner else { return #expect(Bool(false)) }
          #expect(await eventually { lane.endedCount == 100 })
          event.post(100)  // takes one of the spare units
          #expect(await eventually { lane.endedCount == 101 })
          #expect(lane.spareCount > 0)
          if byRemoval { event.remove(token) }
        }()
        #expect(await eventually { live.alive == 0 })
      }
    }
  }
}

extension Event<Int> {
  /// Adds a handler with an order by key, whose key is the payload itself. Returns its lane.
  fileprivate nonisolated func addByKey(limit: Int = 2, _ body: @escaping @Sendable (Int) async -> Void) -> UnitLane {
    let token = add(
      Handler(on: .concurrent(limit: limit)) { payload async throws in await body(payload) }.inOrder { $0 })[0]
    guard case .units(let lane) = token.record.details?.runner else { preconditionFailure("expected a lane of units") }
    return lane
  }
}

extension UnitLane {
  /// The number of calls whose units have ended.
  fileprivate var endedCount: Int { scheduler.mutex.withLock { ended.load(ordering: .relaxed) } }
  /// The number of units that are kept. The event must be idle.
  fileprivate var spareCount: Int { scheduler.mutex.withLock { spareUnits.count + endedSpares.count } }
}
