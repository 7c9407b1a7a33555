import EventingTesting
import Testing

@testable import Eventing
@testable import EventingInspection

/// Tests of warnings about handlers that are added and removed.
extension PollerTests {
  /// Checks a once handler that adds its successor. A poll finds only the successor, which was not
  /// called yet. Nevertheless there is no warning that the event is unheard.
  @Test func aHandlerThatAddsItsSuccessorIsHeard() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let (event, last) = (Event<Int>("added again"), Guarded<HandlerToken?>(nil))
    @Sendable func add() {
      let token = event.once { _ in add() }
      last.withLock { $0 = token }
    }
    add()
    for number in 1...3 { event.post(number) }
    let (poller, now, id) = (Poller(), InspectionClock.now, event.identity.number)
    poller.poll(at: now + 10 * Self.second)
    let polled = poller.events[try #require(poller.index(of: id))]
    #expect(polled.handlers.map(\.reading.calls) == [0] && !polled.wasHeard)
    #expect(warning(.unheard, poller, id) == nil)
    // The handler does not get this occurrence, because the handler is locked.
    event.lock(try #require(last.withLock { $0 }))
    event.post(4)
    poller.poll(at: now + 20 * Self.second)
    #expect(warning(.unheard, poller, id)?.count == 4)
    event.removeAll()
  }

  /// The only handler listens to another key than the occurrences have.
  @Test func anEventWhoseHandlersHaveOtherKeysIsUnheard() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = KeyedEvent<String, Int>("other keys")
    event["a"].addHandler { _ in }
    let (poller, now, id) = (Poller(), InspectionClock.now, event.event.identity.number)
    poller.poll(at: now)
    event.post(1, to: "b")
    poller.poll(at: now + 10 * Self.second)
    #expect(warning(.unheard, poller, id) == nil)  // the delivery of 1 may still be under way
    event.post(2, to: "b")
    poller.poll(at: now + 20 * Self.second)
    #expect(warning(.unheard, poller, id)?.count == 2)
    event.removeAll()
  }

  @Test func aHandlerThatWaitsForItsNextAttemptIsNotStuck() async throws {
    struct Refusal: Error {}
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let (event, clock) = (Event<Int>("retried"), ManualClock())
    let (gate, calls) = (Signal(), Guarded(0))
    let ends = gate.payloads()
    let handler = Handler<Int> { _ async throws in
      let number = calls.withLock { calls -> Int in
        calls += 1
        return calls
      }
      guard number == 2 else { throw Refusal() }
      for await _ in ends {}
    }
    let policy = RetryPolicy.exponential(from: .seconds(30), to: .seconds(30), attempts: 2, jitter: false)
    event.add(handler.with(.retrying(policy, clock: clock)))
    let (poller, now, id) = (Poller(), InspectionClock.now, event.identity.number)
    event.post(1)
    await clock.waitForSleepers()
    for round in 0...3 as ClosedRange<UInt64> { poller.poll(at: now + round * Self.second) }
    let polled = poller.events[try #require(poller.index(of: id))]
    #expect(polled.handlers.map { [$0.reading.running, $0.reading.calls, $0.reading.ended] } == [[0, 1, 0]])
    #expect(warning(.stuck, poller, id) == nil)
    clock.advance(by: .seconds(30))
    while calls.withLock({ $0 }) < 2 { await Task.yield() }
    for round in 4...6 as ClosedRange<UInt64> { poller.poll(at: now + round * Self.second) }
    #expect(warning(.stuck, poller, id)?.count == 2_000)
    gate.finish()
    await event.quiesce()
  }

  /// A handler whose calls usually take three seconds is stuck after six.
  @Test func whatUsuallyTakesLongIsNotStuck() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let (event, entered, goOn) = (Event<Int>("slow"), Signal(), Signal())
    let (entries, ends) = (entered.payloads(), goOn.payloads())
    event.addHandler { _ async in
      entered.post()
      for await _ in ends { return }
    }
    let (poller, now, id) = (Poller(), InspectionClock.now, event.identity.number)
    var second: UInt64 = 0
    func poll() {
      poller.poll(at: now + second * Self.second)
      second += 1
    }
    func call(for seconds: Int) async -> [Int?] {
      event.post(1)
      for await _ in entries { break }
      var counts: [Int?] = []
      for _ in 0...seconds {
        poll()
        counts.append(warning(.stuck, poller, id)?.count)
      }
      goOn.post()
      await event.quiesce()
      for _ in 0...2 { poll() }
      return counts
    }
    #expect(await call(for: 3) == [nil, 1_000, 2_000, 3_000])
    #expect(await call(for: 4) == [nil, nil, nil, nil, nil])
    #expect(await call(for: 11).compactMap(\.self).first == 10_000)
  }

