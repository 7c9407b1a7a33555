import Dispatch
import Eventing
import Testing

/// Tests of views, and of interceptors, which can stop an occurrence.
@Suite(.fewAtATime) struct ViewTests {
  @Test(arguments: SerialKind.allCases) func aViewConvertsWhereTheEventDeliversAndTheHandlerRunsWhereItIsToRun(
    kind: SerialKind
  ) async {
    let event = Event<Int>()
    let (converted, seen) = (Recorder<Int>(), Recorder<String>())
    let view = event.filter { $0 > 0 }.compactMap { number -> String? in
      converted.record(number)
      return number.isMultiple(of: 2) ? "\(number)" : nil
    }
    let strings = Event<String>()
    _ = view.addHandler { strings.post($0) }
    add(kind, to: strings) { seen.record($0) }
    for number in -1...4 { event.post(number) }
    #expect(converted.values == [1, 2, 3, 4])
    await event.quiesce()
    await strings.quiesce()
    #expect(seen.values == ["2", "4"])
  }

  @Test func aHandlerOnALaneReceivesTheTransformedPayloadAndTheTransformRunsOnce() async {
    let event = Event<Int>()
    let (asked, seen) = (Counter(), Recorder<Int>())
    let view = event.map { number in
      asked.add()
      return 10 * number
    }
    view.addHandler(on: .background) { seen.record($0) }
    view.addHandler { number async in seen.record(number) }
    view.addHandler(on: .concurrent(limit: 2)) { number in seen.record(number) }
    view.addHandler(on: .task) { number in seen.record(number) }
    view.addHandler(on: .main) { seen.record($0) }
    #expect(await event.send(1).delivered == 5)
    #expect(asked.value == 5)
    #expect(seen.values == Array(repeating: 10, count: 5))
  }

