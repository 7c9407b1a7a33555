#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  @Suite(.serialized, .timeLimit(.minutes(1))) struct StreamTests {
    @Test func aStreamIsMadeOnceAndRefusedIfItDiffers() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      _ = try await nats.stream("ORDERS", subjects: ["orders.>", "bills.*"], maxAge: .seconds(60))
      _ = try await nats.stream("ORDERS", subjects: ["bills.*", "orders.>"])
      let subjects = await transportError { _ = try await nats.stream("ORDERS", subjects: ["orders.>"]) }
      #expect(subjects?.code == .streamDiffers)
      #expect(
        subjects?.description == "expected the stream ORDERS to have subjects orders.>; it has bills.*, orders.>")
      let age = await transportError {
        _ = try await nats.stream("ORDERS", subjects: ["orders.>", "bills.*"], maxAge: .seconds(5))
      }
      #expect(age?.code == .streamDiffers)
      let overlap = await transportError { _ = try await nats.stream("OTHER", subjects: ["orders.placed"]) }
      #expect(overlap?.code == .refused)
      #expect(overlap?.description.contains("overlap") == true)
      await nats.close()
    }

    /// Sends a request to the interface of the server's streams.
    private func administer(_ nats: NATS, _ path: String, _ body: String) async throws {
      let answer = try await nats.plain.request(
        RemoteMessage(body: Array(body.utf8)), to: "$JS.API.\(path)", within: .seconds(20))
      let text = String(decoding: answer.body, as: UTF8.self)
      try #require(!text.contains("error"), "\(text)")
    }

    @Test func aStreamThatGivesNoReceiptsIsRefused() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let config = #"{"name":"TEST","subjects":["test.>"],"storage":"file","num_replicas":1,"no_ack":true}"#
      try await administer(nats, "STREAM.CREATE.TEST", config)
      let error = await transportError { _ = try await nats.stream("TEST", subjects: ["test.>"]) }
      #expect(error?.code == .streamDiffers)
      #expect(
        error?.description == "expected the stream TEST to have receipts for what is published; it has no_ack")
      await nats.close()
    }

    /// With such a consumer, messages would be done that no handler has seen.
    @Test(arguments: [
      #""ack_policy":"none""#, #""ack_policy":"explicit","max_deliver":3"#,
      #""ack_policy":"explicit","deliver_subject":"elsewhere""#,
    ]) func aConsumerThatIsOtherwiseIsRefused(options: String) async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let mark = try await StreamAdmin(nats.engine).facts(of: "TEST").mark
      let name = ConsumerConfig.baseName("test.a", "one") + mark
      let config = #"{"durable_name":"\#(name)","filter_subject":"test.a",\#(options)}"#
      try await administer(
        nats, "CONSUMER.DURABLE.CREATE.TEST.\(name)", #"{"stream_name":"TEST","config":\#(config)}"#)
      let event = RemoteEvent<Int>("test.a", over: stream)
      event.addHandler { _ in }
      let error = await transportError { try await event.listen(as: "one") }
      #expect(error?.code == .refused)
      #expect(error?.description.contains("to have ack_policy explicit, max_deliver -1 and no deliver_subject") == true)
      await nats.close()
    }

    @Test func badNamesSubjectsAndOptionsOfStreamsAreRefused() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      for name in ["", "a b", "a.b", "a*", ">", "a/b"] {
        #expect(await transportError { _ = try await nats.stream(name, subjects: ["a.>"]) }?.code == .badOption)
      }
      for subjects in [[], [""], ["a b"], ["a..b"], ["a.>.b"], ["a*"], ["$JS.API.>"]] {
        #expect(await transportError { _ = try await nats.stream("A", subjects: subjects) }?.code == .badSubject)
      }
      #expect(
        await transportError { _ = try await nats.stream("A", subjects: ["a"], maxAge: .zero) }?.code == .badOption)
      #expect(await transportError { _ = try await nats.stream("A", subjects: ["a"], replicas: 9) }?.code == .badOption)
      await nats.close()
    }

    @Test func aServerWithoutStreamsIsNamed() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let error = await transportError { _ = try await nats.stream("ORDERS", subjects: ["orders.>"]) }
      #expect(error?.code == .refused)
      #expect(error?.description.contains("JetStream") == true, "\(error as Any)")
      await nats.close()
    }

    @Test func whatTheStreamDoesNotStoreIsRefused() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let orders = try await nats.stream("ORDERS", subjects: ["orders.>"])
      let other = RemoteEvent<Int>("bills.sent", over: orders)
      #expect(await transportError { _ = try await other.publish(1) }?.code == .badSubject)
      #expect(await transportError { try await other.listen(as: "one") }?.code == .badSubject)
      let placed = RemoteEvent<Int>("orders.placed", over: orders)
      let dead = await transportError { try await placed.listen(as: "one", deadLetter: "dead.orders") }
      #expect(dead?.code == .badSubject)
      #expect(dead?.description == "expected a stream that stores the dead-letter subject dead.orders; there is none")
      _ = try await nats.stream("DEAD", subjects: ["dead.>"])
      try await placed.listen(as: "one", deadLetter: "dead.orders")
      await nats.close()
    }

    @Test func badSubjectsGroupsAndSizesAreRefused() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      for transport in [stream, nats.plain] {
        for subject in ["test.a b", "test..a", ""] {
          let event = RemoteEvent<Int>(subject, over: transport)
          #expect(await transportError { _ = try await event.publish(1) }?.code == .badSubject)
          #expect(await transportError { try await event.listen(as: "one") }?.code == .badSubject)
        }
        let event = RemoteEvent<[UInt8]>("test.a", over: transport, codec: .bytes)
        for group in ["", "a b", "a.b"] {
          #expect(await transportError { try await event.listen(as: group) }?.code == .badGroup)
        }
        let most = transport.promises.largestPayload
        let error = await transportError { _ = try await event.publish([UInt8](repeating: 1, count: most + 1)) }
        #expect(error?.code == .tooLarge)
        #expect(error?.description == "expected at most \(most) bytes for test.a, got \(most + 1)")
        let headers = await transportError {
          _ = try await event.publish([1], headers: ["Trace": String(repeating: "x", count: 10_000)])
        }
        #expect(headers?.code == .tooLarge)
        // Without a remote event, the transport itself checks the subject and the group.
        #expect(
          await transportError { _ = try await transport.publish(RemoteMessage(), to: "test.a\r\nPUB x 0") } != nil)
        var options = SubscribeOptions()
        options.group = ""
        #expect(
          await transportError { _ = try await transport.subscribe("test.a", options) { _ in Handled() } }?.code
            == .badGroup)
      }
      await nats.close()
    }

    /// If a message goes to no stream, an id that the publisher did not choose is not sent: it
    /// would only cost time.
    @Test func anIDIsSentIfItIsNeeded() async throws {
      let server = try TextServer(TextServer.info(), pongs: 100)
      let nats = try await NATS.connect("nats://127.0.0.1:\(server.port)")
      let event = RemoteEvent<[UInt8]>("a", over: nats.plain, codec: .bytes)
      try await event.publish([65])
      _ = try await event.publish([66], id: "seven")
      try await eventually("expected both messages, got \(server.received)") { server.received.contains("B\r\n") }
      #expect(server.received.contains("\r\nPUB a 1\r\nA\r\n"))
      #expect(server.received.contains("\r\nHPUB a ") && server.received.contains("Nats-Msg-Id: seven\r\n"))
      await nats.close()
    }

    @Test func aSubjectWithoutPermissionIsRefused() async throws {
      let server = try NATSServer(
        """
        authorization { users: [{ user: anna, password: p, permissions: {
          publish: { deny: ["test.secret"] }, subscribe: { deny: ["test.secret"] } } }] }
        """)
      let nats = try await server.connect(credentials: .user("anna", password: "p"))
      let incidents = Guarded<[TransportIncident]>([])
      nats.incidents.addHandler { incident in incidents.withLock { $0.append(incident) } }
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let published = await transportError { _ = try await stream.publish(RemoteMessage(), to: "test.secret") }
      #expect(published?.code == .refused)
      #expect(published?.description.contains("Permissions Violation") == true)
      let event = RemoteEvent<Int>("test.secret", over: nats.plain)
      #expect(await transportError { try await event.listen() }?.code == .refused)
      _ = try? await event.publish(1)  // without a stream, `publish` does not wait for the refusal
      try await eventually("expected an incident, got \(incidents.withLock { $0 })") {
        incidents.withLock { $0.filter { $0.kind == .refused && $0.reason.contains("Publish to") }.count >= 2 }
      }
      await nats.close()
    }

    /// If the server refuses a publish or a subscription, the engine finds out which one: it
    /// compares the subject in the server's error text with the subjects that it sent. The two may
    /// differ. The server escapes some characters, libnats cuts long texts, and the engine hides
    /// what looks like a login or is a password.
    @Test(arguments: ["q\"", "b\\", "anna@p", "secret", String(repeating: "a", count: 240)])
    func anUnusualSubjectWithoutPermissionIsRefused(word: String) async throws {
      let server = try NATSServer(
        """
        authorization { users: [{ user: anna, password: secret, permissions: {
          publish: { deny: ["test.no.>"] }, subscribe: { deny: ["test.no.>"] } } }] }
        """)
      let nats = try await server.connect(credentials: .user("anna", password: "secret"))
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let published = await transportError { _ = try await stream.publish(RemoteMessage(), to: "test.no.\(word)") }
      #expect(published?.code == .refused)
      let listened = await transportError {
        try await RemoteEvent<Int>("test.no.\(word)", over: nats.plain).listen()
      }
      #expect(listened?.code == .refused)
      await nats.close()
    }

    private struct Handled: BegunMessage {
      var knownVerdict: Verdict? { .done }
      var verdict: Verdict { get async { .done } }
    }
  }
#endif
