#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// Tests of dead letters that go to another stream, for which a handler throws again, or that the
  /// server refuses to store. A message with a forged header of a dead letter does not count as
  /// one.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct DeadLetterTests {
    private struct Refused: Error {}

    @Test func lettersGoToAnotherStream() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let orders = try await nats.stream("ORDERS", subjects: ["orders.>"])
      let dead = try await nats.stream("DEAD", subjects: ["dead.>"])
      let (placed, letters) = (
        RemoteEvent<Int>("orders.placed", over: orders), RemoteEvent<Int>("dead.billing", over: dead)
      )
      let (calls, found) = (Guarded(0), Guarded<[RemoteOccurrence<Int>]>([]))
      placed.addHandler { _ in
        calls.withLock { $0 += 1 }
        throw Refused()
      }
      letters.remoteOccurrences.addHandler { letter in found.withLock { $0.append(letter) } }
      try await letters.listen(as: "readers")
      try await placed.listen(as: "billing", retry: .immediately(attempts: 2), deadLetter: "dead.billing")
      try await placed.publish(7)
      try await eventually("expected a letter after \(calls.withLock { $0 }) calls") { found.withLock { !$0.isEmpty } }
      #expect(calls.withLock { $0 } == 2)
      let letter = try #require(found.withLock { $0.first })
      #expect(letter.payload == 7 && letter.headers["Eventing-Dead-Subject"] == "orders.placed")
      // Only dead letters may go from one stream to a subject that another stream stores.
      let other = RemoteEvent<Int>("dead.billing", over: orders)
      #expect(await transportError { _ = try await other.publish(1) }?.code == .badSubject)
      await nats.close()
    }

    /// The listening to `test.dead.a` has `test.dead.b` as the subject for its own dead letters,
    /// and the listening to `test.dead.b` has `test.dead.a`.
    @Test func aLetterDoesNotGoBack() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let rejected = Guarded<[TransportIncident]>([])
      nats.incidents.addHandler { incident in
        if incident.kind == .deadLetter { rejected.withLock { $0.append(incident) } }
      }
      let subjects = ["test.a": "test.dead.a", "test.dead.a": "test.dead.b", "test.dead.b": "test.dead.a"]
      let calls = Guarded<[String: Int]>([:])
      var events: [RemoteEvent<Int>] = []
      for (subject, dead) in subjects {
        let event = RemoteEvent<Int>(subject, over: stream)
        event.addHandler { _ in
          calls.withLock { $0[subject, default: 0] += 1 }
          throw Refused()
        }
        try await event.listen(as: "one", retry: .immediately(attempts: 1), deadLetter: dead)
        events.append(event)
      }
      let event = RemoteEvent<Int>("test.a", over: stream)
      for number in 1...2 {
        try await event.publish(number)
        try await eventually("expected the letter to be rejected, got \(rejected.withLock { $0 })") {
          rejected.withLock { $0.filter { $0.subject == "test.dead.b" }.count } == number
        }
      }
      #expect(calls.withLock { $0 } == ["test.a": 2, "test.dead.a": 2, "test.dead.b": 2])
      let reasons = rejected.withLock { $0.filter { $0.subject == "test.dead.b" }.map(\.reason) }
      #expect(reasons.allSatisfy { $0.contains("a dead letter that came from test.dead.a") }, "\(reasons)")
      #expect(rejected.withLock { $0.allSatisfy { $0.event == $0.subject && $0.stream == "TEST" } })
      await nats.close()
      withExtendedLifetime(events) {}
    }

    /// Another program may write the header of a dead letter into any message. To have a failed
    /// message handled again, it may also publish the letter to the subject where that message was
    /// published. What it publishes counts as a message, not as a letter: if its handler fails, a
    /// new letter must be published.
    @Test func theHeaderOfALetterAloneMakesNoLetter() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let stream = try await nats.stream("TEST", subjects: ["test.>", "dead.>"])
      let placed = RemoteEvent<Int>("test.a", over: stream)
      let found = Guarded<[RemoteMessage]>([])
      placed.addHandler { _ in throw Refused() }
      var options = SubscribeOptions()
      options.start = .first
      let reader = try await stream.subscribe("dead.one", options) { message in
        found.withLock { $0.append(message) }
        return Handled()
      }
      try await placed.listen(as: "one", retry: .immediately(attempts: 1), deadLetter: "dead.one")
      let foreign = RemoteMessage(headers: ["Eventing-Dead-Subject": "test.b"], body: Array("7".utf8))
      _ = try await stream.publish(foreign, to: "test.a")
      try await eventually("expected a letter") { found.withLock { $0.count } == 1 }
      var letter = try #require(found.withLock { $0.first })
      #expect(letter.headers["Eventing-Dead-Subject"] == "test.a")
      letter.id = "again"
      _ = try await stream.publish(letter, to: "test.a")
      try await eventually("expected one more letter") { found.withLock { $0.count } == 2 }
      reader.cancel()
      await nats.close()
    }

    private struct Handled: BegunMessage {
      var knownVerdict: Verdict? { .done }
      var verdict: Verdict { get async { .done } }
    }

    /// Gives up each message of `test.a`, and collects the letters in `dead.one` of another stream.
    private final class GivenUp: Sendable {
      let server: NATSServer
      let nats: NATS
      let event: RemoteEvent<[UInt8]>
      let letters = Guarded<[RemoteMessage]>([])
      let incidents = Guarded<[TransportIncident]>([])

      init(_ dead: String) async throws {
        server = try NATSServer()
        nats = try await server.connect()
        let config = #"{"name":"DEAD","subjects":["dead.>"],"storage":"file","num_replicas":1,\#(dead)}"#
        let made = try await nats.plain.request(
          RemoteMessage(body: Array(config.utf8)), to: "$JS.API.STREAM.CREATE.DEAD", within: .seconds(20))
        try #require(!String(decoding: made.body, as: UTF8.self).contains("error"))
        event = RemoteEvent("test.a", over: try await nats.stream("TEST", subjects: ["test.>"]), codec: .bytes)
        event.addHandler { _ in throw Refused() }
        nats.incidents.addHandler { [incidents] incident in incidents.withLock { $0.append(incident) } }
        var options = SubscribeOptions()
        options.start = .first
        _ = try await nats.stream("DEAD", subjects: ["dead.>"]).subscribe("dead.one", options) { [letters] message in
          letters.withLock { $0.append(message) }
          return Handled()
        }
        try await event.listen(as: "one", retry: .immediately(attempts: 1), deadLetter: "dead.one")
      }

      func letter(_ number: Int) async throws -> RemoteMessage {
        try await eventually("expected \(number) letters, got incidents \(incidents.withLock { $0 })") {
          letters.withLock { $0.count } == number
        }
        return letters.withLock { $0[number - 1] }
      }
    }

    /// The server obeys headers whose names begin with `Nats-`. With them, it would refuse the
    /// letter for ever, or delete the letters before it.
    @Test func theServersInstructionsForAMessageAreNoneForItsLetter() async throws {
      let given = try await GivenUp(#""allow_rollup_hdrs":true"#)
      let client = try RawClient(given.server.port)
      for (number, (name, value)) in [
        ("Expected-Stream", "TEST"), ("Expected-Last-Sequence", "1"), ("Expected-Last-Msg-Id", "2"),
      ].enumerated() {
        client.publish(
          "test.a", block: "NATS/1.0\r\nNats-Msg-Id: \(number + 1)\r\nNats-\(name): \(value)\r\n\r\n", body: "a")
        let letter = try await given.letter(number + 1)
        #expect(letter.headers["Eventing-Dead-Instruction-\(name)"] == value)
        #expect(!letter.headers.keys.contains { $0.hasPrefix("Nats-") })
      }
      await given.nats.close()
    }

    /// A letter has more headers than its message. If the stream for letters refuses it because of
    /// its size, it is cut, and its headers say so.
    @Test func aLetterThatIsTooLargeIsCut() async throws {
      let given = try await GivenUp(#""max_msg_size":1000"#)
      try await given.event.publish([UInt8](repeating: 65, count: 900), headers: ["Trace": "t"])
      let letter = try await given.letter(1)
      #expect(letter.headers["Eventing-Dead-Left-Out"] == "1" && letter.headers["Trace"] == nil)
      #expect(letter.headers["Eventing-Dead-Size"] == "900" && letter.headers["Eventing-Dead-Subject"] == "test.a")
      #expect(letter.body == [UInt8](repeating: 65, count: 450))
      try await eventually("expected that the message is given up") {
        given.incidents.withLock { $0.contains { $0.kind == .deadLetter } }
      }
      let dead = RemoteEvent<[UInt8]>(
        "dead.two", over: try await given.nats.stream("DEAD", subjects: ["dead.>"]), codec: .bytes)
      let error = await transportError { try await dead.publish([UInt8](repeating: 65, count: 2_000)) }
      #expect(error?.code == .tooLarge && error?.isLasting == true)
      await given.nats.close()
    }

    /// The server allows control characters in subjects, but a header cannot have them.
    @Test func theSubjectOfALetterIsEscaped() async throws {
      let given = try await GivenUp(#""max_msgs":100"#)
      let listener = RemoteKeyedEvent<String, [UInt8]>(
        "test", over: try await given.nats.stream("TEST", subjects: ["test.>"]), codec: .bytes)
      listener.anyKey.addHandler { _ in }
      try await listener.listen(as: "all", retry: .immediately(attempts: 1), deadLetter: "dead.one")
      let client = try RawClient(given.server.port)
      client.publish("test.\u{1}%", block: "NATS/1.0\r\n\r\n", body: "a")
      let letter = try await given.letter(1)
      #expect(letter.headers["Eventing-Dead-Subject"] == "test.%01%25")
      #expect(given.incidents.withLock { $0.allSatisfy { !"\($0)".contains("\u{1}") } })
      await given.nats.close()
    }

    @Test func theServersAnswersAreTakenByTheirNumbers() {
      func refusal(_ number: Int?, _ code: Int) -> StoreAnswer.Refusal {
        StoreAnswer.Refusal(number: number, code: code)
      }
      #expect(refusal(10_054, 400) == .tooLarge && refusal(10_097, 400) == .tooLarge)
      #expect(refusal(10_060, 400) == .never && refusal(10_071, 400) == .never && refusal(10_111, 500) == .never)
      for number in [10_023, 10_047, 10_077, 10_008] { #expect(refusal(number, 503) == .comesAgain) }
      #expect(refusal(10_002, 400) == .comesAgain && refusal(10_109, 400) == .comesAgain)
      #expect(refusal(99_999, 400) == .never && refusal(99_999, 503) == .comesAgain && refusal(nil, 404) == .comesAgain)
    }

    @Test func aLetterThatTheServerRefusesCallsNoHandlerAgain() async throws {
      let server = try NATSServer(
        """
        authorization { users: [{ user: anna, password: p, permissions: { publish: { deny: ["dead.>"] } } }] }
        """)
      let nats = try await server.connect(credentials: .user("anna", password: "p"))
      let incidents = Guarded<[TransportIncident]>([])
      nats.incidents.addHandler { incident in incidents.withLock { $0.append(incident) } }
      let stream = try await nats.stream("TEST", subjects: ["test.>", "dead.>"])
      let event = RemoteEvent<Int>("test.a", over: stream)
      let calls = Guarded<[Int]>([])
      event.addHandler { number in
        calls.withLock { $0.append(number) }
        if number < 10 { throw Refused() }
      }
      try await event.listen(as: "one", inFlight: 1, retry: .immediately(attempts: 1), deadLetter: "dead.one")
      try await event.publish(1)
      // Each incident reports one more failed attempt to store the letter.
      try await eventually("expected incidents, got \(incidents.withLock { $0 })") {
        incidents.withLock { $0.filter { $0.subject == "test.a" && $0.reason.contains("dead letter") }.count } >= 3
      }
      try await event.publish(10)
      try await eventually("expected 10, got \(calls.withLock { $0 })") { calls.withLock { $0.contains(10) } }
      #expect(calls.withLock { $0 } == [1, 10])
      #expect(incidents.withLock { !$0.contains { $0.kind == .deadLetter } })
      await nats.close()
    }
  }
#endif
