import Eventing
import EventingTesting
import Testing

/// Tests of guarantee H8 of PROOF.md: lanes that handlers of several events share.
@Suite(.fewAtATime) struct SharedLaneTests {
  @Test func handlersOfSeveralEventsRunOneAtATimeInTheOrderOfDelivery() async {
    let (lane, one, other) = (HandlerLane("database"), Event<Int>(), Event<String>())
    let (running, seen) = (RunningCalls(), Recorder<String>())
    one.addHandler(on: .lane(lane)) { payload in
      running.begin()
      seen.record("\(payload)")
      await Task.yield()
      running.end()
    }
    other.addHandler(on: .lane(lane)) { payload in
      running.begin()
      seen.record(payload)
      await Task.yield()
      running.end()
    }
    for payload in 0..<500 {
      one.post(payload)
      other.post("s\(payload)")
    }
    await lane.quiesce()
    #expect(seen.values == (0..<500).flatMap { ["\($0)", "s\($0)"] } && running.most == 1)
    #expect("\(lane)" == "lane \"database\"" && lane.limit == 1)
    #expect(await one.handlers().map(\.delivery) == ["lane \"database\""])
  }

  @Test func plainHandlersAndHandlersWithModifiersKeepTheOrderOfDelivery() async {
    let (lane, plain, retried, seen) = (HandlerLane(), Event<Int>(), Event<Int>(), Recorder<Int>())
    plain.addHandler(on: .lane(lane)) { payload async in seen.record(payload) }
    retried.add(
      Handler(.retrying(.immediately(attempts: 2)), on: .lane(lane)) { payload async throws in
        seen.record(payload)
        await Task.yield()
      })
    let runs = (0..<200).map { $0 % 7 + 1 }
    var payload = 0
    for (index, run) in runs.enumerated() {
      for _ in 0..<run {
        (index.isMultiple(of: 2) ? plain : retried).post(payload)
        payload += 1
      }
    }
    await lane.quiesce()
    #expect(seen.values == Array(0..<payload))
  }

  /// Checks that an occurrence posted after an unlock does not use a turn that its handler had
  /// before the lock. With that turn, the occurrence would overtake the occurrences of another
  /// handler.
  @Test func whatALockHeldComesFirstAndNothingElseOvertakes() async {
    let (lane, one, other, gate, seen) = (HandlerLane(), Event<Int>(), Event<Int>(), Gate(), Recorder<Int>())
    let (first, isHeld) = (Gate(), Recorder<Bool>())
    let token = one.addHandler(on: .lane(lane)) { payload async in seen.record(payload) }
    other.addHandler(on: .lane(lane)) { payload async in
      if payload == 0 { await first.opened() }
      seen.record(payload)
      if payload == 10 {
        isHeld.record(true)
        await gate.opened()
      }
    }
    other.post(0)
    one.post(1)
    one.post(2)
    other.post(10)
    one.post(3)
    other.post(11)
    one.lock(token, holding: .oldest(9))
    first.open()
    #expect(await eventually { isHeld.count == 1 })
    one.unlock(token)
    other.post(20)
    one.post(4)
    gate.open()
    await lane.quiesce()
    #expect(seen.values == [0, 10, 1, 2, 3, 11, 20, 4])
  }

  @Test func aLimitLetsCallsOverlap() async {
    let (lane, one, other) = (HandlerLane(limit: 2), Event<Int>(), Event<Int>())
    let (gate, seen) = (Gate(), Recorder<Int>())
    for event in [one, other] {
      event.addHandler(on: .lane(lane)) { payload in
        seen.record(payload)
        await gate.opened()
      }
    }
    one.post(1)
    other.post(2)
    one.post(3)
    #expect(await eventually { seen.count == 2 })
    for _ in 0..<100 { await Task.yield() }
    #expect(Set(seen.values) == [1, 2])
    gate.open()
    await lane.quiesce()
    #expect(seen.count == 3)
  }

  @Test func aSendThatWouldWaitForItsOwnLaneIsDeferred() async {
    let (lane, one, other, reports) = (HandlerLane(), Event<Int>(), Event<Int>(), Recorder<Int>())
    other.addHandler(on: .lane(lane)) { _ in }
    one.addHandler(on: .lane(lane)) { _ in
      reports.record(await other.send(1).deferred)
      await lane.quiesce()
      await one.quiesce()
    }
    #expect(await one.send(1).delivered == 1)
    await lane.quiesce()
    #expect(reports.values == [1])
  }

