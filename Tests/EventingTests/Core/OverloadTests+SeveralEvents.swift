import Eventing
import Testing

extension OverloadTests {
  // MARK: Overload of another event, and the state afterwards

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
    // With a nap of 65 µs for each post it would be 13 s in theory. Without naps it is about 0.1 s.
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
