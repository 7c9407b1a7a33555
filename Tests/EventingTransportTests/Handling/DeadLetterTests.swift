import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of guarantee R6: a message is not given up before its dead letter is stored, and no dead
/// letter goes back to a subject that it came from.
@Suite(.timeLimit(.minutes(10))) struct DeadLetterTests {
  @Test func aDeadLetterThatCannotBeStoredIsTriedAgain() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock, publishTimeout: .seconds(5))
      let (event, dead) = (RemoteEvent<Int>("numbers", over: bus), RemoteEvent<Int>("dead", over: bus))
      let (attempts, letters, incidents) = (Notes<Int>(), Notes<Int>(), Notes<TransportIncident>())
      bus.incidents.addHandler { if $0.kind == .deadLetter { incidents.note($0) } }
      dead.addHandler { letters.note($0) }
      event.addHandler { number async throws in
        attempts.note(number)
        try await clock.sleep(for: .seconds(1))
        throw Refused()
      }
      try await dead.listen()
      try await event.listen(as: "one", retry: .immediately(attempts: 1), deadLetter: "dead")
      try await event.publish(7)
      try await clock.sleep(for: .milliseconds(500))
      bus.disconnect()
      try await clock.sleep(for: .seconds(10))
      try require(attempts.count == 1 && letters.count == 0 && incidents.count == 0, "\(incidents.values)")
      bus.reconnect()
      try await clock.sleep(for: .seconds(10))
      try require(attempts.values == [7] && letters.values == [7], "\(attempts.values) \(letters.values)")
      try require(incidents.values.map(\.subject) == ["numbers"], "\(incidents.values)")
    }
  }

  /// A stream stores an id once, so letters of different listenings need different ids.
  @Test func eachListeningThatGivesUpMakesALetterOfItsOwn() throws {
    try simulate(1...10) { clock in
      let bus = InMemoryTransport(clock: clock)
      let dead = RemoteEvent<Int>("dead", over: bus)
      let letters = Notes<String>()
      dead.remoteOccurrences.addHandler { letters.note($0.headers["Eventing-Dead-Group"] ?? "none") }
      try await dead.listen()
      let all = RemoteKeyedEvent<String, Int>("numbers", over: bus)
      let ones = (0..<3).map { _ in RemoteEvent<Int>("numbers.a", over: bus) }
      all.anyKey.addHandler { _ in throw Refused() }
      for one in ones { one.addHandler { _ in throw Refused() } }
      // Four listenings receive the message that is published below: one of the group `one` on
      // `numbers.*`, one of a group with that name on `numbers.a`, and two on `numbers.a` without a
      // group.
      try await all.listen(as: "one", retry: .immediately(attempts: 1), deadLetter: "dead")
      try await ones[0].listen(as: "one", retry: .immediately(attempts: 1), deadLetter: "dead")
      for one in ones.dropFirst() { try await one.listen(retry: .immediately(attempts: 1), deadLetter: "dead") }
      try await all.publish(7, to: "a")
      try await clock.sleep(for: .seconds(1))
      try require(letters.values.sorted() == ["none", "none", "one", "one"], "\(letters.values)")
      withExtendedLifetime(ones) {}  // a listening ends with its event
    }
  }

  /// Checks a message that the engine delivers to two members, because it has forgotten that the
  /// first member has begun it. Both members give the message up.
  @Test func theMembersOfAGroupMakeOneLetterOfAMessage() throws {
    try simulate(1...10) { clock in
      let bus = InMemoryTransport(clock: clock)
      let dead = RemoteEvent<Int>("dead", over: bus)
      let (letters, calls, repeated) = (Notes<Int>(), Notes<Int>(), Notes<TransportIncident>())
      bus.incidents.addHandler { if $0.kind == .repeated { repeated.note($0) } }
      dead.addHandler { letters.note($0) }
      try await dead.listen()
      let members = (0..<2).map { _ in RemoteEvent<Int>("numbers", over: bus) }
      for member in members {
        member.addHandler { number async throws in
          calls.note(number)
          try await clock.sleep(for: .seconds(1))
          throw Refused()
        }
        try await member.listen(as: "one", retry: .immediately(attempts: 1), deadLetter: "dead")
      }
      try await members[0].publish(7)
      try await clock.sleep(for: .milliseconds(500))
      bus.reconnect(forgettingWhatIsInHand: true)
      try await clock.sleep(for: .seconds(10))
      try require(calls.values == [7, 7] && letters.values == [7], "\(calls.values) \(letters.values)")
      try require(
        repeated.count == 1 && repeated.values[0].event == "numbers"
          && repeated.values[0].reason.contains("the group one has received; it has forgotten 1 messages"),
        "\(repeated.values)")
      withExtendedLifetime(members) {}  // a listening ends with its event
    }
  }

  /// A stream takes an id again some time after it has stored a message with that id.
  @Test func messagesOfOneIDMakeOneLetterEach() throws {
    try simulate(1...10) { clock in
      let bus = InMemoryTransport(clock: clock, keeping: 1)
      let (event, dead) = (RemoteEvent<Int>("numbers", over: bus), RemoteEvent<Int>("dead", over: bus))
      let letters = Notes<Int>()
      event.addHandler { _ in throw Refused() }
      try await dead.listen(as: "readers")  // without a handler, so the stream keeps the letters
      try await event.listen(as: "one", retry: .immediately(attempts: 1), deadLetter: "dead")
      for number in 1...2 {
        let receipt = try await event.publish(number, id: "order-7")
        try require(!receipt.isDuplicate, "expected the id again at \(number)")
        try await clock.sleep(for: .seconds(1))
      }
      dead.addHandler { letters.note($0) }
      try await clock.sleep(for: .seconds(1))
      try require(letters.values.sorted() == [1, 2], "\(letters.values)")
    }
  }

  /// Checks two listenings that both fail. The dead-letter subject of each is the subject of the
  /// other.
  @Test func aDeadLetterDoesNotGoBack() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let (first, second) = (RemoteEvent<Int>("dead.a", over: bus), RemoteEvent<Int>("dead.b", over: bus))
      let (attempts, reasons) = (Notes<String>(), Notes<String>())
      bus.incidents.addHandler { if $0.kind == .deadLetter { reasons.note($0.reason) } }
      for (event, dead) in [(first, "dead.b"), (second, "dead.a")] {
        event.addHandler { [subject = event.subject] _ in
          attempts.note(subject)
          throw Refused()
        }
        try await event.listen(as: "one", retry: .immediately(attempts: 2), deadLetter: dead)
      }
      try await first.publish(7)
      try await clock.sleep(for: .seconds(600))
      try require(attempts.values == ["dead.a", "dead.a", "dead.b", "dead.b"], "\(attempts.values)")
      let isNamed = reasons.count == 2 && reasons.values[1].contains("a dead letter that came from dead.a")
      try require(isNamed, "\(reasons.values)")
    }
  }

  /// Another program may write each header and id that a dead letter has.
  @Test func aForgedMarkOfALetterKeepsNoMessageFromBecomingOne() throws {
    try simulate(1...10) { clock in
      let bus = InMemoryTransport(clock: clock)
      let (event, dead) = (RemoteEvent<Int>("numbers", over: bus), RemoteEvent<Int>("dead", over: bus))
      let letters = Notes<Int>()
      dead.addHandler { letters.note($0) }
      event.addHandler { _ in throw Refused() }
      try await dead.listen(as: "one")
      try await event.listen(as: "one", retry: .immediately(attempts: 1), deadLetter: "dead")
      let headers = ["Eventing-Dead-Subject": "else", "Eventing-Dead-Group": "one", "Eventing-Dead-Way": "else"]
      for number in 1...2 {
        let message = RemoteMessage(id: "m\(number).dead.one.1", headers: headers, body: Array("\(number)".utf8))
        _ = try await bus.publish(message, to: "numbers")
      }
      try await clock.sleep(for: .seconds(1))
      try require(letters.values.sorted() == [1, 2], "\(letters.values)")
    }
  }

  /// Checks messages that the codec refuses. Each becomes a dead letter at once.
  @Test func theReasonOfADeadLetterIsInItsHeaders() throws {
    try simulate(1...3) { clock in
      let bus = InMemoryTransport(clock: clock)
      let dead = RemoteEvent<[UInt8]>("dead", over: bus, codec: .bytes)
      let reasons = Notes<String>()
      dead.remoteOccurrences.addHandler { reasons.note($0.headers["Eventing-Dead-Reason"] ?? "none") }
      try await dead.listen()
      func reason<Sent: Sendable>(_ payload: Sent, _ sent: Codec<Sent>, _ codec: Codec<Int>) async throws -> String {
        let (sender, event) = (
          RemoteEvent<Sent>("numbers", over: bus, codec: sent), RemoteEvent<Int>("numbers", over: bus, codec: codec)
        )
        event.addHandler { _ in }
        let listening = try await event.listen(deadLetter: "dead")
        try await sender.publish(payload)
        try await clock.sleep(for: .seconds(1))
        listening.cancel()
        return reasons.values.last ?? "none"
      }
      let event = Codec<Int>.cloudEvent(type: "order", source: "/")
      let found = [
        try await reason(1, .cloudEvent(type: "oth\ter", source: "/"), event),
        try await reason(1, .json, event),
        try await reason(1, .json(type: "order", version: 3), .json(type: "order", version: 2)),
      ]
      try require(found[0].contains(#"expected the ce-type order, got "oth\u{9}er""#), found[0])
      try require(found[1].contains(#"expected a CloudEvent 1.x, got the ce-specversion """#), found[1])
      try require(found[2].contains("version") && reasons.count == 3, found[2])
    }
  }

  @Test func aKeyThatIsNoneIsADeadLetter() throws {
    try simulate(1...3) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteKeyedEvent<Int, Int>("numbers", over: bus)
      let dead = RemoteEvent<Int>("dead", over: bus)
      let (reasons, keys) = (Notes<String>(), Notes<Int>())
      dead.remoteOccurrences.addHandler { reasons.note($0.headers["Eventing-Dead-Reason"] ?? "none") }
      event.anyKey.addHandler { keys.note($0.key) }
      try await dead.listen()
      try await event.listen(deadLetter: "dead")
      for word in ["seven", "7"] { try await RemoteEvent<Int>("numbers.\(word)", over: bus).publish(1) }
      try await clock.sleep(for: .seconds(1))
      try require(keys.values == [7] && reasons.count == 1, "\(keys.values) \(reasons.values)")
      try require(
        reasons.values[0].contains(#"expected a key of Int in the subject "numbers.seven""#), reasons.values[0])
    }
  }
}
