#if NATS
  import Eventing
  @testable import EventingNATS
  import Testing

  /// A message that has waited for the connection is sent only if something still waits for its
  /// answer.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct UnneededMessageTests {
    private struct Handled: BegunMessage {
      var knownVerdict: Verdict? { .done }
      var verdict: Verdict { get async { .done } }
    }

    /// Tells the engine that its connection is lost, and runs a closure while the engine sends
    /// nothing. Then tells the engine that the connection is restored.
    ///
    /// Returns the messages that the engine sends after that to subjects below `prefix`, each as
    /// the last word of its subject, such as `open` for `a.open`. The last one is `last`, which
    /// this function sends itself.
    private func sent(
      _ nats: NATS, _ server: NATSServer, below prefix: String, _ body: () async throws -> Void
    ) async throws -> [String] {
      let other = try await server.connect()
      let words = Guarded<[String]>([])
      let subscription = try await other.plain.subscribe("\(prefix).>", SubscribeOptions()) { message in
        words.withLock { $0.append(String(message.subject.split(separator: ".").last ?? "")) }
        return Handled()
      }
      let events = nats.engine.connection.connectionEvents
      events.tell(.lost)
      try await body()
      events.tell(.reconnected)
      nats.engine.sendQueue.send(Outgoing(subject: "\(prefix).last"))
      try await eventually("expected the last one, got \(words.withLock { $0 })") {
        words.withLock { $0.contains("last") }
      }
      withExtendedLifetime(subscription) {}
      await other.close()
      return words.withLock { $0 }
    }

    @Test func aQuestionWhoseTimeIsOverIsNotAsked() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let words = try await sent(nats, server, below: "a") {
        for (word, wait) in [("late", Duration.zero), ("open", .seconds(600))] {
          let (_, outcome) = nats.engine.beginExchange(
            Outgoing(subject: "a.\(word)"), until: .now + wait, endsWhenLost: false)
          if word == "late" { _ = await outcome.value }
        }
      }
      #expect(words == ["open", "last"])
      await nats.close()
    }

    /// On a reconnection, a subscription forgets its requests for messages, and makes new ones. If
    /// a forgotten request were sent nevertheless, the server would send messages for both.
    @Test func aRequestForMessagesThatWasForgottenIsNotSent() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      var options = SubscribeOptions()
      options.group = "one"
      options.isReady = { false }
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let made = try await stream.subscribe("test.a", options) { _ in Handled() }
      let subscription = try #require(made as? StreamSubscription)
      let words = try await sent(nats, server, below: "$JS.API.CONSUMER.MSG.NEXT") {
        let pull = subscription.state.withLock { $0.pulls.begin(room: 1, of: 1, .now + .seconds(600)) }
        subscription.send(try #require(pull))
      }
      #expect(words == ["last"])
      await nats.close()
    }
  }
#endif
