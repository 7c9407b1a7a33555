import Eventing
import EventingTesting
import Synchronization
import Testing

/// Tests of later posts, which `post(_:after:)` makes: the end of their event, the threads on which
/// code of the user runs, and later posts of keyed events.
extension LaterPostTests {
  @Test func anEndBesideTheTimerReleasesEveryPayload() async {
    let live = LiveCount()
    for _ in 0..<300 {
      let event = Event<Canary>()
      let posts = (0..<8).map { event.post(Canary(live), after: .microseconds($0 * 20)) }
      await onThreads(2) { index in if index == 0 { event.finish() } else { for post in posts { post.cancel() } } }
      #expect(await eventually { live.alive == 0 })
      #expect(posts.allSatisfy { "\($0)" != "later post, waiting" && !$0.cancel() })
    }
  }

  /// Checks that the timer does not release the payload, the closure of the handler or the event.
  /// Otherwise a `deinit` of one of these would delay all later posts of the clock.
  @Test func noCodeOfTheUserRunsOnTheTimer() async {
    let (live, onTimer) = (LiveCount(), Counter())
    let check: @Sendable () -> Void = { unsafe withUnsafeCurrentTask { if unsafe $0 != nil { onTimer.add() } } }
    for round in 0..<2_000 {
      let clock = ManualClock()
      // The timer of this clock is a task. The thread that makes and releases the event has no
      // task. So if a `deinit` finds that it runs in a task, the timer runs it.
      await onThread {
        let event = round % 2 == 0 ? Event<Canary>() : Event(replaying: .last(1))
        let captured = Canary(live, onDeinit: check)
        event.addHandler { _ in captured.sing() }
        event.post(Canary(live, onDeinit: check), after: .zero, clock: clock)
        if round % 3 == 0 { event.post(Canary(live, onDeinit: check), after: .zero, clock: clock) }
        if round % 5 == 0 { event.finish() }
      }
      #expect(await eventually { live.alive == 0 })
    }
    #expect(onTimer.value == 0)
  }

  @Test func anEventThatIsGoneDeliversNoMoreThanWasPosted() async {
    let (clock, seen, gate, isInside) = (ManualClock(), Recorder<Int>(), Gate(), Gate())
    var event: Event<Int>? = Event()
    event?.addHandler { number in
      if number == 2 {
        isInside.open()
        gate.wait()
      }
      seen.record(number)
    }
    event?.post(4, after: .seconds(1), clock: clock)
    let post = event?.post(5, after: .seconds(2), clock: clock)
    // The event's own queue delivers 2, and retains only the core.
    if let event { await whileBusy(event) { event.post(2) } }
    event?.post(3)
    await isInside.opened()
    event = nil
    #expect(await eventually { post.map { "\($0)" } == "later post, cancelled" })
    clock.advance(by: .seconds(5))
    #expect(await eventually { clock.sleeperCount == 0 })
    gate.open()
    #expect(await eventually { seen.count >= 3 })
    #expect(seen.values == [0, 2, 3])
  }

  @Test func objectsAndNoKeyCanBePostedToLater() async {
    final class Player: Sendable {}
    let (clock, seen) = (ManualClock(), Recorder<String>())
    let (scored, me, other) = (KeyedEvent<ObjectKey, Int>(), Player(), Player())
    scored[me].addHandler { seen.record("me \($0)") }
    scored[other].addHandler { seen.record("other \($0)") }
    scored.untargeted.addHandler { seen.record("none \($0)") }
    scored.post(1, to: ObjectKey(me), after: .seconds(1), clock: clock)
    scored.untargeted.post(2, after: .seconds(2), clock: clock)
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(2))
    #expect(await eventually { seen.count == 2 })
    #expect(Set(seen.values) == ["me 1", "none 2"])
    scored.finish()
  }
}