  @Test func aLockThatHoldsPausesItsHandlerOnly() async {
    let (lane, one, other, seen) = (HandlerLane(), Event<Int>(), Event<Int>(), Recorder<Int>())
    let gate = Gate()
    let token = one.addHandler(on: .lane(lane)) { payload in seen.record(payload) }
    other.addHandler(on: .lane(lane)) { payload in
      await gate.opened()
      seen.record(payload)
    }
    other.post(10)
    one.post(1)
    one.post(2)
    one.lock(token, holding: .oldest(9))
    other.post(11)
    gate.open()
    await lane.quiesce()
    #expect(seen.values == [10, 11])
    one.unlock(token)
    await one.quiesce()
    await lane.quiesce()
    #expect(seen.values == [10, 11, 1, 2])
  }

  @Test func aRemovedHandlersCallsAreSkippedAndTheLaneGoesOn() async {
    let (lane, one, other, seen, gate) = (HandlerLane(), Event<Int>(), Event<Int>(), Recorder<Int>(), Gate())
    other.addHandler(on: .lane(lane)) { payload in
      await gate.opened()
      seen.record(payload)
    }
    let token = one.addHandler(on: .lane(lane)) { payload in seen.record(payload) }
    other.post(10)
    let ticket = one.submit(1)
    one.remove(token)
    other.post(11)
    gate.open()
    #expect(await ticket.report.skipped == 1)
    await lane.quiesce()
    #expect(seen.values == [10, 11])
  }

  @Test func boundsArePerHandler() async {
    let (lane, one, other, seen, gate) = (HandlerLane(), Event<Int>(), Event<Int>(), Recorder<Int>(), Gate())
    one.addHandler(.buffering(.newest(1)), on: .lane(lane)) { payload in seen.record(payload) }
    other.addHandler(on: .lane(lane)) { payload in
      await gate.opened()
      seen.record(payload)
    }
    other.post(10)
    let dropped = one.submit(1)
    other.post(11)
    one.post(2)
    #expect(await dropped.report.dropped == 1)
    gate.open()
    await lane.quiesce()
    #expect(seen.values == [10, 11, 2])
  }

  @Test func aRetryKeepsTheLaneWaitingAndQuiesceWaitsForIt() async {
    let (lane, one, other, clock, seen) = (HandlerLane(), Event<Int>(), Event<Int>(), ManualClock(), Recorder<Int>())
    let unsteady = RetryTests.Unsteady(failures: 1)
    let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(1), attempts: 2, jitter: false)
    one.add(
      Handler(.retrying(policy, clock: clock), on: .lane(lane)) { payload async throws in try unsteady.call(payload) })
    other.addHandler(on: .lane(lane)) { payload in seen.record(payload) }
    one.post(1)
    other.post(2)
    #expect(await eventually { clock.sleeperCount == 1 })
    for _ in 0..<100 { await Task.yield() }
    #expect(seen.values == [])
    async let quiet: Void = lane.quiesce()
    clock.advance(by: .seconds(1))
    await quiet
    #expect(seen.values == [2] && unsteady.attempts.count == 2)
  }

  @Test func quiesceEndsTheWaitingOfBatchesAndPaces() async {
    let (lane, one, other, clock, seen) = (HandlerLane(), Event<Int>(), Event<Int>(), ManualClock(), Recorder<[Int]>())
    one.batches(of: 9, within: .seconds(1), clock: clock).addHandler(on: .lane(lane)) { seen.record($0) }
    other.add(
      Handler(.debounced(for: .seconds(1), clock: clock), on: .lane(lane)) { payload async throws in
        seen.record([payload])
      })
    one.post(1)
    one.post(2)
    other.post(3)
    await lane.quiesce()
    #expect(Set(seen.values) == [[1, 2], [3]])
  }

  @Test func aLaneAndItsHandlersAreReleased() async {
    let live = LiveCount()
    weak var lane: HandlerLane?
    do {
      let (made, event) = (HandlerLane(), Event<Int>())
      lane = made
      let canary = Canary(live)
      event.addHandler(on: .lane(made)) { _ in canary.sing() }
      _ = await event.send(1)
      event.removeAll()
      await event.quiesce()
      #expect(live.alive == 1)  // the last canary belongs to this scope
    }
    #expect(await eventually { lane == nil && live.alive == 0 })
  }

  @Test func aThousandHandlersComeAndGoWithoutALeftover() async {
    let (lane, event, seen) = (HandlerLane(), Event<Int>(), Recorder<Int>())
    for round in 0..<1_000 {
      let token = event.addHandler(on: .lane(lane)) { seen.record($0) }
      event.post(round)
      if round.isMultiple(of: 2) { _ = await event.send(-1) }
      event.remove(token)
    }
    await lane.quiesce()
    #expect(seen.values.count(where: { $0 == -1 }) == 500)
  }
}
