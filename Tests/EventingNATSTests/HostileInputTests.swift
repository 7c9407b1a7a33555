#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// R12: a message that another program writes by hand, with any bytes, becomes a dead letter or
  /// an incident. Such a message does no harm, and the messages behind it are handled.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct HostileInputTests {
    /// Bytes that stand in the place of headers, but are no valid headers.
    private static let blocks: [[UInt8]] =
      [
        "x", "garbage", "NATS/1.0", "HTTP/1.1\r\nA: b\r\n\r\n", "nats/1.0\r\nA: b\r\n\r\n",
        "NATS/1.0\r\nno colon\r\n\r\n",
        "NATS/1.0\r\n leading: a\r\n\r\n", "NATS/1.0\r\nA: b", "NATS/1.0\r\nA:\r\n\r\n",
        "NATS/1.0\r\n\0\0\0\r\n\r\n", "NATS/1.0\r\n\r\rA: b\r\n\r\n", "\r\n\r\n\r\n\r\n\r\n\r\n",
        "\0\0\0\0\0\0\0\0\0\0\0\0",
      ].map { Array($0.utf8) } + [
        [UInt8](repeating: 0xff, count: 100), Array("NATS/1.0\r\n".utf8) + [0xff, 0xfe, 13, 10],
      ]

    /// A listener to `test.a` whose dead letters go to `test.dead`, and what arrives at both.
    private struct Listener {
      let server: NATSServer
      let nats: NATS
      let stream: NATSTransport
      let client: RawClient
      let event: RemoteEvent<Int>
      let dead: RemoteEvent<[UInt8]>
      let numbers = Guarded<[Int]>([])
      let letters = Guarded<[RemoteOccurrence<[UInt8]>]>([])
      let incidents = Guarded<[TransportIncident]>([])

      init() async throws {
        server = try NATSServer()
        nats = try await server.connect()
        stream = try await nats.stream("TEST", subjects: ["test.>"])
        client = try RawClient(server.port)
        event = RemoteEvent("test.a", over: stream)
        dead = RemoteEvent("test.dead", over: stream, codec: .bytes)
        nats.incidents.addHandler { [incidents] incident in incidents.withLock { $0.append(incident) } }
        event.addHandler { [numbers] number in numbers.withLock { $0.append(number) } }
        dead.remoteOccurrences.addHandler { [letters] letter in letters.withLock { $0.append(letter) } }
        try await dead.listen(as: "readers")
        try await event.listen(as: "one", deadLetter: "test.dead")
      }

      /// Publishes a message that can be handled, and waits until its handler is called.
      func goesOn() async throws {
        try await event.publish(7)
        try await eventually("expected 7, got \(numbers.withLock { $0 })") { numbers.withLock { $0.last } == 7 }
      }

      func waitForLetters(_ count: Int) async throws {
        try await eventually("expected \(count) letters, got \(letters.withLock { $0.map(\.headers) })") {
          letters.withLock { $0.count } >= count
        }
      }

      func waitForIncident(_ text: String) async throws {
        try await eventually("expected \(text), got \(incidents.withLock { $0.map(\.reason) })") {
          incidents.withLock { $0.contains { $0.kind == .deadLetter && $0.reason.contains(text) } }
        }
      }
    }

    @Test func headersThatAreNoneMakeDeadLetters() async throws {
      let listener = try await Listener()
      for block in HostileInputTests.blocks {
        listener.client.publish("test.a", block: block, body: Array("1".utf8))
      }
      try listener.client.flush()
      try await listener.waitForLetters(HostileInputTests.blocks.count)
      try await listener.goesOn()
      #expect(listener.numbers.withLock { $0 } == [7])
      let letters = listener.letters.withLock { $0.map(\.self) }
      #expect(letters.count == HostileInputTests.blocks.count)
      for letter in letters {
        #expect(letter.payload == Array("1".utf8))
        #expect(letter.headers["Eventing-Dead-Reason"]?.contains("expected headers as NATS has them") == true)
      }
      await listener.nats.close()
    }

    /// libnats reads these blocks without an error, and wrongly.
    private static let misread: [(block: [UInt8], reason: String)] =
      [
        ("Nats-Msg-Id:\r\nX-App: shop", #"expected a header "Nats-Msg-Id" with a value; got none"#),
        ("A:\r\nNats-Msg-Id: 7", #"expected a header "A" with a value; got none"#),
        ("A: \t\r\nNats-Msg-Id:8", #"expected a header "A" with a value; got none"#),
        ("A: a\r\n \r\nNats-Msg-Id: 9", #"expected a header "A" on one line; got several"#),
        ("A: a\r\nB: b\r\nA: b", #"expected a header "A" with one value; got 2"#),
        ("Nats-Msg-Id: a\0b", #"expected a header "Nats-Msg-Id" without zero bytes; got one"#),
      ].map { (Array("NATS/1.0\r\n\($0.0)\r\n\r\n".utf8), $0.1) } + [
        (
          Array("NATS/1.0\r\nNats-Msg-Id: a".utf8) + [0xff, 13, 10, 13, 10],
          #"expected a value of the header "Nats-Msg-Id" in UTF-8; got "a\xff""#
        ),
        (
          Array("NATS/1.0\r\na".utf8) + [0xfe] + Array(": b\r\n\r\n".utf8),
          #"expected a name of a header in UTF-8; got "a\xfe""#
        ),
      ]

    @Test func headersThatAreReadWronglyMakeDeadLetters() async throws {
      let listener = try await Listener()
      for (block, _) in HostileInputTests.misread {
        listener.client.publish("test.a", block: block, body: Array("1".utf8))
      }
      try listener.client.flush()
      try await listener.waitForLetters(HostileInputTests.misread.count)
      try await listener.goesOn()
      #expect(listener.numbers.withLock { $0 } == [7])
      let found = Set(listener.letters.withLock { $0.map { $0.headers["Eventing-Dead-Reason"] ?? "none" } })
      for (_, reason) in HostileInputTests.misread { #expect(found.contains(reason), "\(reason) in \(found)") }
      await listener.nats.close()
    }

    /// Blanks around a value, and colons in it, are no fault.
    @Test func headersOfOtherProgramsAreTakenAsTheyAre() async throws {
      let listener = try await Listener()
      let found = Guarded<[[String: String]]>([])
      listener.event.remoteOccurrences.addHandler { occurrence in found.withLock { $0.append(occurrence.headers) } }
      let block = "NATS/1.0\r\nA:a: b\r\nB:  b \t \r\nC: https://a\r\nD: ä\r\n\r\n"
      listener.client.publish("test.a", block: block, body: "7")
      try await eventually("expected 7") { found.withLock { !$0.isEmpty } }
      #expect(found.withLock { $0[0] } == ["A": "a: b", "B": "b", "C": "https://a", "D": "ä"])
      await listener.nats.close()
    }

    @Test func anEmptyIDIsNone() {
      #expect(Arrival(subject: "a", headers: ["Nats-Msg-Id": ""]).givenID == nil)
      #expect(Arrival(subject: "a", headers: ["Nats-Msg-Id": "", "ce-id": "b"]).givenID == "b")
    }

    /// A reply would go to another subject than the one that the caller named.
    @Test func aSubjectForAReplyThatIsNoTextIsNone() {
      #expect(ReplySubject.isInbox("_INBOX.a", of: "_INBOX.b"))
      #expect(!ReplySubject.isInbox(String(decoding: [UInt8]("_INBOX.a".utf8) + [0xff], as: UTF8.self), of: "_INBOX.b"))
    }

    @Test func aSubjectThatIsNoTextMakesADeadLetter() async throws {
      let listener = try await Listener()
      let keyed = RemoteKeyedEvent<String, Int>("test.keyed", over: listener.stream)
      keyed.anyKey.addHandler { [numbers = listener.numbers] _ in numbers.withLock { $0.append(1) } }
      try await keyed.listen(as: "keyed", deadLetter: "test.dead")
      listener.client.publish(Array("test.keyed.a".utf8) + [0xff], body: Array("1".utf8))
      try await listener.waitForLetters(1)
      let reason = listener.letters.withLock { $0[0].headers["Eventing-Dead-Reason"] }
      #expect(reason == #"expected a subject in UTF-8; got "test.keyed.a\xff""#)
      try await listener.goesOn()
      #expect(listener.numbers.withLock { $0 } == [7])
      await listener.nats.close()
    }

    /// Without a stream, messages that cannot be read make no dead letters. Instead, an incident is
    /// posted for each of them.
    @Test func withoutAStreamTheyMakeIncidents() async throws {
      let listener = try await Listener()
      let plain = RemoteEvent<Int>("plain", over: listener.nats.plain)
      plain.addHandler { number in listener.numbers.withLock { $0.append(number) } }
      try await plain.listen()
      for block in HostileInputTests.blocks { listener.client.publish("plain", block: block, body: Array("1".utf8)) }
      for body in ["", "{", "\"a\"", "1e999", "\u{1}"] {
        listener.client.publish("plain", block: "NATS/1.0\r\nA: b\r\n\r\n", body: body)
      }
      try listener.client.flush()
      let count = HostileInputTests.blocks.count + 5
      try await eventually("expected \(count) incidents, got \(listener.incidents.withLock { $0.count })") {
        listener.incidents.withLock { $0.filter { $0.kind == .deadLetter && $0.event == "plain" }.count } == count
      }
      try await plain.publish(8)
      try await eventually("expected 8") { listener.numbers.withLock { $0 } == [8] }
      await listener.nats.close()
    }

    @Test func aQueryWithoutReadableHeadersIsAnsweredWithAFailure() async throws {
      let listener = try await Listener()
      let question = RemoteQuestion<Int, Int>("double", over: listener.nats.plain)
      question.addResponder { $0 * 2 }
      try await question.listen(as: "doublers")
      let replies = Guarded<[RemoteMessage]>([])
      _ = try await listener.nats.plain.subscribe("_INBOX.replies", SubscribeOptions()) { message in
        replies.withLock { $0.append(message) }
        return Handled()
      }
      for block in HostileInputTests.blocks {
        listener.client.publish("double", reply: "_INBOX.replies", block: block, body: Array("1".utf8))
      }
      try await eventually("expected replies, got \(replies.withLock { $0.count })") {
        replies.withLock { $0.count } == HostileInputTests.blocks.count
      }
      #expect(replies.withLock { $0.allSatisfy { $0.headers["Eventing-Failure"] == "responderFailed" } })
      #expect(try await question.firstAnswer(to: 4, within: .seconds(20)) == 8)
      await listener.nats.close()
    }

    @Test func aReplyWithoutReadableHeadersIsNoAnswer() async throws {
      let listener = try await Listener()
      let question = RemoteQuestion<Int, Int>("double", over: listener.nats.plain)
      _ = try await listener.nats.plain.subscribe("double", SubscribeOptions()) { _ in Handled() }
      let raw = try listener.nats.engine.connection.subscribe("double", group: nil, limit: nil) { arrival in
        listener.client.publish(arrival.reply ?? "none", block: "garbage headers", body: "8")
      }
      let error = await transportError { _ = try await question.firstAnswer(to: 4, within: .seconds(20)) }
      #expect(error?.code == .notDecodable)
      #expect(error?.description.contains("expected headers as NATS has them") == true)
      raw.end()
      await listener.nats.close()
    }

    @Test func headersOfAnySizeAreTakenOrNamed() async throws {
      let listener = try await Listener()
      func block(_ count: Int) -> String { "NATS/1.0\r\nLong: \(String(repeating: "a", count: count))\r\n\r\n" }
      // The server stores at most 65,535 bytes of headers.
      listener.client.publish("test.a", block: block(65_500), body: "1")
      listener.client.publish("test.a", block: block(20_000), body: "{")
      try await listener.waitForLetters(1)
      #expect(listener.letters.withLock { $0[0].headers["Long"]?.utf8.count } == 20_000)
      listener.client.publish("test.a", block: block(65_500), body: "{")
      try await listener.waitForLetters(2)
      #expect(listener.letters.withLock { $0[1].headers["Eventing-Dead-Left-Out"] } == "1")
      let many = (0..<3_000).map { "A\($0): \($0)\r\n" }.joined()
      listener.client.publish("test.a", block: "NATS/1.0\r\n\(many)\r\n", body: "2")
      listener.client.publish(
        "test.a", block: "NATS/1.0\r\nEventing-Path: \(String(repeating: "a|b ", count: 15_000))\r\n\r\n", body: "3")
      let plain = RemoteEvent<Int>("plain", over: listener.nats.plain)
      plain.addHandler { number in listener.numbers.withLock { $0.append(number) } }
      try await plain.listen()
      try await eventually("expected 1, 2 and 3, got \(listener.numbers.withLock { $0 })") {
        listener.numbers.withLock { $0 } == [1, 2, 3]
      }
      listener.client.publish("plain", block: block(1_040_000), body: "4")
      try await eventually("expected 4, got \(listener.numbers.withLock { $0 })") {
        listener.numbers.withLock { $0.last } == 4
      }
      try await listener.goesOn()
      #expect(listener.numbers.withLock { $0 } == [1, 2, 3, 4, 7])
      await listener.nats.close()
    }

    /// In a dead letter, the headers that cannot be sent are escaped, and its id is made shorter.
    @Test func headersAndIDsThatCannotBeSentMakeLetters() async throws {
      let listener = try await Listener()
      let ids = ["a\u{1}b", String(repeating: "a", count: 5_000), String(repeating: "a", count: 5_001), "a b", "ä"]
      for id in ids {
        let block = "NATS/1.0\r\nNats-Msg-Id: \(id)\r\nTrace: t\r\na b: c\r\nä: c\r\nD: \u{1}\r\n\r\n"
        listener.client.publish("test.a", block: block, body: "{")
      }
      try await listener.waitForLetters(ids.count)
      try await listener.goesOn()
      let letters = listener.letters.withLock { $0.map(\.self) }
      #expect(letters.count == ids.count && Set(letters.map(\.id)).count == ids.count)
      for letter in letters {
        #expect(
          letter.headers["Trace"] == "t" && letter.headers["Eventing-Dead-Header-D"] == "%01"
            && letter.id.utf8.count < 400)
        #expect(
          letter.headers["Eventing-Dead-Header-a%20b"] == "c" && letter.headers["Eventing-Dead-Header-%c3%a4"] == "c")
      }
      await listener.nats.close()
    }

    /// A message that claims to be a dead letter becomes one, too. If it claims to come from the
    /// dead-letter subject, it stays where it is, and an incident names it.
    @Test func aForgedDeadLetterIsNamed() async throws {
      let listener = try await Listener()
      let block = "NATS/1.0\r\nNats-Msg-Id: m.dead.one.0\r\nEventing-Dead-Subject: test.b\r\n"
      listener.client.publish("test.a", block: "\(block)\r\n", body: "{")
      try await listener.waitForLetters(1)
      let way = "Eventing-Dead-Way: \(StreamName.hash("test.dead"))"
      listener.client.publish("test.a", block: "\(block.replacing("m.", with: "n."))\(way)\r\n\r\n", body: "{")
      try await listener.waitForIncident("The message is a dead letter that came from test.dead")
      #expect(listener.letters.withLock { $0.count } == 1)
      try await listener.goesOn()
      await listener.nats.close()
    }

    /// A stream accepts each id once. So if an earlier message has the id of a dead letter, the
    /// stream refuses the letter. An incident says so, and the failed message stays in its stream.
    @Test func aMessageWithTheIDOfALetterIsNamed() async throws {
      let listener = try await Listener()
      listener.client.publish("test.a", block: "NATS/1.0\r\nNats-Msg-Id: first\r\n\r\n", body: "{")
      try await listener.waitForLetters(1)
      let id = try #require(listener.letters.withLock { $0.first?.id })
      #expect(id.hasPrefix("first.dead.one.1."))
      // The message `second` comes after `first`, its letter, and the forged one.
      let forged = id.replacing("first.dead.one.1.", with: "second.dead.one.4.")
      listener.client.publish("test.dead", block: "NATS/1.0\r\nNats-Msg-Id: \(forged)\r\n\r\n", body: "forged")
      try await listener.waitForLetters(2)
      listener.client.publish("test.a", block: "NATS/1.0\r\nNats-Msg-Id: second\r\n\r\n", body: "{")
      try await listener.waitForIncident("A message with the id of its dead letter was there")
      try await listener.goesOn()
      #expect(listener.letters.withLock { $0.count } == 2)
      await listener.nats.close()
    }

    /// A message of a stream has a reply subject, to which its verdict is sent. The server writes
    /// the message's place in the stream into this subject. Another program may know the inbox of a
    /// subscription, the subject at which its messages arrive. That program may send messages there
    /// with any reply subject.
    @Test func aPlaceThatNoStreamHasIsNone() {
      let place = StreamPlace("$JS.ACK.TEST.one.1.5.9.1700000000000000000.0")
      #expect(place?.position == 5 && place?.number == 9)
      for bad in [
        "", "$JS.ACK", "$JS.ACK.TEST.one.1.18446744073709551615.9.1.0", "$JS.ACK.TEST.one.1.0.9.1.0",
        "$JS.ACK.TEST.one.-9223372036854775808.5.9.1.0", "$JS.ACK.TEST.one.0.5.9.1.0",
        "$JS.ACK.TEST.one.1.99999999999999999999.9.1.0", "$JS.ACK.TEST.one.1.5.9.99999999999999999999.0",
        "$JS.ACK.TEST.one.a.5.9.1.0", "$XX.ACK.TEST.one.1.5.9.1.0", "$JS.ACK.TEST.one.1.5.9.1.0.0",
      ] { #expect(StreamPlace(bad) == nil, "\(bad)") }
    }

    /// The server sends a line of the protocol that is not valid. libnats skips the line, or ends
    /// the connection and connects again. Either way, later messages arrive.
    @Test(arguments: [
      "garbage\r\n", "MSG\r\n", "MSG a\r\n", "MSG a 2 -1\r\n", "MSG a 2 99999999999999999999\r\n", "HMSG a 2 20 10\r\n",
      "HMSG a 2 -5 10\r\n", "MSG a 2 3\r\nabcdef\r\n", "INFO {\r\n", "\0\0\0\0\r\n",
    ]) func aServerThatWritesGarbageDoesNoHarm(line: String) async throws {
      let server = try TextServer(TextServer.info(), pongs: .max)
      let nats = try await NATS.connect("nats://127.0.0.1:\(server.port)")
      let numbers = Guarded<Set<Int>>([])
      let event = RemoteEvent<Int>("a", over: nats.plain)
      event.addHandler { number in _ = numbers.withLock { $0.insert(number) } }
      try await event.listen()
      server.say(line)
      try await eventually("expected 7, got \(numbers.withLock { $0 })") {
        server.say("MSG a 2 1\r\n7\r\n")  // to the second subscription of the connection
        return numbers.withLock { !$0.isEmpty }
      }
      #expect(numbers.withLock { $0 } == [7])
      await nats.close(within: .zero)
    }

    private struct Handled: BegunMessage {
      var knownVerdict: Verdict? { .done }
      var verdict: Verdict { get async { .done } }
    }
  }
#endif
