import Eventing
import EventingTesting
import EventingTransport
import Testing

/// A listening remembers the ids of messages that it has handled, or is handling now.
@Suite(.timeLimit(.minutes(10))) struct DeduplicationTests {
  @Test func theOldestIdIsForgottenFirst() throws {
    try simulate(1...5) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock).plain)
      let notes = Notes<String>()
      event.remoteOccurrences.addHandler { notes.note($0.id) }
      try await event.listen(deduplicating: .last(2))
      // The test publishes these ids in this order. The comment behind an id names the two ids that
      // the listening remembers after the message with that id, the older one first.
      for id in ["a", "b", "a" /* a b */, "c" /* b c */, "b", "a" /* c a */, "c", "b" /* a b */, "a", "c"] {
        _ = try await event.publish(0, id: id)
        try await clock.sleep(for: .seconds(1))
      }
      try require(notes.values == ["a", "b", "c", "a", "b", "c"], "\(notes.values)")
    }
  }

  @Test func idsThatSwiftTakesForEqualAreTwoIds() throws {
    try simulate(1...5) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let notes = Notes<Int>()
      event.addHandler { notes.note($0) }
      try await event.listen(as: "one", deduplicating: .last(10))
      let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
      try require(composed == decomposed, "Swift compares by canonical equivalence")
      for (number, id) in [composed, decomposed, composed].enumerated() {
        let message = RemoteMessage(id: id, body: Array("\(number)".utf8))
        let receipt = try await bus.publish(message, to: "numbers")
        try require(receipt.isDuplicate == (number == 2), "\(number)")
      }
      try await clock.sleep(for: .seconds(1))
      try require(notes.values == [0, 1], "\(notes.values)")
    }
  }

  @Test func subjectsThatSwiftTakesForEqualAreTwoSubjects() throws {
    try simulate(1...5) { clock in
      let bus = InMemoryTransport(clock: clock)
      let (one, other) = (RemoteEvent<Int>("caf\u{E9}", over: bus), RemoteEvent<Int>("cafe\u{301}", over: bus))
      let (ofOne, ofOther) = (Notes<Int>(), Notes<Int>())
      one.addHandler { ofOne.note($0) }
      one.forward(to: other)  // not a loop: another subject
      other.addHandler { ofOther.note($0) }
      try await one.listen(as: "one")
      try await other.listen(as: "other")
      try await one.publish(1)
      try await other.publish(2)
      try await clock.sleep(for: .seconds(1))
      try require(ofOne.values == [1] && ofOther.values.sorted() == [1, 2], "\(ofOne.values) \(ofOther.values)")
    }
  }

  /// While the handler of a message runs, the engine forgets that it has delivered the message, and
  /// delivers it again.
  @Test(arguments: [true, false]) func aMessageThatIsInHandIsNotBegunAgain(awaitsVerdicts: Bool) throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let engine: any Transport = awaitsVerdicts ? FaultyTransport(bus) : bus
      let event = RemoteEvent<Int>("numbers", over: engine)
      let notes = Notes<Int>()
      event.addHandler { number async in
        try? await clock.sleep(for: .seconds(10))
        notes.note(number)
      }
      try await event.listen(as: "one", deduplicating: .last(10))
      try await event.publish(7)
      for _ in 0..<3 {
        try await clock.sleep(for: .seconds(1))
        bus.disconnect()
        bus.reconnect(forgettingWhatIsInHand: true)
      }
      try await clock.sleep(for: .seconds(100))
      try require(notes.values == [7], "\(notes.values)")
    }
  }

  @Test func withoutAWindowWhatComesAgainIsHandledAgain() throws {
    try simulate(1...5) { clock in
      for window in [Deduplication.none, .last(0), .last(-1)] {
        let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock).plain)
        let notes = Notes<Int>()
        event.addHandler { notes.note($0) }
        try await event.listen(deduplicating: window)
        for number in 1...2 { _ = try await event.publish(number, id: "one") }
        try await clock.sleep(for: .seconds(1))
        try require(notes.values == [1, 2], "\(notes.values)")
      }
    }
  }

  /// Checks copies that come while a message is given up: after its handlers have failed, and
  /// before its dead letter is published.
  @Test func copiesOfAMessageThatIsGivenUpDoNotOverlap() throws {
    try simulate(1...5) { clock in
      let engine = OpenTransport(base: InMemoryTransport(clock: clock))
      let event = RemoteEvent<[UInt8]>("numbers", over: engine, codec: .bytes)
      let running = Guarded((now: 0, most: 0, all: 0))
      try await event.listen(retry: .immediately(attempts: 1), deadLetter: "dead", deduplicating: .last(10))
      let begin = try #require(engine.begin.withLock { $0 })
      let copy = RemoteMessage(id: "a", subject: "numbers", position: 1)
      let failing = event.addHandler { _ in throw Refused() }
      let first = begin(copy)
      try require(first.knownVerdict == nil && event.remove(failing), "a verdict before the dead letter")
      event.addHandler { _ async throws in
        running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.all + 1) }
        defer { running.withLock { $0.now -= 1 } }
        try await clock.sleep(for: .seconds(10))
      }
      let second = begin(copy)
      guard case .reject = await first.verdict else { throw Unmet(description: "the first copy was not rejected") }
      let third = begin(copy)
      for other in [second, third] { _ = await other.verdict }
      let (_, most, all) = running.withLock { $0 }
      try require(most == 1 && all == 1, "\(most) of \(all) overlapped")
    }
  }
}

