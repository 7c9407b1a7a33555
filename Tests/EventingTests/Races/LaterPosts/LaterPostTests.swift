import Eventing
import EventingTesting
import Testing

/// Tests of guarantee H9 of PROOF.md: posts that are made later.
///
/// The end of an event cancels its later posts, and the optimizer may release the event after its
/// last use. So a test that waits for posts uses the event at its end.
@Suite(.fewAtATime) struct LaterPostTests {
  /// Waits until the timer sleeps on the clock, moves the clock, and waits until `until` returns
  /// true.
  private func advance(_ clock: ManualClock, by duration: Duration, _ until: () -> Bool) async {
    #expect(await eventually { clock.sleeperCount > 0 })
    clock.advance(by: duration)
    #expect(await eventually(until))
  }

  @Test func aPostComesAtItsTimeAndInTheOrderOfDeadlines() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    event.addHandler { seen.record($0) }
    for (number, seconds) in [(1, 3), (2, 1), (3, 2), (4, 1)] {
      event.post(number, after: .seconds(seconds), clock: clock)
    }
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .milliseconds(999))
    await event.quiesce()
    #expect(seen.values == [])
    await advance(clock, by: .milliseconds(1)) { seen.count == 2 }
    #expect(seen.values == [2, 4])
    await advance(clock, by: .seconds(5)) { seen.count == 4 }
    #expect(seen.values == [2, 4, 3, 1])
    event.finish()
  }

  @Test func aCancelledPostIsNeverMade() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    event.addHandler { seen.record($0) }
    let first = event.post(1, after: .seconds(1), clock: clock)
    let second = event.post(2, after: .seconds(1), clock: clock)
    #expect(first.cancel() && !first.cancel())
    await advance(clock, by: .seconds(1)) { seen.count == 1 }
    #expect(seen.values == [2] && !second.cancel() && !first.cancel())
    #expect("\(first), \(second)" == "later post, cancelled, later post, posted")
    event.finish()
  }

  @Test func theEndOfTheEventCancelsItsPostsAndReleasesTheirPayloads() async {
    let (clock, live) = (ManualClock(), LiveCount())
    var event: Event<Canary>? = Event()
    let ended = event!.post(Canary(live), after: .seconds(1), clock: clock)
    event!.finish()
    #expect(live.alive == 0 && !ended.cancel())
    #expect(!event!.post(Canary(live), after: .seconds(1), clock: clock).cancel() && live.alive == 0)

    event = Event()
    let gone = event!.post(Canary(live), after: .seconds(1), clock: clock)
    #expect(live.alive == 1)
    weak let dead = event
    event = nil
    #expect(dead == nil && live.alive == 0 && !gone.cancel())
    #expect(await eventually { clock.sleeperCount == 0 })
  }

  @Test func aCancelledPostReleasesItsPayloadAtOnce() {
    let (event, clock, live) = (Event<Canary>(), ManualClock(), LiveCount())
    let post = event.post(Canary(live), after: .seconds(1), clock: clock)
    #expect(live.alive == 1 && post.cancel() && live.alive == 0)
    event.finish()
  }

  @Test func delaysBelowZeroAndForEver() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    event.addHandler { seen.record($0) }
    let never = event.post(1, after: .seconds(Int64.max))
    event.post(2, after: .seconds(-5), clock: clock)
    #expect(await eventually { seen.values == [2] })
    #expect(never.cancel())
    event.finish()
  }

  @Test func orderOnceAndLocksAreJudgedThen() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<String>())
    event.post(1, after: .seconds(1), clock: clock)
    event.post(2, after: .seconds(2), clock: clock)
    event.once { seen.record("once \($0)") }
    let token = event.addHandler { seen.record("locked \($0)") }
    event.lock(token)
    await advance(clock, by: .seconds(1)) { seen.count == 1 }
    await event.quiesce()
    event.unlock(token)
    await advance(clock, by: .seconds(1)) { seen.count == 2 }
    #expect(seen.values == ["once 1", "locked 2"])
    event.finish()
  }

  @Test func anEarlierDeadlineTakesOverAndOneTimerIsLeft() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    event.addHandler { seen.record($0) }
    for seconds in (1...100).reversed() { event.post(seconds, after: .seconds(seconds), clock: clock) }
    #expect(await eventually { clock.sleeperCount == 1 })
    await advance(clock, by: .seconds(1)) { seen.count == 1 }
    await advance(clock, by: .seconds(99)) { seen.count == 100 }
    #expect(seen.values == Array(1...100))
    event.finish()
  }

  @Test func aHandlerThatBlocksHoldsUpNoOtherEvent() async {
    let (slow, quick, gate, seen) = (Event<Int>(), Event<Int>(), Gate(), Recorder<Int>())
    slow.addHandler { _ in gate.wait() }
    quick.addHandler { seen.record($0) }
    slow.post(1, after: .milliseconds(1))
    quick.post(2, after: .milliseconds(20))
    #expect(await eventually { seen.values == [2] })
    gate.open()
    await slow.quiesce()
    quick.finish()
  }

  @Test func everyKindOfEventCanPostLater() async {
    let (clock, seen) = (ManualClock(), Recorder<String>())
    let (signal, pair, keyed, bus) = (Signal(), Event<(Int, Int)>(), KeyedEvent<String, Int>(), EventBus())
    signal.addHandler { seen.record("signal") }
    pair.addHandler { seen.record("\($0) \($1)") }
    keyed["a"].addHandler { seen.record("a \($0)") }
    bus.event(for: Int.self).addHandler { seen.record("bus \($0)") }
    signal.post(after: .seconds(1), clock: clock)
    pair.post((1, 2), after: .seconds(1), clock: clock)
    keyed.post(3, to: "a", after: .seconds(1), clock: clock)
    keyed.post(4, to: "b", after: .seconds(1), clock: clock)
    bus.event(for: Int.self).post(5, after: .seconds(1), clock: clock)
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(1))
    #expect(await eventually { seen.count == 4 })
    #expect(Set(seen.values) == ["signal", "1 2", "a 3", "bus 5"])
    for finish in [signal.finish, pair.finish, keyed.finish, bus.finish] { finish() }
  }

  @Test func manyPostsOfWhichHalfAreCancelledComeInOrder() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    event.addHandler { seen.record($0) }
    var random = SeededGenerator(seed: 7)
    var expected: [(time: Int, number: Int)] = []
    for number in 0..<20_000 {
      let time = Int.random(in: 1...1_000, using: &random)
      let post = event.post(number, after: .seconds(time), clock: clock)
      if Bool.random(using: &random) { expected.append((time, number)) } else { #expect(post.cancel()) }
    }
    await advance(clock, by: .seconds(1_000)) { seen.count == expected.count }
    let order = expected.sorted { $0.time != $1.time ? $0.time < $1.time : $0.number < $1.number }
    #expect(seen.values == order.map(\.number))
    event.finish()
  }

  @Test func ofThreadsThatCancelBesideTheTimerOneWins() async {
    for _ in 0..<200 {
      let (event, seen, cancelled) = (Event<Int>(), Counter(), Counter())
      event.addHandler { _ in seen.add() }
      let posts = (0..<8).map { event.post($0, after: .microseconds($0 * 20)) }
      await onThreads(2) { _ in for post in posts where post.cancel() { cancelled.add() } }
      #expect(await eventually { seen.value + cancelled.value == 8 })
      await event.quiesce()
      #expect(seen.value + cancelled.value == 8)
    }
  }
}
