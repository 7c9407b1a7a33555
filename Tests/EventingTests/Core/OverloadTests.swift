import Eventing
import Synchronization
import Testing

/// G15, its last sentences: a flood stays bounded, and disturbs nobody else.
///
/// The tests hold both cores while they run, so they run one after the other.
@Suite(.serialized, .fewAtATime, .timeLimit(.minutes(30))) struct OverloadTests {
  @Test(arguments: [2, 4]) func backlogOfAFloodStaysBounded(posters: Int) async {
    let flood = Flood(posters)
    let event = Event<Int>()
    for _ in 0..<8 { event.addHandler { _ in } }
    event.addHandler { _ in flood.delivered() }
    let first = await flood.begin(event)
    await onThreads(posters) { _ in for number in 0..<(60_000 / posters) { flood.post { event.post(number) } } }
    await first.opened()
    await event.quiesce()
    #expect(flood.deliveries == 60_001)
    #expect(flood.peak > 1_024)
    #expect(flood.peak < flood.bound)
  }

  @Test func backlogOfAFloodOfTicketsStaysBounded() async {
    let flood = Flood(2)
    let event = Event<Int>()
    event.addHandler { _ in flood.delivered() }
    let first = await flood.begin(event)
    await onThreads(2) { _ in for number in 0..<30_000 { flood.post { _ = event.submit(number) } } }
    await first.opened()
    await event.quiesce()
    #expect(flood.deliveries == 60_001)
    #expect(flood.peak > 1_024)
    #expect(flood.peak < flood.bound)
  }

  @Test func backlogBehindAHandlerThatBlocksGrowsSlowly() async {
    // While a delivery lasts, a post returns a short time later: so long as that is, so few are queued meanwhile.
    let event = Event<Int>()
    let (inside, gate, posted) = (Gate(), Gate(), Counter())
    event.addHandler { number in
      guard number == -1 else { return }
      inside.open()
      gate.wait()
    }
    let blocked = startThread { event.post(-1) }
    await inside.opened()
    let clock = ContinuousClock()
    let took = ConditionLock(Duration.zero)
    await startThread {
      let duration = clock.measure { for number in 0..<3_000 { event.post(number); posted.add() } }
      took.withLock { $0 = duration }
    }.opened()
    #expect(posted.value == 3_000)  // nobody waits for the handler
    #expect(took.withLock { $0 } > .microseconds(10) * (3_000 - 1_100))
    gate.open()
    await blocked.opened()
    await event.quiesce()
  }

  @Test func isolatedCallsAndQuiesceComeBackDuringAFlood() async {
    let event = Event<Int>()
    let isOver = Gate()
    for _ in 0..<8 { event.addHandler { _ in } }
    let posters = (0..<2).map { _ in
      startThread { while !isOver.isOpen { for number in 0..<100 { event.post(number) } } }
    }
    let counts = await comesBack {
      var counts: [Int] = []
      for _ in 0..<20 {
        counts.append(await event.handlers.count)
        await event.quiesce()
      }
      return counts
    }
    isOver.open()
    for poster in posters { await poster.opened() }
    #expect(counts == Array(repeating: 8, count: 20))
  }

  @Test func sendsAndChangesAreNotSlowedByAFlood() async {
    let event = Event<Int>()
    let isOver = Gate()
    event.addHandler { _ in }
    let posters = (0..<2).map { _ in
      startThread { while !isOver.isOpen { for number in 0..<100 { event.post(number) } } }
    }
    await comesBack {
      for number in 0..<200 {
        let token = event.addHandler(on: .background) { _ in }
        #expect(await event.send(number).delivered >= 1)
        #expect(event.lock(token))
        #expect(event.remove(token))
      }
    }
    isOver.open()
    for poster in posters { await poster.opened() }
  }

  @Test func handlerThatPostsManyTimesToItsOwnEventIsNotSlowed() async {
    let event = Event<Int>()
    let count = Counter()
    event.addHandler { number in
      count.add()
      if number == 0 { for follower in 1...200_000 { event.post(follower) } }
    }
    let took = ConditionLock(Duration.zero)
    await startThread {
      let duration = ContinuousClock().measure { event.post(0) }
      took.withLock { $0 = duration }
    }.opened()
    #expect(count.value == 200_001)
    #expect(took.withLock { $0 } < .seconds(10))  // 13 at 65 microseconds a post, in theory; a tenth of one as it should be
  }

  @Test func handlerOnTheEventsOwnQueueThatPostsManyTimesToItIsNotSlowed() async {
    let event = Event<Int>()
    let (inside, gate, count) = (Gate(), Gate(), Counter())
    let took = ConditionLock(Duration.zero)
    event.addHandler { number in
      count.add()
      switch number {
      case -1:
        inside.open()
        gate.wait()
      case 0:
        let duration = ContinuousClock().measure { for follower in 1...200_000 { event.post(follower) } }
        took.withLock { $0 = duration }
      default: break
      }
    }
    let poster = startThread { event.post(-1) }
    await inside.opened()
    event.post(0)  // of another thread than the one that is inside: so it is delivered on the event's own queue
    gate.open()
    await poster.opened()
    await event.quiesce()
    #expect(await eventually { count.value == 200_002 })
    #expect(took.withLock { $0 } < .seconds(10))
  }

  @Test func ringOfThreeEventsDoesNotCrawl() async {
    // 2,000 payloads go round at the same time, so every event is in a flood, and all that posts is drains.
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

  @Test func drainThatMeetsAFloodElsewhereSlowsThoseWhoPostToItsOwnEvent() async {
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
      case 2:  // on the first event's own queue: these posts are not slowed
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
    #expect(took.withLock { $0 } > .microseconds(10) * 1_000)  // fewer than make a flood by themselves
    end.open()
    for poster in posters { await poster.opened() }
    await first.quiesce()
    await last.quiesce()
  }
}

/// Counts what was posted and what was delivered of it.
private final class Flood: Sendable {
  private let posters: Int
  private let nap = shortestNap()
  private let posted = Atomic<Int>(0)
  private let done = Atomic<Int>(0)
  private let highest = Atomic<Int>(0)
  private let timing = ConditionLock((last: ContinuousClock.now, excess: 0.0))

  init(_ posters: Int) { self.posters = posters }

  var deliveries: Int { done.load(ordering: .acquiring) }
  /// The most that were posted and not yet delivered.
  var peak: Int { highest.load(ordering: .acquiring) }

  /// What the peak cannot reach, however the machine is loaded.
  ///
  /// Beyond 1,024 queued each poster queues one a nap. Deliveries of half a nap divided by the posters would hold a batch at
  /// 2 x 1,024, with 1,024 behind it; each delivery that takes longer lets as many more come as `delivered` counts.
  var bound: Int { 3 * (1_024 + 2 * posters + Int(timing.withLock { $0.excess })) }

  /// Posts once; a handler then keeps the event busy until a flood has gathered.
  ///
  /// - Returns: a gate that opens when that post has returned.
  func begin(_ event: Event<Int>) async -> Gate {
    let inside = Gate()
    event.once { _ in
      self.timing.withLock { $0.last = .now }
      inside.open()
      while self.posted.load(ordering: .relaxed) < 1_500 { giveWay() }
    }
    let over = startThread { self.post { event.post(-1) } }
    await inside.opened()
    return over
  }

  func post(_ post: () -> Void) {
    let posted = posted.wrappingAdd(1, ordering: .relaxed).newValue
    highest.max(posted - done.load(ordering: .relaxed), ordering: .relaxed)
    post()
  }

  func delivered() {
    done.wrappingAdd(1, ordering: .relaxed)
    timing.withLock { timing in
      let now = ContinuousClock.now
      timing.excess += max(0, Double(posters) * ((now - timing.last) / nap) - 0.5)
      timing.last = now
    }
  }
}

/// How long the shortest of some naps took that were to be 10 microseconds; they are measured, nothing waits for them.
private func shortestNap() -> Duration {
  (0..<50).map { _ in ContinuousClock().measure { nap(microseconds: 10) } }.min() ?? .microseconds(10)
}
