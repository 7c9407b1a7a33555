import Dispatch
import Eventing
import Synchronization
import Testing

/// Tests of locks with a holding buffer, on handlers that run on lanes (G9).
///
/// Occurrences that wait on the lane when the lock begins stay on the lane. The occurrences in the
/// holding buffer are delivered after those on the lane.
@Suite(.fewAtATime) struct HoldingLaneTests {
  @Test(arguments: BoundedLane.allCases, [Buffering.unbounded, .newest(100)]) func aLanePausesAndGoesOn(
    lane: BoundedLane, buffering: Buffering
  ) async {
    let (event, seen, gate) = (Event<Int>(), Recorder<Int>(), Gate())
    let begun = Gate()
    let token = event.add(
      lane.handler(buffering, until: gate) {
        seen.record($0)
        begun.open()
      })
    event.post(1)
    await begun.opened()
    let waiting = (2...3).map { event.submit($0) }
    event.lockAll(where: .oneOf([token]), holding: .oldest(2))
    let reports = [await event.send(4), await event.send(5), await event.send(6)]
    #expect(reports.map(\.held) == [1, 1, 0] && reports[2].skipped == 1)
    gate.open()
    for ticket in waiting { #expect(await ticket.report.held == 1) }  // no send waits for held occurrences
    await event.quiesce()
    #expect(seen.values == [1])
    event.post(7)  // skipped, because two occurrences are held already
    event.unlockAll(where: .oneOf([token]))
    #expect(await event.send(8).delivered == 1)
    #expect(seen.values == [1, 2, 3, 4, 5, 8])
    #expect(await event.handlers().map(\.callCount) == [6])
  }

  @Test(arguments: BoundedLane.allCases) func aPausedLaneEndsWithItsHandlerOrItsEvent(lane: BoundedLane) async {
    for isRemoved in [true, false] {
      let (live, gate, begun) = (LiveCount(), Gate(), Gate())
      var event: Event<Canary>? = Event()
      let token = event?.add(lane.handler(.unbounded, until: gate) { _ in begun.open() })
      event?.post(Canary(live))
      await begun.opened()
      event?.post(Canary(live))
      if let token { event?.lockAll(where: .oneOf([token]), holding: .oldest(1)) }
      event?.post(Canary(live))
      gate.open()
      await event?.quiesce()
      #expect(await eventually { live.alive == 2 })
      if isRemoved, let token { event?.removeAll(where: .oneOf([token])) }
      await event?.quiesce()
      event = nil
      #expect(await eventually { live.alive == 0 })
    }
  }

  @Test(arguments: BoundedLane.allCases) func releasedOccurrencesKeepToTheBoundOfTheLane(lane: BoundedLane) async {
    let (event, seen, gate, begun) = (Event<Int>(), Recorder<Int>(), Gate(), Gate())
    let token = event.add(
      lane.handler(.newest(2), until: gate) {
        seen.record($0)
        begun.open()
      })
    event.post(1)
    await begun.opened()
    for number in 2...4 { event.post(number) }
    event.lockAll(where: .oneOf([token]), holding: .oldest(9))
    event.post(5)
    event.unlockAll(where: .oneOf([token]))
    gate.open()
    await event.quiesce()
    #expect(seen.values == [1, 4, 5])
    #expect(await event.handlers().map(\.droppedCount) == [2])
  }

  @Test func tasksAreHeldOneByOne() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let token = event.addHandler(on: .task) { number async in seen.record(number) }
    event.lock(token, holding: .oldest(9))
    for number in 1...3 { #expect(await event.send(number).held == 1) }
    event.unlock(token)
    await event.quiesce()
    #expect(seen.values.sorted() == [1, 2, 3])
  }

  /// Checks posts that race with a lock of the handler and a lock of the event.
  @Test(arguments: BoundedLane.allCases.map(Optional.some) + [nil]) func heldOccurrencesAreNeitherLostNorReordered(
    lane: BoundedLane?
  ) async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let body: @Sendable (Int) -> Void = { seen.record($0) }
    let token = event.add(lane?.handler(.unbounded, until: .open, body) ?? Handler(perform: body))
    let isOver = Atomic<Bool>(false)
    let count = 4_000
    await onThreads(3) { index in
      switch index {
      case 0:
        for number in 1...count { event.post(number) }
        isOver.store(true, ordering: .releasing)
      case 1:
        while !isOver.load(ordering: .acquiring) {
          event.lockAll(where: .oneOf([token]), holding: .oldest(.max))
          event.unlockAll(where: .oneOf([token]))
        }
      default:
        while !isOver.load(ordering: .acquiring) {
          event.lock(holding: .unbounded)
          event.unlock()
        }
      }
    }
    await event.quiesce()
    #expect(seen.values == Array(1...count))
    #expect(await event.handlers().map(\.skippedCount) == [0])
  }

