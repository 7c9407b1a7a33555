#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// An error line of the server ends at most the message or the listening that it is about. The
  /// connection comes back by itself, with every listening.
  @Suite(.serialized, .timeLimit(.minutes(2))) struct RevivingTests {
    /// A connection with a listening, a stream's listening and a responder.
    private final class Work: Sendable {
      let nats: NATS
      let other: NATS
      let ticks: RemoteEvent<Int>
      let double: RemoteQuestion<Int, Int>
      let heard = Guarded<[Int]>([])
      let incidents = Guarded<[TransportIncident]>([])

      init(_ nats: NATS, _ other: NATS) async throws {
        (self.nats, self.other) = (nats, other)
        (ticks, double) = (RemoteEvent("ticks", over: nats.plain), RemoteQuestion("double", over: nats.plain))
        nats.incidents.addHandler { [incidents] incident in incidents.withLock { $0.append(incident) } }
        ticks.addHandler { [heard] number in heard.withLock { $0.append(number) } }
        double.addResponder { number in number * 2 }
        try await ticks.listen(as: "one")
        try await double.listen(as: "one")
      }

      func goesOn(_ number: Int) async throws {
        let (sender, asker) = (
          RemoteEvent<Int>("ticks", over: other.plain), RemoteQuestion<Int, Int>("double", over: other.plain)
        )
        var last = ContinuousClock.now - .seconds(1)
        let end = ContinuousClock.now + .seconds(30)
        while !heard.withLock({ $0.contains(number) }) {
          try #require(ContinuousClock.now < end, "expected \(number); told: \(incidents.withLock { $0 })")
          if last + .milliseconds(200) < .now {
            last = .now
            try await sender.publish(number)
          }
          try await Task.sleep(for: .milliseconds(5))
        }
        while (try? await asker.firstAnswer(to: number, within: .seconds(1))) != 2 * number {
          try #require(ContinuousClock.now < end, "expected an answer; told: \(incidents.withLock { $0 })")
        }
      }

      func close() async {
        await nats.close()
        await other.close()
      }
    }

    @Test func aMessageThatIsTooLargeForTheReloadedServerEndsNoConnection() async throws {
      let server = try NATSServer("max_payload: 1048576")
      let work = try await Work(try await server.connect(), try await server.connect())
      let stream = try await work.nats.stream("TEST", subjects: ["test.>"])
      try await server.reload("max_payload: 65536")
      let frame = RemoteMessage(body: [UInt8](repeating: 7, count: 700_000))
      _ = try? await work.nats.plain.publish(frame, to: "frames")
      try await eventually("expected the words of the server, got \(work.incidents.withLock { $0 })") {
        work.incidents.withLock { $0.contains { $0.reason.lowercased().contains("maximum payload") } }
      }
      try await work.goesOn(1)
      #expect(await transportError { _ = try await stream.publish(frame, to: "test.a") }?.code == .tooLarge)
      try await work.goesOn(2)
      await work.close()
    }

    @Test func aListeningTooManyEndsNoOtherListening() async throws {
      let server = try NATSServer("max_subscriptions: 4")
      let work = try await Work(try await server.connect(), try await server.connect())
      let more = (0..<2).map { RemoteEvent<Int>("more.\($0)", over: work.nats.plain) }
      for event in more { event.addHandler { _ in } }
      try await more[0].listen()
      let error = await transportError { try await more[1].listen() }
      #expect(error?.code == .refused && error?.description.contains("maximum subscriptions exceeded") == true)
      try await work.goesOn(1)
      await work.close()
    }

    @Test func aListeningGoesOnWhenItsPermissionIsGivenBack() async throws {
      func users(_ more: String) -> String {
        "authorization { users: [ { user: a, password: a\(more) }, { user: b, password: b } ] }"
      }
      let server = try NATSServer(users(""))
      let work = try await Work(
        try await server.connect(credentials: .user("a", password: "a")),
        try await server.connect(credentials: .user("b", password: "b")))
      try await work.goesOn(1)
      try await server.reload(users(#", permissions: { subscribe: { allow: ">", deny: ["ticks", "double"] } }"#))
      func told(_ kind: TransportIncident.Kind) -> [String] {
        work.incidents.withLock { $0.filter { $0.kind == kind }.compactMap(\.event) }.sorted()
      }
      try await eventually("expected two refusals, got \(work.incidents.withLock { $0 })") {
        told(.refused) == ["double", "ticks"]
      }
      try await server.reload(users(""))
      try await work.goesOn(2)
      #expect(told(.refused) == ["double", "ticks"])  // further attempts are not told
      try await eventually("expected that both are told") { told(.reconnected) == ["double", "ticks"] }
      await work.close()
    }

    /// libnats would keep such a message, and send it to the next server without a look at the size
    /// that this server takes.
    @Test func aMessageIsNotKeptByLibnatsWhileTheConnectionIsLost() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      server.end()
      try await eventually("expected a lost connection") { !nats.engine.isConnected }
      let connection = nats.engine.connection
      let sent = try await onOwnThread { connection.send(Outgoing(subject: "a", body: [1])) }
      guard case .away = sent else {
        Issue.record("expected that the message is not taken, got \(sent)")
        return
      }
      try server.start()
      try await eventually("expected a connection") { nats.engine.isConnected }
      await nats.close()
    }
  }
#endif
