import Synchronization
import Testing

@testable import Eventing

/// Tests of the objects that a lane uses for call after call.
@Suite(.fewAtATime) struct CallReuseTests {
  @Test func aCallThatIsUsedAgainHasThePayloadAndTheKeyOfItsOccurrence() async {
    let (event, seen) = (Event<[Int]>(), Recorder<Int>())
    let own = (0..<7).map { _ in RunningCalls() }
    event.add(
      Handler(.inOrder { $0[0] % 7 }, on: .concurrent(limit: 4)) { payload async throws in
        own[payload[0] % 7].begin()
        seen.record(payload[0])
        await Task.yield()
        own[payload[0] % 7].end()
      })
    for number in 0..<2_000 {
      event.post([number])
      if number % 50 == 0 { await event.quiesce() }
    }
    await event.quiesce()
    #expect(own.allSatisfy { $0.most <= 1 })
    for key in 0..<7 { #expect(seen.values.filter { $0 % 7 == key } == (0..<2_000).filter { $0 % 7 == key }) }
  }

  @Test func thePayloadOfAnEndedCallIsGone() async {
    let event = Event<Recorder<Int>>()
    event.addHandler(.inOrder { _ in 0 }, on: .concurrent(limit: 2)) { payload async throws in payload.record(1) }
    for _ in 0..<3 { #expect(await losesItsPayload(event)) }
  }

  @Test func payloadsAreCountedAsWaitingInEachRound() async {
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
        #expect(lane.waitingCount == 0)
      }
    }
  }

  @Test func aLaneThatEndsLosesItsHandler() async {
    await #expect(processExitsWith: .success) {
      for byRemoval in [true, false] {
        let live = LiveCount()
        await { () async in
          let (event, canary) = (Event<Int>(), Canary(live))
          let token = event.add(
            Handler(
              .inOrder { number in
                _ = canary
                return number
              }, on: .concurrent(limit: 2)
            ) { _ async throws in })
          for number in 0..<100 { event.post(number) }
          await event.quiesce()
          if byRemoval { event.remove(token) }
        }()
        #expect(await eventually { live.alive == 0 })
      }
    }
  }
}

extension Event<Int> {
  /// Adds a handler with an order by key, whose key is the payload itself. Returns its lane.
  fileprivate nonisolated func addByKey(limit: Int = 2, _ body: @escaping @Sendable (Int) async -> Void)
    -> DeliveryTarget
  {
    let token = add(
      Handler(.inOrder { $0 }, on: .concurrent(limit: limit)) { payload async throws in await body(payload) })
    guard let lane = token.record.details?.route?.target else { preconditionFailure("expected a lane") }
    return lane
  }
}

extension DeliveryTarget {
  fileprivate var endedCount: Int { endedCalls }
}