extension DeduplicationTests {
  /// A copy comes while the dead letter waits for the connection.
  @Test func aCopyOfAMessageWhoseLetterIsPublishedReachesNoHandler() throws {
    try simulate(1...5) { clock in
      let engine = OpenTransport(base: InMemoryTransport(clock: clock))
      let event = RemoteEvent<[UInt8]>("numbers", over: engine, codec: .bytes)
      let calls = Guarded(0)
      event.addHandler { _ in
        calls.withLock { $0 += 1 }
        throw Refused()
      }
      try await event.listen(as: "one", retry: .immediately(attempts: 1), deadLetter: "dead")
      let begin = try #require(engine.begin.withLock { $0 })
      let copy = RemoteMessage(id: "a", subject: "numbers", position: 1)
      let first = begin(copy)
      try require(first.knownVerdict == nil, "a verdict before the dead letter")
      engine.base.disconnect()
      let verdict = Task(executorPreference: EventContext.executor) { await first.verdict }
      try await clock.sleep(for: .milliseconds(100))
      guard case .release = await begin(copy).verdict else { throw Unmet(description: "the copy was handled") }
      engine.base.reconnect()
      _ = await verdict.value
      try require(calls.withLock { $0 } == 1, "\(calls.withLock { $0 }) calls")
    }
  }
}

/// An engine that gives a test the `begin` closure of a subscription. So the test itself can call
/// this closure, with messages that the engine does not deliver.
private struct OpenTransport: Transport {
  let base: InMemoryTransport
  /// The `begin` closure of the last subscription.
  let begin = Guarded<(@Sendable (RemoteMessage) -> any BegunMessage)?>(nil)

  var identity: String { base.identity }
  var promises: TransportPromises { base.promises }
  var incidents: any EventSource<TransportIncident> { base.incidents }

  func publish(_ message: RemoteMessage, to subject: String) async throws -> Receipt {
    try await base.publish(message, to: subject)
  }

  func subscribe(
    _ subject: String, _ options: SubscribeOptions, _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
  ) async throws -> any TransportSubscription {
    self.begin.withLock { $0 = begin }
    return try await base.subscribe(subject, options, begin)
  }

  func request(_ message: RemoteMessage, to subject: String, within limit: Duration) async throws -> RemoteMessage {
    try await base.request(message, to: subject, within: limit)
  }

  func respond(
    to subject: String, group: String?, inFlight: Int,
    _ answer: @escaping @Sendable (RemoteMessage) async -> RemoteMessage
  ) async throws -> any TransportSubscription {
    try await base.respond(to: subject, group: group, inFlight: inFlight, answer)
  }
}