  @Test func aFilteredPayloadCountsAsSkippedAndUsesNoOnceHandlerUp() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.filter { $0 > 1 }.once { seen.record($0) }
    event.filter { $0 > 2 }.once(on: .background) { seen.record(10 * $0) }
    let report = await event.send(1)
    #expect((report.delivered, report.skipped) == (0, 2))
    #expect(await event.handlers().map(\.skippedCount) == [1, 1])
    await event.send(2)
    await event.send(3)
    await event.send(4)
    #expect(seen.values == [2, 30])
    #expect(event.handlerCount == 0)
  }

  @Test func aHandlerOfAViewIsLockedRemovedAndOwnedLikeAnyOther() async {
    let event = Event<Int>()
    let (seen, live) = (Recorder<Int>(), LiveCount())
    let token = event.map { $0 + 1 }.addHandler(.named("view"), .priority(2)) { seen.record($0) }
    do {
      let owner = Canary(live)
      event.signal.addHandler(owner: owner) { _ in seen.record(0) }
      event.post(1)
    }
    #expect(seen.values == [2, 0])
    #expect(live.alive == 0)
    event.lockAll(where: .named("view"))
    event.post(2)
    event.unlock(token)
    event.post(3)
    #expect(event.remove(token))
    event.post(4)
    #expect(seen.values == [2, 0, 4])
    #expect(event.handlerCount == 0)
  }

  @Test func anErrorOfAHandlerOfAViewIsInTheReport() async {
    struct Refusal: Error {}
    let event = Event<Int>()
    event.map { $0 }.addHandler(.named("inline")) { _ in throw Refusal() }
    event.map { $0 }.addHandler(.named("lane"), on: .background) { _ in throw Refusal() }
    #expect(await event.send(1).failures.map(\.handler.name) == ["inline", "lane"])
  }

  /// Every source has occurrences: those of a view have its payloads.
  @Test func occurrencesBehindAViewHaveItsPayloads() async {
    let (event, sender, seen) = (Event<Int>("reading"), Recorder<Int>(), Recorder<String>())
    let note = { @Sendable (name: String?, sequence: UInt64, payload: String, isSent: Bool) in
      seen.record("\(name ?? "none") \(sequence) \(payload) \(isSent)")
    }
    event.filter { $0 > 1 }.map { "\($0)" }.occurrences.addHandler { [weak sender] in
      note($0.eventName, $0.sequence, $0.payload, $0.sender === sender)
    }
    event.occurrences.map { "\($0.payload) of \($0.sequence)" }.occurrences.addHandler(on: .background) {
      note($0.eventName, $0.sequence, $0.payload, $0.sender == nil)
    }
    event.post(1)
    await event.send(2, from: sender)
    #expect(Set(seen.values) == ["reading 2 2 true", "reading 1 1 of 1 true", "reading 2 2 of 2 false"])
    let (rooms, level) = (KeyedEvent<Int, Int>("rooms"), Observed(7, name: "level"))
    seen.removeAll()
    rooms[3].occurrences.addHandler { note($0.eventName, $0.sequence, "\($0.payload)", $0.sender == nil) }
    level.newValues.occurrences.addHandler { note($0.eventName, $0.sequence, "\($0.payload)", $0.sender == nil) }
    rooms.post(5, to: 3)
    level.value = 8
    #expect(seen.values == ["rooms 1 5 true", "level 1 8 true"])
  }

  // MARK: Interception

  @Test func aStoppedOccurrenceReachesNoLaterHandlerAndCountsAsSkipped() async {
    let event = Event<Int>()
    let seen = Recorder<String>()
    event.addHandler(.priority(2)) { seen.record("before \($0)") }
    event.intercept(.priority(1)) { $0 < 0 ? .stop : .proceed }
    event.addHandler { seen.record("inline \($0)") }
    event.once { seen.record("once \($0)") }
    event.addHandler(priority: -1, on: .background)
    let report = await event.send(-1)
    #expect((report.delivered, report.skipped) == (2, 3))
    #expect(await event.send(1).delivered == 5)
    #expect(seen.values == ["before -1", "before 1", "inline 1", "once 1"])
  }

  @Test func anInterceptorThatThrowsIsAFailureAndProceeds() async {
    struct Refusal: Error {}
    let event = Event<Int>()
    event.intercept { _ in throw Refusal() }
    event.addHandler { _ in }
    let report = await event.send(1)
    #expect((report.delivered, report.failures.count) == (1, 1))
  }

  @Test func aLockedInterceptorStopsNothingAndOneThatIsRemovedMeanwhileNeither() async {
    let event = Event<Int>()
    let token = event.intercept { _ in .stop }
    event.addHandler { _ in }
    event.lock(token)
    #expect(await event.send(1).delivered == 1)
    event.unlock(token)
    #expect(await event.send(1).skipped == 1)
    event.addHandler(.priority(1)) { _ in event.remove(token) }
    #expect(await event.send(1).delivered == 2)
  }

  @Test func endedHandlersAreNotCountedBehindAnInterceptor() async {
    let event = Event<Int>()
    let live = LiveCount()
    do {
      let owner = Canary(live)
      event.intercept { _ in .stop }
      event.addHandler(on: .background, owner: owner) { _, _ in }
    }
    let token = event.addHandler { _ in }
    event.addHandler(.priority(1)) { _ in event.remove(token) }
    let report = await event.send(1)
    #expect((report.delivered, report.skipped) == (2, 0))
    #expect(event.handlerCount == 2)
  }
}

extension Event<Int> {
  /// Adds a handler that does nothing.
  fileprivate nonisolated func addHandler(priority: Int, on delivery: SyncDelivery) {
    addHandler(.priority(priority), on: delivery) { _ in }
  }
}

/// Tests of methods with arguments that follow the payload.
@Suite(.fewAtATime) struct BoundMethodTests {
  private final class Ledger: Sendable {
    let seen = Recorder<String>()
    @Sendable func book(_ order: Int, _ account: String, _ times: Int) {
      seen.record("book \(order) \(account) \(times)")
    }
    @Sendable func store(_ order: Int, _ account: String) async { seen.record("store \(order) \(account)") }
    @MainActor func show(_ order: Int, _ account: String) { seen.record("show \(order) \(account)") }
  }

  @Test func synchronousAsynchronousAndMainActorMethodsTakeBoundArguments() async {
    let event = Event<Int>()
    let ledger = Ledger()
    event.addHandler(owner: ledger) { $0.book($1, "web", 3) }
    event.addHandler(owner: ledger) { await $0.store($1, "web") }
    event.addHandler(on: .main, owner: ledger) { $0.show($1, "web") }
    await event.send(1)
    #expect(ledger.seen.values.sorted() == ["book 1 web 3", "show 1 web", "store 1 web"])
  }
}
