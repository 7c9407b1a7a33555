import Eventing
import Testing

extension OverloadTests {
  @Test func ringOfThreeEventsDoesNotCrawl() async {
    // Up to 3,000 payloads circulate at a time, so the events are overloaded. After the first
    // posts, only handlers inside a drain post. Overload must not slow these posts.
    let events = (0..<3).map { _ in Event<Int>() }
    let count = Counter()
    for index in 0..<3 {
      events[index].addHandler { left in
        count.add()
        if left > 0 { events[(index + 1) % 3].post(left - 1) }
      }
    }
    let took = await ContinuousClock().measure {
      await onThreads(2) { thread in for _ in 0..<1_500 { events[thread].post(60) } }
      #expect(await eventually { count.value == 3_000 * 61 })
    }
    #expect(took < .seconds(10))
  }

  @Test func drainThatMeetsAnotherOverloadedEventSlowsThePostersOfItsOwnEvent() async {
    let (first, last) = (Event<Int>(), Event<Int>())
    let (firstIsBusy, firstGoesOn, lastIsBusy, hasMetFlood, end) = (Gate(), Gate(), Gate(), Gate(), Gate())
    last.once { _ in
      lastIsBusy.open()
      end.wait()
    }
    first.addHandler { number in
      switch number {
      case 1:
        firstIsBusy.open()
        firstGoesOn.wait()
      case 2:  // runs on the first event's own queue, where overload does not slow these posts
        for follower in 0..<1_200 { last.post(follower) }
        hasMetFlood.open()
        end.wait()
      default: break
      }
    }
    let posters = [startThread { last.post(0) }, startThread { first.post(1) }]
    await lastIsBusy.opened()
    await firstIsBusy.opened()
    first.post(2)
    firstGoesOn.open()
    await hasMetFlood.opened()
    let took = ConditionLock(Duration.zero)
    await startThread {
      let duration = ContinuousClock().measure { for number in 0..<1_000 { first.post(10 + number) } }
      took.withLock { $0 = duration }
    }.opened()
    #expect(took.withLock { $0 } > .microseconds(10) * 1_000)  // 1,000 posts alone would not overload the event
    end.open()
    for poster in posters { await poster.opened() }
    await first.quiesce()
    await last.quiesce()
  }

  @Test func drainThatMeetsAnotherOverloadedEventIsNotSlowedAndLeavesNoOverload() async {
    let (first, last) = (Event<Int>(), Event<Int>())
    let (firstIsBusy, firstGoesOn, lastIsBusy, lastGoesOn) = (Gate(), Gate(), Gate(), Gate())
    let took = ConditionLock(Duration.zero)
    last.once { _ in
      lastIsBusy.open()
      lastGoesOn.wait()
    }
    first.addHandler { number in
      switch number {
      case 1:
        firstIsBusy.open()
        firstGoesOn.wait()
      case 2:  // runs on the first event's own queue
        let duration = ContinuousClock().measure { for follower in 0..<200_000 { last.post(follower) } }
        took.withLock { $0 = duration }
      default: break
      }
    }
    let posters = [startThread { last.post(0) }, startThread { first.post(1) }]
    await lastIsBusy.opened()
    await firstIsBusy.opened()
    await startThread { first.post(2) }.opened()
    firstGoesOn.open()
    await first.quiesce()
    #expect(took.withLock { $0 } > .zero)
    // With a sleep of 65 µs for each post, the posts would take 13 s in theory. Without sleeps they
    // take about 0.1 s.
    #expect(took.withLock { $0 } < .seconds(10))
    lastGoesOn.open()
    for poster in posters { await poster.opened() }
    await last.quiesce()
    for event in [first, last] {
      let excess = await event.excess(over: 1)
      #expect(excess == nil)
    }
  }
}
