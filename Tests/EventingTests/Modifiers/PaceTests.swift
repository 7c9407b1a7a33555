import Dispatch
@testable import Eventing
import EventingTesting
import Testing

/// Tests of guarantee H6 of PROOF.md: handlers that receive only some of the occurrences.
@Suite(.fewAtATime) struct PaceTests {
  /// Adds a handler with a pace. `place`, one of `places`, names where the handler runs.
  private func add(_ place: String, to event: Event<Int>, _ seen: Recorder<Int>, _ pace: (Handler<Int>) -> Handler<Int>)
    -> HandlerToken
  {
    let handler: Handler<Int> =
      switch place {
      case "inline": Handler { seen.record($0) }
      case "background": Handler(on: .background) { seen.record($0) }
      case "main": Handler(on: .main) { payload in seen.record(payload) }
      default: Handler { payload async throws in seen.record(payload) }
      }
    return event.add(pace(handler))
  }
  private static let places = ["inline", "background", "main", "inOrder"]

  /// Waits until `count` payloads are recorded, and then gives unexpected calls time to begin.
  ///
  /// A `quiesce()` would make a pace deliver the payload that waits in it, before its time. This
  /// method does not.
  private func awaitCount(_ seen: Recorder<Int>, _ count: Int) async {
    #expect(await eventually { seen.count >= count })
    for _ in 0..<200 { await Task.yield() }
  }

