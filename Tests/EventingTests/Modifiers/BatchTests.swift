import Dispatch
import Eventing
import EventingTesting
import Testing

/// Tests of guarantee H5 of PROOF.md: calls that take several payloads.
@Suite(.fewAtATime) struct BatchTests {
  struct Refused: Error {}

  @Test func aCallTakesAllThatWaitsAtMostTheCount() async {
    let (event, gate, seen) = (Event<Int>(), Gate(), Recorder<[Int]>())
    event.batches(of: 3).addHandler { batch async throws in
      seen.record(batch)
      await gate.opened()
    }
    event.post(1)
    #expect(await eventually { seen.count == 1 })
    for payload in 2...8 { event.post(payload) }
    gate.open()
    await event.quiesce()
    #expect(seen.values == [[1], [2, 3, 4], [5, 6, 7], [8]])
    #expect(await event.handlers().map(\.callCount) == [8])
  }

  @Test(arguments: ["async", "main", "main, async"]) func aBatchWaitsForItsWindowOrItsCount(place: String) async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<[Int]>())
    let window = Duration.milliseconds(50)
    switch place {
    case "main": event.batches(of: 3, within: window, clock: clock).addHandler(on: .main) { seen.record($0) }
    case "main, async":
      event.batches(of: 3, within: window, clock: clock).addHandler(on: .main) { batch async throws in
        seen.record(batch)
      }
    default: event.batches(of: 3, within: window, clock: clock).addHandler { batch in seen.record(batch) }
    }
    for payload in 1...4 { event.post(payload) }
    #expect(await eventually { seen.count == 1 && clock.sleeperCount > 0 })
    clock.advance(by: .milliseconds(49))
    for _ in 0..<100 { await Task.yield() }
    #expect(seen.values == [[1, 2, 3]])
    clock.advance(by: .milliseconds(1))
    #expect(await eventually { seen.count == 2 })
    #expect(seen.values == [[1, 2, 3], [4]])
  }

  /// Checks a lock that holds a batch whose call is due. The lock holds the payloads one by one.
  /// The unlock enqueues 2 to 6 on the lane, whose bound is 4. If they overflow the lane, the bound
  /// drops the oldest payload, 2, and not the whole batch. If the lane dequeues payloads for a call
  /// before 6 comes, it drops none, which is right, too.
  @Test func aBoundDropsOnePayloadOfABatchThatALockHolds() async {
    let (event, gate, seen) = (Event<Int>(), Gate(), Recorder<[Int]>())
    let token = event.batches(of: 4).addHandler(.buffering(.newest(4)), on: .inOrder) { batch async throws in
      seen.record(batch)
      if batch == [1] { await gate.opened() }
    }
    event.post(1)
    #expect(await eventually { seen.count == 1 })
    for payload in 2...4 { event.post(payload) }
    event.lock(token, holding: .oldest(8))
    gate.open()
    await event.quiesce()
    for payload in 5...6 { event.post(payload) }
    event.unlock(token)
    await event.quiesce()
    let handler = await event.handlers()[0]
    let called = Array(seen.values.joined())
    #expect(called == [1, 3, 4, 5, 6] || called == [1, 2, 3, 4, 5, 6])
    #expect(handler.callCount == called.count && handler.callCount + handler.droppedCount == 6)
    #expect(handler.skippedCount == 0)
  }

  @Test func theReportOfEachOccurrenceCountsTheBatch() async {
    let (event, clock) = (Event<Int>(), ManualClock())
    event.batches(of: 2, within: .seconds(1), clock: clock).addHandler { batch async throws in
      if batch.contains(3) { throw Refused() }
    }
    let tickets = (1...4).map { event.submit($0) }
    var reports: [SendReport] = []
    for ticket in tickets { reports.append(await ticket.report) }
    #expect(reports.map(\.delivered) == [1, 1, 0, 0] && reports.map(\.failures.count) == [0, 0, 1, 1])
  }

  @Test func quiesceAndFinishEndTheWaiting() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<[Int]>())
    event.batches(of: 9, within: .seconds(1_000), clock: clock).addHandler { seen.record($0) }
    event.post(1)
    event.post(2)
    await event.quiesce()
    #expect(seen.values == [[1, 2]])
    let ticket = event.submit(3)
    event.finish()
    #expect(await ticket.report.delivered == 1)
    #expect(seen.values == [[1, 2], [3]])
  }

  @Test func theEventsEndDeliversABatchThatWaits() async {
    let (clock, seen) = (ManualClock(), Recorder<[Int]>())
    var event: Event<Int>? = Event()
    event?.batches(of: 9, within: .seconds(1_000), clock: clock).addHandler { seen.record($0) }
    event?.post(1)
    event = nil
    #expect(await eventually { seen.values == [[1]] })
  }

  @Test func aLaneThatIsFullMakesABatchAndDropsTheOldest() async {
    let (event, clock, gate, seen) = (Event<Int>(), ManualClock(), Gate(), Recorder<[Int]>())
    event.batches(of: 9, within: .seconds(1_000), clock: clock).addHandler(.buffering(.newest(2)), on: .inOrder) {
      seen.record($0)
      await gate.opened()
    }
    for payload in 1...2 { event.post(payload) }
    #expect(await eventually { seen.values == [[1, 2]] })
    let dropped = event.submit(3)
    for payload in 4...5 { event.post(payload) }
    #expect(await dropped.report.dropped == 1)
    gate.open()
    await event.quiesce()
    #expect(seen.values == [[1, 2], [4, 5]])
  }

  @Test func aRemovedHandlerTakesNoBatchAndPayloadsAreReleased() async {
    let (event, clock, live) = (Event<Canary>(), ManualClock(), LiveCount())
    let seen = Recorder<Int>()
    let token = event.batches(of: 9, within: .seconds(1), clock: clock).addHandler { seen.record($0.count) }
    let ticket = event.submit(Canary(live))
    event.remove(token)
    #expect(await ticket.report.skipped == 1)
    #expect(seen.count == 0)
    #expect(await eventually { live.alive == 0 })
  }

  @Test func aLockThatHoldsKeepsTheBatch() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<[Int]>())
    let token = event.batches(of: 2, within: .seconds(1), clock: clock).addHandler { seen.record($0) }
    let first = event.submit(1)
    event.lock(token, holding: .oldest(9))
    event.post(2)
    clock.advance(by: .seconds(1))
    #expect(await first.report.held == 1)
    #expect(seen.count == 0)
    event.unlock(token)
    await event.quiesce()
    #expect(seen.values.flatMap { $0 } == [1, 2])
  }

  @Test func aOnceHandlerTakesOneBatch() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<[Int]>())
    event.batches(of: 2, within: .seconds(1), clock: clock).addHandler(.once) { seen.record($0) }
    for payload in 1...4 { event.post(payload) }
    await event.quiesce()
    #expect(seen.values == [[1, 2]] && event.handlerCount == 0)
  }

  @Test func aBatchIsTriedAgainAsAWhole() async {
    let (event, seen) = (Event<Int>(), Recorder<[Int]>())
    event.batches(of: 2, within: .seconds(1_000)).addHandler(.retrying(.immediately(attempts: 2))) {
      batch async throws in
      seen.record(batch)
      if seen.count == 1 { throw Refused() }
    }
    let tickets = [event.submit(1), event.submit(2)]
    for ticket in tickets { #expect(await ticket.report.delivered == 1) }
    #expect(seen.values == [[1, 2], [1, 2]])
  }

  @Test func aBatchThatSendsToItsOwnKeyDoesNotWaitForItself() async {
    let (event, reports) = (Event<Int>(), Recorder<Int>())
    event.batches(of: 1, by: { $0 % 2 }).addHandler(on: .concurrent(limit: 4)) { batch async throws in
      if batch[0] == 0 { reports.record(await event.send(2).deferred) }
    }
    _ = await event.send(0)
    await event.quiesce()
    #expect(reports.values == [1])
  }

  @Test func aFullLaneStartsAsManyBatchesAsThereAreSlots() async {
    let (event, gate, seen) = (Event<Int>(), Gate(), Recorder<Int>())
    event.batches(of: 100, within: .seconds(1_000), by: { $0 }).addHandler(
      .buffering(.oldest(4)), on: .concurrent(limit: 4)
    ) {
      seen.record($0.count)
      await gate.opened()
    }
    for payload in 0..<4 { event.post(payload) }
    #expect(await eventually { seen.count == 4 })
    gate.open()
    await event.quiesce()
  }

  @Test func aBatchHasOneKey() async {
    let (event, seen) = (Event<Int>(), Recorder<[Int]>())
    event.batches(of: 2, within: .seconds(1_000), by: { $0 % 2 }).addHandler(on: .concurrent(limit: 2)) {
      seen.record($0)
    }
    for payload in 1...4 { event.post(payload) }
    await event.quiesce()
    #expect(Set(seen.values) == [[1, 3], [2, 4]])
  }
}
