#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// At the end of a listening or of a connection, each message without a stream is handled, sent
  /// or counted.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct PlainEndTests {
    /// A handler of messages that ends when a test says so.
    private struct Begun: BegunMessage {
      let isOver: Guarded<Bool>
      var verdict: Verdict {
        get async {
          while !isOver.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(5)) }
          return .done
        }
      }
    }

    /// The server has sent a message, but has not confirmed the end yet. The second drain waits for
    /// the message, as the first one does.
    @Test func twoDrainsTogetherDropNoMessage() async throws {
      let server = try TextServer(TextServer.info(), pongs: 3)  // none for the end of the listening
      let nats = try await NATS.connect("nats://127.0.0.1:\(server.port)")
      let handled = Guarded<[String]>([])
      let subscription = try await nats.plain.subscribe("a", SubscribeOptions()) { message in
        handled.withLock { $0.append(String(decoding: message.body, as: UTF8.self)) }
        return Begun(isOver: Guarded(true))
      }
      async let first: Void = subscription.drain(within: .seconds(30))
      try await eventually("expected the end of the listening") { server.received.contains("UNSUB 2") }
      async let second: Void = subscription.drain(within: .seconds(30))
      for _ in 0..<1_000 { await Task.yield() }
      server.say("MSG a 2 1\r\n7\r\nPONG\r\n")
      _ = await (first, second)
      #expect(handled.withLock { $0 } == ["7"])
      await nats.close(within: .zero)
    }

    @Test func aDrainCountsWhatDidNotBeginInTime() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let (dropped, begun, isOver) = (Guarded(0), Guarded(0), Guarded(false))
      nats.incidents.addHandler { incident in
        if incident.kind == .slowConsumer { dropped.withLock { $0 += incident.dropped } }
      }
      var options = SubscribeOptions()
      options.inFlight = 1
      let subscription = try await nats.plain.subscribe("a", options) { _ in
        begun.withLock { $0 += 1 }
        return Begun(isOver: isOver)
      }
      for _ in 0..<5 { _ = try await nats.plain.publish(RemoteMessage(), to: "a") }
      try await eventually("expected a begun message") { begun.withLock { $0 } == 1 }
      await subscription.drain(within: .milliseconds(50))
      try await eventually("expected 4, got \(dropped.withLock { $0 })") { dropped.withLock { $0 } == 4 }
      #expect(begun.withLock { $0 } == 1)
      isOver.withLock { $0 = true }
      await nats.close()
    }

    @Test func aCloseCountsThePlainMessagesThatItDoesNotSend() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let found = Guarded<[TransportIncident]>([])
      nats.incidents.addHandler { incident in
        if incident.kind == .refused { found.withLock { $0.append(incident) } }
      }
      server.end()
      try await eventually("expected a lost connection") { !nats.engine.isConnected }
      for _ in 0..<3 {
        let isTaken = nats.engine.hand(Outgoing(subject: "a"), cost: 1)
        #expect(isTaken)
      }
      await nats.close(within: .zero)
      try await eventually("expected an incident") { !found.withLock { $0.isEmpty } }
      let isTaken = nats.engine.hand(Outgoing(subject: "a"), cost: 1)  // its publisher gets an error
      #expect(!isTaken && found.withLock { $0.map(\.dropped) } == [3])
    }
  }
#endif
