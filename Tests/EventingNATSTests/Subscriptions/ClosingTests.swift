#if NATS
  import Eventing
  @testable import EventingNATS
  import Testing

  /// While a connection closes, no listening begins, and each request gets its reply.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct ClosingTests {
    private struct Handled: BegunMessage {
      var knownVerdict: Verdict? { .done }
      var verdict: Verdict { get async { .done } }
    }

    /// A close of the connection ends the subscriptions that it finds when it begins, and waits
    /// until their messages are handled (`drain(within:)`). It would not do so for a later
    /// subscription.
    @Test func aListeningDuringACloseIsRefused() async throws {
      let server = try NATSServer(hasStreams: false)
      let (nats, other) = (try await server.connect(), try await server.connect())
      let (begun, isOver) = (OneShot<Void>(), OneShot<Void>())
      let responder = try await nats.plain.respond(to: "a", group: nil, inFlight: 1) { message in
        begun.set(())
        await isOver.value
        return message
      }
      let marks = try await nats.plain.subscribe("mark", SubscribeOptions()) { _ in Handled() }
      async let answer = other.plain.request(RemoteMessage(), to: "a", within: .seconds(50))
      await begun.value
      async let close: Void = nats.close(within: .seconds(50))
      let subscription = try #require(marks as? PlainSubscription)
      try await eventually("expected that the close has begun") { !subscription.inflow.isOpen }
      let error = await transportError {
        _ = try await nats.plain.subscribe("b", SubscribeOptions()) { _ in Handled() }
      }
      #expect(error?.code == .closed)
      isOver.set(())
      _ = try await answer
      await close
      withExtendedLifetime(responder) {}
      await other.close()
    }

    /// The server sends requests until it knows that the responder has ended.
    @Test func aRequestThatComesDuringACloseIsAnswered() async throws {
      let isClosing = Guarded(false)
      let server = try TextServer(TextServer.info(), pongs: .max) { _ in
        (isClosing.withLock { $0 } ? "MSG a 2 _INBOX.b 1\r\nx\r\n" : "") + "PONG\r\n"
      }
      let nats = try await NATS.connect("nats://127.0.0.1:\(server.port)")
      _ = try await nats.plain.respond(to: "a", group: nil, inFlight: 1) { _ in
        RemoteMessage(body: Array("answered".utf8))
      }
      isClosing.withLock { $0 = true }
      await nats.close()
      try await eventually("expected an end") { server.isLeft }
      #expect(server.received.contains("answered"))
    }

    @Test func oneIncidentTellsTheRepliesThatComeAfterAClose() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let found = Guarded<[Int]>([])
      nats.incidents.addHandler { incident in
        if incident.kind == .refused { found.withLock { $0.append(incident.dropped) } }
      }
      let (begun, isOver) = (Guarded(0), Guarded(false))
      _ = try await nats.plain.respond(to: "a", group: nil, inFlight: 3) { message in
        begun.withLock { $0 += 1 }
        while !isOver.withLock({ $0 }) { await pause(.milliseconds(5)) }
        return message
      }
      let raw = try RawClient(server.port)
      for _ in 0..<4 { raw.publish("a", reply: "_INBOX.b", block: "NATS/1.0\r\n\r\n", body: "") }
      try await eventually("expected 3 begun requests") { begun.withLock { $0 } == 3 }
      await nats.close(within: .zero)
      isOver.withLock { $0 = true }
      try await eventually("expected 3, got \(found.withLock { $0 })") { found.withLock { $0.reduce(0, +) } == 3 }
      #expect(found.withLock { $0 } == [3])
    }
  }
#endif