  @Test(arguments: places) func aThrottleDeliversTheFirstThenTheLatestOfEachIntervalAndTheLast(place: String) async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    _ = add(place, to: event, seen) { $0.with(.throttled(every: .milliseconds(100), clock: clock)) }
    for payload in 1...5 { event.post(payload) }
    #expect(await eventually { clock.sleeperCount == 1 })
    await awaitCount(seen, 1)
    #expect(seen.values == [1])
    clock.advance(by: .milliseconds(100))
    await awaitCount(seen, 2)
    #expect(seen.values == [1, 5])
    #expect(await eventually { clock.sleeperCount == 1 })
    event.post(6)
    clock.advance(by: .milliseconds(100))
    await awaitCount(seen, 3)
    #expect(seen.values == [1, 5, 6])
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .milliseconds(100))  // after an interval without occurrences the next one is delivered at once
    #expect(await eventually { clock.sleeperCount == 0 })
    event.post(7)
    await awaitCount(seen, 4)
    #expect(seen.values == [1, 5, 6, 7])
    let handlers = await event.handlers()
    #expect(handlers.map(\.droppedCount) == [3] && handlers.map(\.callCount) == [4])
  }

  @Test(arguments: places) func aDebounceDeliversTheLastAfterAPause(place: String) async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    _ = add(place, to: event, seen) { $0.with(.debounced(for: .milliseconds(300), clock: clock)) }
    for payload in 1...3 {
      event.post(payload)
      #expect(await eventually { clock.sleeperCount == 1 })
      clock.advance(by: .milliseconds(200))
    }
    for _ in 0..<200 { await Task.yield() }
    #expect(seen.values == [])
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .milliseconds(100))
    await awaitCount(seen, 1)
    #expect(seen.values == [3])
  }

  @Test func aDebounceWithALimitDeliversWithinAStreamThatNeverPauses() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    _ = add("inline", to: event, seen) {
      $0.with(.debounced(for: .milliseconds(300), atMost: .milliseconds(500), clock: clock))
    }
    for payload in 1...6 {
      event.post(payload)
      #expect(await eventually { clock.sleeperCount == 1 })
      clock.advance(by: .milliseconds(100))
      for _ in 0..<200 { await Task.yield() }
    }
    #expect(await eventually { seen.count == 1 })
    #expect(seen.values == [5] || seen.values == [6])
  }

  @Test func aSendReturnsWhenItsOccurrenceIsReplacedOrDelivered() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    _ = add("inOrder", to: event, seen) { $0.with(.debounced(for: .seconds(1), clock: clock)) }
    let (first, second) = (event.submit(1), event.submit(2))
    #expect(await first.report.dropped == 1)
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(1))
    #expect(await second.report.delivered == 1)
    #expect(seen.values == [2])
  }

  @Test(arguments: places) func quiesceAndFinishDeliverAtOnce(place: String) async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    _ = add(place, to: event, seen) { $0.with(.debounced(for: .seconds(1), clock: clock)) }
    event.post(1)
    await event.quiesce()
    #expect(seen.values == [1])
    let ticket = event.submit(2)
    event.finish()
    #expect(await ticket.report.delivered == 1)
    #expect(seen.values == [1, 2])
  }

  @Test(arguments: places) func theEventsEndDeliversWhatWaits(place: String) async {
    let (clock, seen) = (ManualClock(), Recorder<Int>())
    var event: Event<Int>? = Event()
    _ = add(place, to: event!, seen) { $0.with(.debounced(for: .seconds(1), clock: clock)) }
    event?.post(1)
    event = nil
    #expect(await eventually { seen.values == [1] })
  }

  @Test(arguments: places) func aRemovedHandlerGetsNothing(place: String) async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    let token = add(place, to: event, seen) { $0.with(.debounced(for: .seconds(1), clock: clock)) }
    let ticket = event.submit(1)
    event.remove(token)
    #expect(await ticket.report.skipped == 1)
    #expect(seen.values == [])
  }

  @Test func aLockSkipsOrHoldsWhatThePaceLetsThrough() async {
    for holding in [nil, Buffering.oldest(9)] {
      let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
      let token = add("inline", to: event, seen) { $0.with(.debounced(for: .seconds(1), clock: clock)) }
      let ticket = event.submit(1)
      event.lock(token, holding: holding)
      #expect(await eventually { clock.sleeperCount == 1 })
      clock.advance(by: .seconds(1))
      let report = await ticket.report
      #expect(holding == nil ? report.skipped == 1 : report.held == 1)
      event.unlock(token)
      await event.quiesce()
      #expect(seen.values == (holding == nil ? [] : [1]))
    }
  }

  @Test(arguments: places) func whatALockHeldBehindAThrottleIsDeliveredInOrder(place: String) async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    let token = add(place, to: event, seen) { $0.with(.throttled(every: .seconds(1), clock: clock)) }
    event.post(1)
    #expect(await eventually { clock.sleeperCount == 1 && seen.count == 1 })
    let pending = event.submit(2)
    event.lock(token, holding: .oldest(9))
    clock.advance(by: .seconds(1))
    #expect(await pending.report.held == 1)
    event.post(3)  // the lock holds 3, while the pace keeps 2
    event.unlock(token)
    #expect(await eventually { clock.sleeperCount == 1 })
    await awaitCount(seen, 2)
    #expect(seen.values == [1, 3])
    event.post(4)
    clock.advance(by: .seconds(1))
    await awaitCount(seen, 3)
    await event.quiesce()
    #expect(seen.values == [1, 3, 4])
    #expect(await event.handlers().map(\.droppedCount) == [1])
  }

  /// Checks an occurrence that reaches a throttled handler after the end of a lock. The occurrence
  /// that the pace kept during the lock is not delivered yet, and must not come after the new one.
  @Test func anOccurrenceDuringTheUnlockDoesNotOvertakeTheKeptOne() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    let unlocks = Recorder<HandlerToken>()
    event.addHandler { number in
      if number == 3, let token = unlocks.values.first { event.unlock(token) }
    }
    let token = add("inline", to: event, seen) { $0.with(.throttled(every: .seconds(1), clock: clock)) }
    unlocks.record(token)
    event.post(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    let kept = event.submit(2)
    event.lock(token, holding: .oldest(9))
    clock.advance(by: .seconds(1))
    #expect(await kept.report.held == 1)  // no timer runs any more
    event.post(3)
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(1))
    await event.quiesce()
    #expect(seen.values == [1, 3])
    #expect(await event.handlers().map(\.droppedCount).reduce(0, +) == 1)
  }

  /// The first call lasts, so that the lane is full when the last occurrence comes.
  @Test(arguments: [Buffering.oldest(1), .suspendingSender(1)]) func aBoundNeverDropsTheLast(buffering: Buffering)
    async
  {
    for isThrottle in [false, true] {
      let (event, clock, seen, gate) = (Event<Int>(), ManualClock(), Recorder<Int>(), Gate())
      let slow = Handler(.buffering(buffering), on: .inOrder) { (number: Int) async in
        seen.record(number)
        await gate.opened()
      }
      event.add(
        isThrottle
          ? slow.with(.throttled(every: .seconds(1), clock: clock))
          : slow.with(.debounced(for: .seconds(1), clock: clock)))
      for number in 1...5 {
        event.post(number)
        #expect(await eventually { clock.sleeperCount == 1 })
        clock.advance(by: .seconds(1))
        #expect(await eventually { seen.count == 1 })
        while await event.handlers().map(\.droppedCount) != [max(0, number - 2)] { await Task.yield() }
      }
      gate.open()
      await event.quiesce()
      #expect(seen.values == [1, 5])
    }
  }

  @Test func anOwnerThatIsGoneGetsNothing() async {
    let (event, clock, seen, live) = (Event<Int>(), ManualClock(), Recorder<Int>(), LiveCount())
    var owner: Canary? = Canary(live)
    event.addHandler(.debounced(for: .seconds(1), clock: clock), owner: owner!) { _, number in seen.record(number) }
    let ticket = event.submit(1)
    owner = nil
    #expect(await eventually { live.alive == 0 })
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(1))
    #expect(await ticket.report.skipped == 1)
    #expect(seen.values == [])
  }

  @Test func aPaceWorksBehindEveryView() async {
    let (event, keyed, value, clock) = (Event<Int>(), KeyedEvent<String, Int>(), Observed(0), ManualClock())
    let (seen, texts, letters) = (Recorder<Int>(), Recorder<String>(), Recorder<Int>())
    struct Refused: Error {}
    event.deadLetters.addHandler { letters.record($0.payload) }
    let text = Handler<String>(.debounced(for: .seconds(1), clock: clock)) { texts.record($0) }
    let number = Handler<Int>(.debounced(for: .seconds(1), clock: clock)) { seen.record($0) }
    event.map { "\($0)" }.add(text, Handler(.debounced(for: .seconds(1), clock: clock)) { _ in throw Refused() })
    event.filter { $0 > 1 }.add(number)
    event.removeDuplicates().add(number)
    keyed["a"].add(number)
    value.newValues.add(number)
    for payload in 1...2 {
      event.post(payload)
      keyed.post(payload + 10, to: "a")
      value.value = payload + 20
    }
    await event.quiesce()
    await keyed.quiesce()
    await value.quiesce()
    #expect(texts.values == ["2"])
    #expect(seen.values == [2, 2, 12, 22])
    #expect(letters.values == [])
  }

  @Test func aPacedHandlerWithALaneLeavesNothingBehind() async {
    let (event, live) = (Event<Int>(), LiveCount())
    for _ in 0..<100 {
      let canary = Canary(live)
      let token = event.addHandler(.throttled(every: .seconds(1_000))) { (_: Int) async in canary.sing() }
      event.post(1)
      event.post(2)
      event.remove(token)
    }
    await event.quiesce()
    await event.quiesce()
    #expect(await eventually { live.alive == 0 })
    #expect(await event.handlers().isEmpty && event.core.rareState.retiringTargets.isEmpty)
  }

  @Test func whileASlowCallRunsOnlyTheLatestWaits() async {
    let (event, clock, gate, seen) = (Event<Int>(), ManualClock(), Gate(), Recorder<Int>())
    event.add(
      Handler(.throttled(every: .seconds(1), clock: clock)) { payload async throws in
        seen.record(payload)
        if payload == 1 { await gate.opened() }
      })
    for payload in 1...5 {
      event.post(payload)
      #expect(await eventually { clock.sleeperCount == 1 })
      clock.advance(by: .seconds(1))
      #expect(await eventually { clock.sleeperCount == 0 })
    }
    // For each payload that is delivered, the core first starts a timer, and then puts the payload
    // on the lane. So 5 may not be on the lane yet, although the timer that was started for it has
    // fired. When 5 comes, the lane drops 4. That is the third payload that it drops: 2 and 3 were
    // dropped before.
    while await event.handlers()[0].droppedCount < 3 { await Task.yield() }
    gate.open()
    await event.quiesce()
    #expect(seen.values == [1, 5])
  }
}