  @Test func theEventLockIsNotMissedByTheFirstLockThatHolds() async {
    struct Round: Sendable {
      let event: Event<Int>
      let token: HandlerToken
      let calls: Counter
      let locks: Bool
    }
    let rounds = Recorder<Round>()
    let overlaps = Overlaps()
    await inRounds(2, until: { overlaps.count > 50 }) {
      let (event, calls) = (Event<Int>(), Counter())
      let round = Round(
        event: event, token: event.addHandler { _ in calls.add() }, calls: calls, locks: rounds.count % 2 == 0)
      if !round.locks { event.lock() }
      rounds.record(round)
      return round
    } _: { (index: Int, round: Round) in
      overlaps.during {
        if index == 0 {
          if round.locks { round.event.lock() } else { round.event.unlock() }
        } else {
          round.event.lock(round.token, holding: .oldest(1))
        }
      }
    }
    for round in rounds.values {
      round.event.unlock(round.token)
      round.event.post(1)
      await round.event.quiesce()
      #expect(round.calls.value == (round.locks ? 0 : 1))
    }
  }

  @Test(arguments: BoundedLane.allCases) func aHeldSendNeedsNoRoomWhenItIsReleased(lane: BoundedLane) async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let token = event.add(lane.handler(.suspendingSender(2), until: .open) { seen.record($0) })
    let payloads = event.payloads(buffering: .suspendingSender(2))
    event.lock(holding: .oldest(100))
    for number in 1...10 { #expect(await event.send(number).held == 2) }
    event.unlock()
    await event.quiesce()
    #expect(seen.values == Array(1...10))
    #expect(await SequenceTests.take(10, of: payloads) == Array(1...10))
    withExtendedLifetime(token) {}
  }

  @Test func aHandlerThatIsEndingIsUnlockedAsAnyOther() async {
    let (event, seen, queue) = (Event<Int>(), Recorder<Int>(), DispatchQueue(label: "test"))
    let token = event.addHandler(on: .queue(queue)) { seen.record($0) }
    queue.suspend()
    event.post(1)
    let ticket = event.submit(2)
    event.lock(token, holding: .oldest(1))
    event.post(3)
    event.finish()
    event.unlock(token)
    #expect(!event.isLocked(token))
    queue.resume()
    #expect(await ticket.report.delivered == 1)
    #expect(seen.values == [1, 2])  // the held occurrence 3 ended with the handler
  }

  @Test func onlyCallsOfAPausedLaneCountAsSkipped() async {
    let (event, seen, gates, steps) = (Event<Int>(), Recorder<Int>(), (0..<4).map { _ in Gate() }, StepExecutor())
    let ended = Counter()
    let token = event.addHandler(on: .concurrent(limit: 2)) { number in
      seen.record(number)
      await gates[number].opened()
    }
    for number in 0..<2 { event.post(number) }
    #expect(await eventually { seen.count == 2 })
    let waits = event.submit(2)
    event.lock(token, holding: .oldest(10))
    event.post(3)
    gates[1].open()
    #expect(await waits.report.held == 1)  // the lane has paused
    for _ in 0..<2 {
      Task(executorPreference: steps) {
        await event.quiesce()
        ended.add(1)
      }
    }
    await steps.run()  // both calls of `quiesce` have passed the lane, and wait for call 0
    event.finish()
    let ending = await event.handlers().first
    #expect(ending?.callCount == 2 && ending?.skippedCount == 1)
    gates[0].open()
    while ended.value < 2 { await steps.run() }
  }
}