  /// A pace drops what a newer occurrence replaces, as its handler asks. A bound drops what it has
  /// no room for.
  @Test func onlyABoundIsWarnedOf() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let (event, clock) = (Event<Int>("paced"), ManualClock())
    let paced = event.addHandler(.debounced(for: .seconds(1), clock: clock)) { (_: Int) in }
    let (entered, gate) = (Signal(), Signal())
    let (entries, ends) = (entered.payloads(), gate.payloads())
    let bounded = event.addHandler(.buffering(.oldest(1)), on: .inOrder) { number async in
      guard number == 1 else { return }
      entered.post()
      for await _ in ends {}
    }
    event.post(1)
    for await _ in entries { break }
    let (poller, now, id) = (Poller(), InspectionClock.now, event.identity.number)
    poller.poll(at: now)
    for number in 2...5 { event.post(number) }
    poller.poll(at: now + Self.second)
    let handlers = poller.events[try #require(poller.index(of: id))].handlers
    #expect(handlers.map(\.reading.dropped) == [4, 3])
    #expect(warning(.dropping, poller, id, paced.id) == nil)
    #expect(warning(.dropping, poller, id, bounded.id)?.count == 3)
    gate.finish()
    await event.quiesce()
  }

  #if DEBUG
    /// Removes the first of many handlers: the warning stays, and names another handler.
    @Test func manyHandlersOfOneLineAreOneWarning() throws {
      EventRegistry.start()
      defer { EventRegistry.stop() }
      let event = Event<Int>("many")
      var tokens: [HandlerToken] = []
      for _ in 0..<110 { tokens.append(event.addHandler { _ in }) }
      for _ in 0..<120 { event.addHandler { _ in } }
      let (poller, now, id) = (Poller(), InspectionClock.now, event.identity.number)
      var found: [PolledWarning] { poller.warnings.all.filter { $0.code == .many && $0.event == id } }
      poller.poll(at: now)
      let before = found
      #expect(before.map(\.count).sorted() == [110, 120])
      let first = try #require(before.first { $0.count == 110 })
      #expect(first.handler == tokens[0].id)
      event.remove(tokens[0])
      poller.poll(at: now + Self.second)
      #expect(found.map(\.id) == before.map(\.id))
      let later = try #require(found.first { $0.id == first.id })
      #expect(later.count == 109 && later.handler == tokens[1].id && later.version == poller.tick)
    }
  #else
    /// In a release build, the place in the source of an inline handler without options is not
    /// known. All such handlers of an event share one warning, which names no handler.
    @Test func manyHandlersOfAReleaseBuildAreOneWarning() throws {
      EventRegistry.start()
      defer { EventRegistry.stop() }
      let event = Event<Int>("many")
      for _ in 0..<120 { event.addHandler { _ in } }
      let (poller, id) = (Poller(), event.identity.number)
      poller.poll(at: InspectionClock.now)
      let found = poller.warnings.all.filter { $0.code == .many && $0.event == id }
      #expect(found.map(\.count) == [120] && found.first?.handler == nil)
      event.removeAll()
    }
  #endif
}
