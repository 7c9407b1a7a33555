import Eventing
import EventingTransport
import Foundation
import Testing

/// R12: bad input is refused with an error that says why, and what other programs send does no
/// harm.
@Suite(.timeLimit(.minutes(10))) struct CheckTests {
  static func error(_ body: () async throws -> Void) async -> TransportError? {
    do {
      try await body()
      return nil
    } catch { return error as? TransportError }
  }

  @Test(arguments: [
    "", ".", "a..b", ".a", "a.", "a b", "a\nb", "a.*", "*", "a.>", "$JS.API", "_INBOX.a",
    String(repeating: "a", count: 256),
  ]) func aSubjectIsWordsJoinedByDots(subject: String) async {
    let bus = InMemoryTransport()
    let event = RemoteEvent<Int>(subject, over: bus)
    #expect(await Self.error { try await event.publish(1) }?.code == .badSubject)
    #expect(await Self.error { try await event.listen() }?.code == .badSubject)
    let question = RemoteQuestion<Int, Int>(subject, over: bus)
    #expect(await Self.error { _ = try await question.firstAnswer(to: 1) }?.code == .badSubject)
    #expect(await Self.error { try await question.listen() }?.code == .badSubject)
    let good = RemoteEvent<Int>("good", over: bus)
    #expect(await Self.error { try await good.listen(deadLetter: subject) }?.code == .badSubject)
  }

  @Test(arguments: ["", "a b", "a.b", "ä", "a/b", String(repeating: "a", count: 65)])
  func aGroupIsLettersAndDigits(group: String) async {
    let event = RemoteEvent<Int>("good", over: InMemoryTransport())
    let error = await Self.error { try await event.listen(as: group) }
    #expect(error?.code == .badGroup)
    #expect(error?.description.contains("expected a group name of 1 to 64 letters") == true)
  }

  @Test(arguments: [
    ["": "a"], ["a b": "a"], ["a:": "a"], ["ä": "a"], ["a": "b\r\nc: d"], ["a": "\0"], ["Eventing-Path": "a"],
    ["nats-Msg-Id": "a"],
  ]) func headersCannotBeSmuggledIn(headers: [String: String]) async {
    let event = RemoteEvent<Int>("good", over: InMemoryTransport())
    #expect(await Self.error { try await event.publish(1, headers: headers) }?.code == .badHeader)
  }

  /// Checks headers that a codec writes, and headers that a caller passes to the engine itself.
  @Test(arguments: [["": "a"], ["a b": "a"], ["a:": "a"], ["ä": "a"], ["a": "b\r\nc: d"], ["a": "\0"]])
  func headersOfCodecsAndOfHandMadeMessagesAreChecked(headers: [String: String]) async throws {
    let bus = InMemoryTransport()
    let writing = Codec<Int> {
      $1.headers = headers
    } _: { _ in
      1
    }
    for engine in [bus, bus.plain] {
      let question = RemoteQuestion<Int, Int>("ask", over: engine, codec: writing, answerCodec: .json)
      let answering = RemoteQuestion<Int, Int>("answer", over: engine, codec: .json, answerCodec: writing)
      answering.addResponder { $0 }
      try await answering.listen()
      let errors = [
        await Self.error { try await RemoteEvent<Int>("good", over: engine, codec: writing).publish(1) },
        await Self.error { _ = try await engine.publish(RemoteMessage(headers: headers), to: "good") },
        await Self.error { _ = try await question.firstAnswer(to: 1) },
      ]
      for error in errors {
        #expect(error?.code == .badHeader && error?.description.hasPrefix("expected a ") == true)
      }
      let answer = await Self.error { _ = try await answering.firstAnswer(to: 1) }
      #expect(answer?.code == .responderFailed && answer?.description.contains("expected a ") == true)
    }
  }

  private enum Values { @TaskLocal static var text: String? }

  @Test(arguments: ["", "a b", "a:", "ä", "Eventing-Path", "Nats-Msg-Id"])
  func aHeaderOfACarriedValueIsChecked(header: String) async throws {
    let carrying = RemoteContext.propagate(Values.$text, header: header) {
      $0
    } decode: {
      $0
    }
    defer { carrying.end() }
    let event = RemoteEvent<Int>("good", over: InMemoryTransport())
    let question = RemoteQuestion<Int, Int>("good", over: InMemoryTransport())
    for error in [
      await Values.$text.withValue("a", operation: { await Self.error { try await event.publish(1) } }),
      await Values.$text.withValue("a", operation: { await Self.error { _ = try await question.firstAnswer(to: 1) } }),
    ] {
      #expect(error?.code == .badHeader)
      #expect(error?.description.contains("a header of your own for RemoteContext.propagate") == true)
    }
    // Here the task-local value is `nil`. So the publish writes no header for it, and the bad name
    // of the header does no harm.
    try await event.publish(1)
  }

  /// An error shows only the beginning of a long name.
  @Test func anErrorShowsNoLongNames() async {
    let event = RemoteEvent<Int>("good", over: InMemoryTransport())
    let long = String(repeating: "a", count: 10_000)
    for headers in [[long: "\n"], [long + "ä": "a"], ["Eventing-" + long: "a"]] {
      let error = await Self.error { try await event.publish(1, headers: headers) }
      #expect(error?.code == .badHeader && (error?.description.utf8.count ?? .max) < 300)
    }
  }

  @Test(arguments: ["", "a b", "a\n", String(repeating: "a", count: 256)]) func anIDHasNoSpaces(id: String) async {
    let event = RemoteEvent<Int>("good", over: InMemoryTransport())
    #expect(await Self.error { _ = try await event.publish(1, id: id) }?.code == .badOption)
  }

  @Test func optionsThatMakeNoSenseAreRefused() async {
    let bus = InMemoryTransport(subjects: ["orders.>"])
    let event = RemoteEvent<Int>("orders.placed", over: bus)
    #expect(await Self.error { try await event.listen(inFlight: 0) }?.code == .badOption)
    #expect(await Self.error { try await event.listen(deadLetter: "orders.placed") }?.code == .badOption)
    #expect(
      await Self.error { try await event.listen(deadLetter: "dead.orders") }?.description.contains("dead.orders")
        == true)
    let keyed = RemoteKeyedEvent<Int, Int>("orders.keyed", over: bus)
    #expect(await Self.error { try await keyed.listen(deadLetter: "orders.keyed.dead") }?.code == .badOption)
    let other = RemoteEvent<Int>("other", over: bus)
    #expect(await Self.error { try await other.publish(1) }?.code == .badSubject)
    #expect(await Self.error { try await other.listen() }?.code == .badSubject)
    let plain = RemoteEvent<Int>("other", over: bus.plain)
    #expect(await Self.error { try await plain.listen(startingAt: .first) }?.code == .notPromised)
    #expect(await Self.error { try await plain.listen(deadLetter: "dead") }?.code == .notPromised)
    let retrying = await Self.error { try await plain.listen(retry: .immediately(attempts: 2)) }
    #expect(retrying?.code == .notPromised)
    #expect(
      retrying?.description
        == "expected a stream for retry: with 2 attempts on other; this transport delivers at most once, so a message whose handler fails is gone. Leave retry: out"
    )
    let keys = RemoteKeyedEvent<Int, Int>("keys", over: bus.plain)
    #expect(await Self.error { try await keys.listen(retry: .immediately(attempts: 2)) }?.code == .notPromised)
    #expect(await Self.error { try await keys.listen(retry: .immediately(attempts: 1)) } == nil)
    #expect(await Self.error { try await plain.listen() } == nil)
  }

  @Test func aGroupOfAnEngineWithoutGroupsIsRefused() async throws {
    var engine = FaultyTransport(InMemoryTransport())
    engine.promises.hasGroups = false
    let event = RemoteEvent<Int>("good", over: engine)
    let error = await Self.error { try await event.listen(as: "one") }
    #expect(error?.code == .notPromised)
    #expect(
      error?.description
        == "expected a transport with groups for the group one; this one has none. Listen without as:")
    try await event.listen()
  }

  @Test func aPayloadThatIsTooLargeIsRefused() async {
    let event = RemoteEvent<[UInt8]>("bytes", over: InMemoryTransport(), codec: .bytes)
    let most = InMemoryTransport().promises.largestPayload
    #expect(await Self.error { try await event.publish(Array(repeating: 0, count: most)) } == nil)
    let error = await Self.error { try await event.publish(Array(repeating: 0, count: most + 1)) }
    #expect(error?.code == .tooLarge)
    #expect(error?.description == "expected at most \(most) bytes for bytes, got \(most + 1)")
  }

  @Test func aPayloadThatCannotBeEncodedIsRefused() async {
    let event = RemoteEvent<Double>("numbers", over: InMemoryTransport())
    #expect(await Self.error { try await event.publish(.nan) }?.code == .notEncodable)
  }

  /// Whatever comes, the listener goes on, and every message ends as handled or as a dead letter.
  @Test func anyBytesAndHeadersEndAtTheDeadLetters() throws {
    try simulate(1...20) { clock in
      struct Order: Codable, Sendable { var id: Int }
      var random = SystemRandomNumberGenerator()
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Order>(
        "orders", over: bus, codec: .json(type: "order", version: 2) { old, _ in try old.decode() })
      let keyed = RemoteKeyedEvent<Int, Order>("keyed", over: bus)
      let dead = RemoteEvent<[UInt8]>("dead", over: bus, codec: .bytes)
      let (orders, letters) = (Notes<Int>(), Notes<Int>())
      event.addHandler { orders.note($0.id) }
      keyed.anyKey.addHandler { orders.note($0.payload.id) }
      dead.remoteOccurrences.addHandler { letters.note($0.payload.count) }
      try await event.listen(as: "one", deadLetter: "dead")
      try await keyed.listen(as: "one", deadLetter: "dead")
      try await dead.listen()
      for number in 1...60 {
        var message = RemoteMessage(
          body: (0..<Int.random(in: 0..<40, using: &random)).map { _ in .random(in: 0...255) })
        if number % 4 == 0 { message.body = Array("{\"id\":\(number)}".utf8) }
        for name in ["Eventing-Type", "Eventing-Version", "Eventing-Path", "ce-specversion"] where Bool.random() {
          message.headers[name] = ["order", "2", "-1", "9", "99999999999999999999", "a\tb", "a b", ""].randomElement()
        }
        _ = try await bus.publish(
          message, to: ["orders", "keyed.1", "keyed.%", "keyed.%zz", "keyed.01"].randomElement() ?? "")
      }
      try await clock.sleep(for: .seconds(100))
      try require(orders.count + letters.count == 60, "\(orders.count) \(letters.count)")
    }
  }
}
