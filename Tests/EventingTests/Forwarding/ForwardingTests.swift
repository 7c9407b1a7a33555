import Dispatch
import Eventing
import Testing

/// Tests of guarantee G23: forwards are handlers.
@Suite(.fewAtATime) struct ForwardingTests {
  /// A source that adds handlers to `event`. First it calls `owned(by: owner)` on each handler. A
  /// forward must ignore this call, because the owner of a forward is its target.
  private struct OwningSource: EventSource {
    let event: Event<Int>
    let owner: Event<String>

    func add(contentsOf handlers: [Handler<Int>]) -> [HandlerToken] {
      event.add(contentsOf: handlers.map { $0.owned(by: owner) })
    }
    func add(_ handler: Handler<Int>) -> HandlerToken { event.add(handler.owned(by: owner)) }
    func remove(_ token: HandlerToken) -> Bool { event.remove(token) }
  }

  @Test func aSourceThatGivesItsOwnerToHandlersForwardsToTheTarget() {
    let (event, target, owner, seen) = (Event<Int>(), Event<Int>(), Event<String>(), Recorder<String>())
    target.addHandler { seen.record("target \($0)") }
    owner.addHandler { seen.record("owner \($0.count)") }
    OwningSource(event: event, owner: owner).forward(to: target)
    event.post(1)
    #expect(seen.values == ["target 1"])
  }

  @Test func aForwardHasItsPlaceInTheOrder() {
    let (first, second) = (Event<Int>(), Event<Int>())
    let seen = Recorder<String>()
    first.addHandler { seen.record("first \($0)") }
    first.forward(to: second)
    first.addHandler { seen.record("third \($0)") }
    second.addHandler { seen.record("second \($0)") }
    first.post(1)
    #expect(seen.values == ["first 1", "second 1", "third 1"])
  }

  @Test func aCycleEndsWhereItWouldEnterAnEventAgain() async {
    let events = (0..<3).map { _ in Event<Int>() }
    let seen = Recorder<Int>()
    for index in 0..<3 {
      events[index].addHandler { _ in seen.record(index) }
      events[index].forward(to: events[(index + 1) % 3])
    }
    let report = await events[1].send(7)
    #expect(seen.values == [1, 2, 0])
    #expect((report.delivered, report.skipped) == (2, 0))
    let last = await events[0].send(7)
    #expect(last.delivered == 2)
    events[0].forward(to: events[0])
    #expect(await events[0].send(7).skipped == 1)
  }

  @Test func aCycleThatIsQueuedEndsToo() async {
    let (one, other) = (Event<Int>(), Event<Int>())
    let (inside, gate, seen) = (Gate(), Gate(), Recorder<String>())
    one.forward(to: other)
    other.forward(to: one)
    one.addHandler { seen.record("one \($0)") }
    other.addHandler { number in
      seen.record("other \(number)")
      guard number == 0 else { return }
      inside.open()
      gate.wait()
    }
    let poster = startThread { other.post(0) }
    await inside.opened()
    let ticket = one.submit(1)  // `other` is busy, so its mailbox keeps occurrence 1, and the occurrence's path
    gate.open()
    await poster.opened()
    _ = await comesBack { await ticket.report }
    await other.quiesce()
    #expect(seen.values.filter { $0.hasSuffix("1") }.sorted() == ["one 1", "other 1"])
  }

  @Test(arguments: [127, 128, 129, 257, 5_000]) func noChainIsTooLongForTheStack(length: Int) async {
    let events = (0..<length).map { _ in Event<Int>() }
    for (one, next) in zip(events, events.dropFirst()) { one.forward(to: next) }
    let (seen, calls) = (Recorder<Int>(), Counter())
    for event in events { event.addHandler { _ in calls.add() } }
    events.last?.addHandler { seen.record($0) }
    let poster = startThread(stack: 4 * 1_024 * 1_024) { for number in 1...3 { events[0].post(number) } }
    await poster.opened()
    #expect(await events[0].send(4).delivered == 2)
    #expect(seen.values == [1, 2, 3, 4])
    #expect(calls.value == 4 * length)
    withExtendedLifetime(events) {}
  }

