#if NATS
  import Eventing
  @testable import EventingNATS
  import Testing

  /// A subscription makes its consumer again, and what it remembers of the lost one has no effect.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct RestoringTests {
    private struct Endless: BegunMessage {
      var verdict: Verdict {
        get async {
          await pause(.seconds(30))
          return .done
        }
      }
    }

    /// Returns a subscription that requests no messages.
    private func idleSubscription(_ nats: NATS, _ group: String?) async throws -> StreamSubscription {
      var options = SubscribeOptions()
      options.group = group
      options.isReady = { false }
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      return try #require(try await stream.subscribe("test.a", options) { _ in Endless() } as? StreamSubscription)
    }

    /// Sends a request to the server's JetStream interface. Returns the answer.
    @discardableResult private func ask(_ nats: NATS, _ path: String) async throws -> String {
      let answer = try await nats.plain.request(RemoteMessage(), to: "$JS.API.\(path)", within: .seconds(20))
      return String(decoding: answer.body, as: UTF8.self)
    }

    /// The server does not answer the requests for messages that were sent to a lost consumer. The
    /// subscription must not count them as open when it has made the consumer again. Otherwise it
    /// would see no room for new requests until the deadline of the old ones.
    @Test func theRequestsToALostConsumerEndWhenItIsMadeAgain() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let subscription = try await idleSubscription(nats, "one")
      try await ask(nats, "CONSUMER.DELETE.TEST.\(subscription.config.name)")
      let later = ContinuousClock.now + .seconds(600)
      _ = subscription.state.withLock { $0.pulls.begin(room: 1, of: 1, later) }
      subscription.beginRestoring()
      try await eventually("expected an end") { !subscription.state.withLock { $0.isRestoring } }
      #expect(subscription.state.withLock { $0.pulls.isEmpty })
      // If the consumer was not lost, the requests to it stay open.
      _ = subscription.state.withLock { $0.pulls.begin(room: 1, of: 1, later) }
      subscription.beginRestoring()
      try await eventually("expected an end") { !subscription.state.withLock { $0.isRestoring } }
      #expect(!subscription.state.withLock { $0.pulls.isEmpty })
      await nats.close()
    }

    /// Checks a subscription that is cancelled while it makes its consumer again. A consumer that
    /// is made after the subscription's end would stay at the server for 300 s.
    @Test func aConsumerIsNotMadeAgainAfterTheEnd() async throws {
      let server = try NATSServer()
      let proxy = try Proxy(to: server.port)
      let (nats, other) = (try await server.connect(through: proxy), try await server.connect())
      let subscription = try await idleSubscription(nats, nil)
      try await ask(other, "CONSUMER.DELETE.TEST.\(subscription.config.name)")
      proxy.hold(until: "CONSUMER.DELETE")
      subscription.beginRestoring()
      try await eventually("expected the first question") { proxy.sent.contains("STREAM.INFO") }
      subscription.cancel()
      try await eventually("expected an end") { !subscription.state.withLock { $0.isRestoring } }
      let names = try await ask(other, "CONSUMER.NAMES.TEST")
      #expect(!names.contains(subscription.config.name))
      await nats.close()
      await other.close()
    }

    /// The positions that the subscription remembers from the deleted stream are larger than those
    /// of the new stream's first messages.
    @Test(arguments: ["one", nil]) func aStreamThatIsMadeAgainIsHandledFromItsFirstMessage(group: String?) async throws
    {
      let server = try NATSServer()
      let nats = try await server.connect()
      let event = RemoteEvent<Int>("test.a", over: try await nats.stream("TEST", subjects: ["test.>"]))
      let numbers = Guarded<[Int]>([])
      event.addHandler { number in numbers.withLock { $0.append(number) } }
      for _ in 0..<10 { try await event.publish(0) }  // before the listening begins
      if let group { try await event.listen(as: group) } else { try await event.listen() }
      for number in 1...5 { try await event.publish(number) }
      try await eventually("expected 1...5") { numbers.withLock { $0 } == Array(1...5) }
      try await ask(nats, "STREAM.DELETE.TEST")
      _ = try await nats.stream("TEST", subjects: ["test.>"])
      for number in 6...7 { try await event.publish(number) }
      try await eventually("expected 6 and 7, got \(numbers.withLock { $0 })") { numbers.withLock { $0.count } >= 7 }
      #expect(numbers.withLock { $0 } == Array(1...7))
      await nats.close()
    }

    /// A server that has crashed may have lost the last messages, and then stores others at their
    /// positions. So a new consumer must not begin behind the end of the stream.
    @Test func aConsumerIsMadeAgainWithinTheStream() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let subscription = try await idleSubscription(nats, nil)
      for _ in 0..<2 { _ = try await nats.stream("TEST", subjects: ["test.>"]).publish(RemoteMessage(), to: "test.a") }
      subscription.state.withLock { $0.nextPosition = 1_000 }
      try await ask(nats, "CONSUMER.DELETE.TEST.\(subscription.config.name)")
      subscription.beginRestoring()
      try await eventually("expected an end") { !subscription.state.withLock { $0.isRestoring } }
      let consumer = try await ask(nats, "CONSUMER.INFO.TEST.\(subscription.config.name)")
      #expect(consumer.contains(#""opt_start_seq":3,"#))
      await nats.close()
    }

    /// A member that has no open request for messages does not hear that the stream was deleted. It
    /// finds the new stream when it asks for its consumer.
    @Test func aMemberNoticesAStreamThatAnotherMemberHasFoundAgain() async throws {
      let server = try NATSServer()
      let (nats, other) = (try await server.connect(), try await server.connect())
      var options = SubscribeOptions()
      options.group = "one"
      options.inFlight = 1
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let made = try await stream.subscribe("test.a", options) { _ in Endless() }
      let subscription = try #require(made as? StreamSubscription)
      _ = try await stream.publish(RemoteMessage(), to: "test.a")
      try await eventually("expected a message in hand") { subscription.inflow.count == 1 }
      try await ask(other, "STREAM.DELETE.TEST")
      let second = try await other.stream("TEST", subjects: ["test.>"])
      let otherSubscription = try await second.subscribe("test.a", options) { _ in Endless() }
      subscription.askForFloor(.now + .seconds(60))
      try await eventually(within: .seconds(20), "expected a consumer of the new stream") {
        subscription.inflow.items.first.map { $0.consumer != subscription.config.name } ?? false
      }
      #expect(subscription.config.name == (otherSubscription as? StreamSubscription)?.config.name)
      withExtendedLifetime(otherSubscription) {}
      await nats.close(within: .zero)
      await other.close(within: .zero)
    }

    /// The consumer of a deleted stream is gone with it, so a request for messages gets no answer.
    @Test func aRequestForMessagesStartsTheSearchForAnotherStream() async throws {
      let server = try NATSServer()
      let (nats, other) = (try await server.connect(), try await server.connect())
      let isReady = Guarded(true)
      var options = SubscribeOptions()
      options.group = "one"
      options.inFlight = 2
      options.isReady = { isReady.withLock { $0 } }
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let made = try await stream.subscribe("test.a", options) { _ in
        isReady.withLock { $0 = false }
        return Endless()
      }
      let subscription = try #require(made as? StreamSubscription)
      _ = try await stream.publish(RemoteMessage(), to: "test.a")
      try await eventually("expected a message, and no open request") {
        subscription.inflow.count == 1 && subscription.state.withLock { !$0.isReady && $0.pulls.isEmpty }
      }
      try await ask(other, "STREAM.DELETE.TEST")
      let second = try await other.stream("TEST", subjects: ["test.>"])
      options.isReady = { false }
      let otherSubscription = try await second.subscribe("test.a", options) { _ in Endless() }  // makes the consumer
      _ = try await second.publish(RemoteMessage(), to: "test.a")
      isReady.withLock { $0 = true }
      subscription.readinessChanged()
      try await eventually("expected a message of each stream") {
        let name = subscription.config.name
        let items = subscription.inflow.items.sorted { $0.number < $1.number }
        return items.count == 2 && items[0].consumer != name && items[1].consumer == name
      }
      withExtendedLifetime(otherSubscription) {}
      await nats.close(within: .zero)
      await other.close(within: .zero)
    }

    /// A new consumer begins at the smallest position of the messages in hand. Positions in a
    /// deleted stream say nothing about the new stream.
    @Test func theFirstPositionInHandIsThatOfOneStream() throws {
      let inflow = Inflow(2)
      for (position, consumer) in [(1, "old"), (7, "new"), (8, "new")] as [(UInt64, String)] {
        var message = RemoteMessage()
        message.position = position
        _ = inflow.append(Inflow.Item(message: message, reply: "a", consumer: consumer), limit: 4)
      }
      let (first, second) = (try #require(inflow.take()), try #require(inflow.take()))
      _ = (inflow.settle(first), inflow.settle(second))
      #expect(inflow.firstPosition(of: "old") == 1 && inflow.firstPosition(of: "new") == 7)
      inflow.finish(second)
      #expect(inflow.firstPosition(of: "new") == 8 && inflow.firstPosition(of: "other") == nil)
    }
  }
#endif
