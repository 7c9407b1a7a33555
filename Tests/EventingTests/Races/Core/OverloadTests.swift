import Eventing
import Synchronization
import Testing

/// Tests of the last part of guarantee G15: the queue of an overloaded event stays bounded.
///
/// However many occurrences wait, no `send`, no change, and no post of the event's own handlers is
/// slowed. Each test occupies both cores of the machine, so the tests run one after the other.
@Suite(.serialized, .fewAtATime) struct OverloadTests {
  @Test(arguments: [2, 4]) func queueOfAnOverloadedEventStaysBounded(posters: Int) async {
    let flood = PostingThreads(posters)
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

  @Test func queueOfAnEventOverloadedByTicketsStaysBounded() async {
    let flood = PostingThreads(2)
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

  @Test func queueBehindAHandlerThatBlocksGrowsSlowly() async {
    // While the handler blocks, each post beyond the limit sleeps before it returns. So the queue
    // grows slowly, however long the handler blocks.
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
    #expect(posted.value == 3_000)  // no post waits for the handler
    #expect(took.withLock { $0 } > .microseconds(10) * (3_000 - 1_100))
    gate.open()
    await blocked.opened()
    await event.quiesce()
  }

  @Test func isolatedCallsAndQuiesceReturnDuringOverload() async {
    let event = Event<Int>()
    let isOver = Gate()
    for _ in 0..<8 { event.addHandler { _ in } }
    let posters = (0..<2).map { _ in
      startThread { while !isOver.isOpen { for number in 0..<100 { event.post(number) } } }
    }
    let counts = await comesBack {
      var counts: [Int] = []
      for _ in 0..<20 {
        counts.append(await event.handlers().count)
        await event.quiesce()
      }
      return counts
    }
    isOver.open()
    for poster in posters { await poster.opened() }
    #expect(counts == Array(repeating: 8, count: 20))
  }

  @Test func sendsAndChangesAreNotSlowedByOverload() async {
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
    // With a sleep of 65 µs for each post, the posts would take 13 s in theory. Without sleeps they
    // take about 0.1 s.
    #expect(took.withLock { $0 } < .seconds(10))
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
    event.post(0)  // this thread is not inside, so the event's own queue delivers the occurrence
    gate.open()
    await poster.opened()
    await event.quiesce()
    #expect(await eventually { count.value == 200_002 })
    #expect(took.withLock { $0 } < .seconds(10))
  }
}

/// Counts the posted and delivered occurrences of an event, and measures slow deliveries.
private final class PostingThreads: Sendable {
  private let posters: Int
  private let nap = shortestNap()
  private let posted = Atomic<Int>(0)
  private let done = Atomic<Int>(0)
  private let highest = Atomic<Int>(0)
  private let timing = ConditionLock((last: ContinuousClock.now, excess: 0.0))

  init(_ posters: Int) { self.posters = posters }

  var deliveries: Int { done.load(ordering: .acquiring) }
  /// The highest number of occurrences that were posted and not yet delivered.
  var peak: Int { highest.load(ordering: .acquiring) }

  /// The number that ``peak`` must not reach, however loaded the machine is.
  ///
  /// If more than 1,024 occurrences wait in the mailbox, each poster sleeps for at least `nap`
  /// after each post. Suppose that each delivery takes at most `nap / (2 · posters)`. Then the
  /// posters together add at most one occurrence during two deliveries.
  ///
  /// The drain takes all waiting occurrences out of the mailbox at once. Let *n* be their number.
  /// While the drain delivers them, the posters add at most 1,024 + *n* / 2 occurrences, which the
  /// drain takes next. So *n* never exceeds about 2 · 1,024. While the drain delivers 2 · 1,024
  /// occurrences, 1,024 more may wait before the posters sleep. So the peak is about 3 · 1,024.
  ///
  /// Each poster may add a few more before its first sleep. If a delivery takes longer, the posters
  /// add more occurrences, and `delivered()` adds the number of these to `excess`.
  var bound: Int { 3 * (1_024 + 2 * posters + Int(timing.withLock { $0.excess })) }

  /// Posts once. A handler of that post keeps the event busy until 1,500 occurrences are posted.
  ///
  /// - Returns: A gate that opens when the post has returned.
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

/// Returns the shortest of 50 measured sleeps, each requested for 10 µs.
private func shortestNap() -> Duration {
  (0..<50).map { _ in ContinuousClock().measure { nap(microseconds: 10) } }.min() ?? .microseconds(10)
}
