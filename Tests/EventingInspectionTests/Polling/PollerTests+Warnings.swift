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