  @Test func aLongChainOfStrongForwardsIsReleasedWithoutADeepStack() async {
    let live = LiveCount()
    let first = ConditionLock<Event<Int>?>(nil)
    for _ in 0..<20_000 {
      let (event, canary) = (Event<Int>(), Canary(live))
      event.addHandler { _ in canary.sing() }
      first.withLock { next in
        if let next { event.forward(to: next, strongly: true) }
        next = event
      }
    }
    await startThread(stack: 1_024 * 1_024) { first.withLock { $0 = nil } }.opened()
    #expect(await eventually { live.alive == 0 })
  }

  @Test func taskHandlersBehindAForwardStartThoughOthersStillRun() async {
    let (one, other) = (Event<Int>(), Event<Int>())
    let (inside, go, fed) = (Gate(), Gate(), Gate())
    other.addHandler { number in
      guard number == 0 else { return }
      inside.open()
      go.wait()
    }
    other.addHandler(on: .task) { _ async in fed.open() }
    one.forward(to: other)
    one.addHandler(on: .task) { _ async in
      go.open()
      await fed.opened()
      await other.quiesce()
    }
    let poster = startThread { other.post(0) }
    await inside.opened()
    #expect(await comesBack { await one.send(1) }?.delivered == 2)
    await poster.opened()
  }

  @Test func twoPathsToOneEventDeliverTwice() {
    let (top, left, right, bottom) = (Event<Int>(), Event<Int>(), Event<Int>(), Event<Int>())
    let seen = Recorder<Int>()
    top.compactMap { $0 * 10 }.forward(to: left)
    top.compactMap { $0 * 100 }.forward(to: right)
    left.forward(to: bottom)
    right.forward(to: bottom)
    bottom.addHandler { seen.record($0) }
    top.post(1)
    #expect(seen.values == [10, 100])
  }

  @Test func viewsKeysAndObservedValuesForward() async {
    let (event, keyed, observed) = (Event<Int>(), KeyedEvent<String, Int>(), Observed(0))
    let (target, seen) = (Event<Int>(), Recorder<Int>())
    target.addHandler { seen.record($0) }
    let tokens = [
      event.filter { $0 > 1 }.map { -$0 }.forward(to: target), keyed["a"].forward(to: target),
      observed.newValues.forward(to: target),
    ]
    event.source.compactMap { $0 * 100 }.forward(to: target)
    target.filter { $0 == 7 }.forward(to: event)  // a cycle: `event` forwards to `target`, and `target` to `event`
    #expect(await event.send(1).skipped == 1)
    #expect(await event.send(2).delivered == 2)
    keyed.post(7, to: "a")
    keyed.post(4, to: "b")
    observed.value = 5
    #expect(seen.values == [100, -2, 200, 7, 5])
    #expect(event.remove(tokens[0]))
    #expect(event.removeAll(where: .forwarding(to: target)) == 1)
    #expect(keyed.remove(tokens[1]) && observed.remove(tokens[2]))
  }

  @Test func anOccurrenceKeepsItsSender() {
    let (first, second) = (Event<Int>(), Event<String>("second"))
    let sender = Recorder<String>()
    first.compactMap { "\($0)" }.forward(to: second)
    second.occurrences.addHandler { occurrence in
      sender.record("\(occurrence.payload) \(occurrence.sender === sender) \(occurrence.eventName ?? "")")
    }
    first.post(1, from: sender)
    #expect(sender.values == ["1 true second"])
  }

