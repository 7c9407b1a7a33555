import Eventing
import EventingTesting
@testable import EventingTransport
import Foundation
import Synchronization
import Testing

/// Tests of codecs and keys, and of guarantee R13 of PROOF.md: carried values.
@Suite(.timeLimit(.minutes(10))) struct CodecTests {
  struct OrderV1: Codable, Sendable { var id: Int }
  struct Order: Codable, Sendable, Equatable { var id: Int; var total: Double }

  enum Trace { @TaskLocal static var id: String? }

  /// Publishes a payload with one codec. Calls `body` with the occurrences that a listener with
  /// another codec receives.
  static func trip<Sent: Sendable, Received: Sendable>(
    _ payload: Sent, _ sent: Codec<Sent>, _ received: Codec<Received>,
    _ body: @escaping @Sendable ([RemoteOccurrence<Received>]) throws -> Void
  ) throws {
    try simulate(1...3) { clock in
      let bus = InMemoryTransport(clock: clock)
      let sender = RemoteEvent<Sent>("a", over: bus, codec: sent)
      let receiver = RemoteEvent<Received>("a", over: bus, codec: received)
      let notes = Notes<RemoteOccurrence<Received>>()
      receiver.remoteOccurrences.addHandler { notes.note($0) }
      try await receiver.listen()
      _ = try await sender.publish(payload, id: "the-id")
      try await clock.sleep(for: .seconds(1))
      try body(notes.values)
    }
  }

  @Test func everyCodecReadsWhatItWrites() throws {
    let order = Order(id: 3, total: 1.5)
    for codec in [
      Codec<Order>.json, .json(type: "order"), .json(type: "order", version: 4),
      .cloudEvent(type: "order", source: "/shop"),
    ] {
      try Self.trip(order, codec, codec) { try require($0.map(\.payload) == [order], "\($0)") }
    }
    try Self.trip([1, 2], .bytes, Codec<[UInt8]>.bytes) { try require($0.map(\.payload) == [[1, 2]], "\($0)") }
    try Self.trip(Data([1, 2]), .bytes, Codec<Data>.bytes) {
      try require($0.map(\.payload) == [Data([1, 2])], "\($0)")
    }
    try Self.trip((), .nothing, Codec<Void>.nothing) { try require($0.count == 1 && $0[0].id == "the-id", "\($0)") }
    let text = Codec<String>(encode: { Array($0.utf8) }, decode: { bytes, _ in String(decoding: bytes, as: UTF8.self) })
    try Self.trip("tea", text, text) { try require($0.map(\.payload) == ["tea"], "\($0)") }
  }

  @Test func anOlderVersionIsUpgraded() throws {
    let new = Codec<Order>.json(type: "order", version: 2) { old, version in
      try require(version == 1, "version \(version)")
      return Order(id: try old.decode(OrderV1.self).id, total: 0)
    }
    try Self.trip(OrderV1(id: 3), .json(type: "order"), new) {
      try require($0.map(\.payload) == [Order(id: 3, total: 0)], "\($0)")
    }
    try Self.trip(Order(id: 3, total: 1), new, Codec<OrderV1>.json(type: "order")) { try require($0.isEmpty, "\($0)") }
    try Self.trip(OrderV1(id: 3), .json(type: "other"), new) { try require($0.isEmpty, "\($0)") }
  }

  @Test func aCloudEventHasItsAttributesInHeaders() throws {
    try Self.trip(Order(id: 3, total: 1), .cloudEvent(type: "order", source: "/shop"), Codec<Order>.json) { found in
      let headers = found.first?.headers ?? [:]
      try require(headers["ce-specversion"] == "1.0" && headers["ce-type"] == "order", "\(headers)")
      try require(
        headers["ce-source"] == "/shop" && headers["ce-id"] == "the-id" && headers["ce-time"] != nil, "\(headers)")
      try require(headers["Content-Type"] == "application/json", "\(headers)")
    }
    try Self.trip(Order(id: 3, total: 1), .json, Codec<Order>.cloudEvent(type: "order", source: "/")) {
      try require($0.isEmpty, "\($0)")
    }
  }

  @Test func aKeyIsOneWordOfTheSubject() throws {
    try simulate(1...10) { clock in
      let bus = InMemoryTransport(clock: clock)
      let names = ["AAPL", "", "a.b", "*", ">", "ä/€ 1", "%", "%41", "A"]
      let prices = RemoteKeyedEvent<String, Int>("ticks", over: bus)
      let (each, all) = (names.map { _ in Notes<Int>() }, Notes<String>())
      for (index, name) in names.enumerated() { prices[name].addHandler { each[index].note($0) } }
      prices.anyKey.addHandler { all.note($0.key) }
      try await prices.listen(as: "one")
      for (index, name) in names.enumerated() { try await prices.publish(index, to: name) }
      try await clock.sleep(for: .seconds(1))
      try require(each.map(\.values) == names.indices.map { [$0] }, "\(each.map(\.values))")
      try require(all.values == names, "\(all.values)")
    }
  }

  @Test func aKeyWithoutHandlersIsHandledAndAFailureIsNot() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let prices = RemoteKeyedEvent<Int, Int>("ticks", over: bus)
      let (attempts, late) = (Notes<Int>(), Notes<Int>())
      prices[1].addHandler { number async throws in
        attempts.note(number)
        if attempts.count < 3 { throw Refused() }
      }
      try await prices.listen(as: "one")
      try await prices.publish(5, to: 1)
      try await prices.publish(6, to: 2)
      try await clock.sleep(for: .seconds(100))
      prices[2].addHandler { late.note($0) }
      try await clock.sleep(for: .seconds(100))
      try require(attempts.values == [5, 5, 5] && late.values.isEmpty, "\(attempts.values) \(late.values)")
    }
  }

  @Test func keysOfManyTypes() throws {
    #expect(Int(remoteText: "-7") == -7 && Int(remoteText: "+7") == nil && Int(remoteText: "07") == nil)
    #expect(UInt8(remoteText: "256") == nil && UInt64(remoteText: "18446744073709551615") == .max)
    let id = UUID()
    #expect(UUID(remoteText: id.remoteText) == id && UUID(remoteText: "x") == nil)
    #expect(UUID(remoteText: "6ba7b810-9dad-11d1-80b4-00c04fd430c8") == nil)
    let (one, two) = ("caf\u{E9}", "cafe\u{301}")
    #expect(one == two && one.remoteText.utf8.elementsEqual(two.remoteText.utf8))
    #expect(String(remoteText: one) == one && String(remoteText: two) == nil)
  }

  @Test func aTaskLocalValueTravelsInAHeader() throws {
    let carrying = RemoteContext.propagate(Trace.$id, header: "traceparent") {
      $0
    } decode: {
      $0
    }
    defer { carrying.end() }
    try simulate(1...10) { clock in
      let bus = InMemoryTransport(clock: clock)
      let (one, two) = (RemoteEvent<Int>("one", over: bus), RemoteEvent<Int>("two", over: bus))
      let question = RemoteQuestion<Int, String>("question", over: bus)
      let (inline, lane, headers) = (Notes<String?>(), Notes<String?>(), Notes<String?>())
      one.addHandler { _ in inline.note(Trace.id) }
      one.addHandler { _ async in lane.note(Trace.id) }
      one.forward(to: two)
      two.remoteOccurrences.addHandler { headers.note($0.headers["traceparent"]) }
      question.addResponder { _ async in Trace.id }
      try await one.listen()
      try await two.listen()
      try await question.listen()
      try await Trace.$id.withValue("00-1") { _ = try await one.publish(1) }
      try await clock.sleep(for: .seconds(1))
      try require(
        inline.values == ["00-1"] && lane.values == ["00-1"] && headers.values == ["00-1"],
        "\(inline.values) \(lane.values) \(headers.values)")
      let answer = try await Trace.$id.withValue("00-2") { try await question.firstAnswer(to: 1) }
      try require(answer == "00-2", answer)
    }
  }

  /// A publisher that tries again writes the same bytes, also in another process.
  @Test func equalPayloadsAreEqualBytes() throws {
    for codec in [Codec<[String: Int]>.json, .json(type: "wide", version: 2), .cloudEvent(type: "wide", source: "/")] {
      var message = RemoteMessage()
      try codec.encode(["b": 1, "d": 2, "a": 3, "c": 4, "f": 5, "e": 6], &message)
      #expect(String(decoding: message.body, as: UTF8.self) == #"{"a":3,"b":1,"c":4,"d":2,"e":6,"f":5}"#)
    }
  }
}