  @Test(arguments: LaneDelivery.allCases) func sendWaitsForTheHandlersOfTheTargetAndDoesNotCountThem(
    delivery: LaneDelivery
  ) async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let (gate, began, finished) = (Gate(), Gate(), Gate())
    first.forward(to: second)
    second.add(delivery.handler(DispatchQueue(label: "test"), until: gate) { began.open() })
    let sending = Task {
      let report = await first.send(1)
      finished.open()
      return report
    }
    await began.opened()
    #expect(!finished.isOpen)
    gate.open()
    let report = await sending.value
    #expect((report.delivered, report.skipped, report.deferred) == (1, 0, 0))
  }

  @Test func aCycleOfWaitsThroughAForwardIsDeferred() async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let inner = Recorder<SendReport>()
    first.forward(to: second)
    second.addHandler { number async in
      guard number == 1 else { return }
      inner.record(await first.send(2))
    }
    #expect(await comesBack { await first.send(1) }?.delivered == 1)
    // The handler of `second` called `first.send(2)`, so this send did not wait for the handler.
    // The report of this send counts only the forward, because `second` accepted the occurrence.
    #expect(inner.values.map(\.delivered) == [1])
    #expect(inner.values.map(\.deferred) == [0])
    await second.quiesce()
  }

  @Test func nilFromTheTransformSendsNothingAndCountsAsSkipped() async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let seen = Recorder<Int>()
    first.compactMap { $0.isMultiple(of: 2) ? $0 : nil }.forward(to: second)
    second.addHandler { seen.record($0) }
    #expect(await first.send(1).skipped == 1)
    #expect(await first.send(2).delivered == 1)
    #expect(seen.values == [2])
  }

  @Test func theTargetIsHeldWeaklyUnlessAsked() async {
    let first = Event<Int>()
    var (weakly, strongly): (Event<Int>?, Event<Int>?) = (Event(), Event())
    weak let (seenWeakly, seenStrongly) = (weakly, strongly)
    first.forward(to: weakly!)
    first.forward(to: strongly!, strongly: true)
    weakly = nil
    strongly = nil
    #expect(seenWeakly == nil)
    #expect(seenStrongly != nil)
    #expect(first.handlerCount == 1)
    #expect(await first.send(1).delivered == 1)
    first.removeAll()
    #expect(seenStrongly == nil)
  }

  @Test func aForwardIsRemovedByItsTokenOrByItsTarget() {
    let (first, second, third) = (Event<Int>(), Event<Int>(), Event<Int>())
    let seen = Recorder<Int>()
    second.addHandler { seen.record($0) }
    let token = first.forward(to: second)
    first.forward(to: second)
    first.forward(to: third)
    #expect(first.removeAll(where: .ownedBy(second)) == 0)  // a forward to `second` does not count as owned by `second`
    #expect(first.remove(token))
    #expect(first.removeAll(where: .forwarding(to: second)) == 1)
    #expect(first.removeAll(where: .forwarding(to: second)) == 0)
    first.post(1)
    #expect(seen.values == [])
    #expect(first.handlerCount == 1)
  }

  @Test func aLockedForwardSendsNothing() async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let seen = Recorder<Int>()
    let token = first.forward(to: second)
    second.addHandler { seen.record($0) }
    first.lock(token)
    #expect(await first.send(1).skipped == 1)
    first.unlock(token)
    first.post(2)
    #expect(seen.values == [2])
  }

  @Test func eachSendersOrderIsKeptThroughForwards() async {
    let (first, second, last) = (Event<Int>(), Event<Int>(), Event<Int>())
    let seen = Recorder<Int>()
    first.forward(to: last)
    second.forward(to: last)
    last.addHandler { seen.record($0) }
    await onThreads(4) { thread in
      for number in 0..<500 { (thread.isMultiple(of: 2) ? first : second).post(thread * 1_000 + number) }
    }
    for event in [first, second, last] { await event.quiesce() }
    #expect(await eventually { seen.count == 2_000 })
    for thread in 0..<4 {
      let own = seen.values.filter { $0 / 1_000 == thread }
      #expect(own == own.sorted() && own.count == 500)
    }
  }

  @Test(arguments: [127, 128, 129, 130, 300]) func anOccurrenceKeepsItsSenderHoweverLongTheChain(length: Int) async {
    let events = (0..<length).map { _ in Event<Int>() }
    for (one, next) in zip(events, events.dropFirst()) { one.forward(to: next) }
    let (sender, seen) = (Recorder<Int>(), Recorder<String>())
    for (index, event) in events.enumerated() {
      event.occurrences.addHandler { if $0.sender !== sender { seen.record("\($0.payload) has none at \(index)") } }
    }
    events.last?.addHandler { seen.record("\($0)") }
    events[0].post(1, from: sender)
    await events[0].send(2, from: sender)
    #expect(seen.values == ["1", "2"])
    withExtendedLifetime((events, sender)) {}
  }
}
