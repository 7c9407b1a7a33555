import Eventing
import EventingTesting
import EventingTransport
import Foundation
import Testing

/// Tests that no text of the library has a part of a payload: incidents, errors, dead letters'
/// reasons.
@Suite(.timeLimit(.minutes(10))) struct SecretTests {
  enum Card: String, Codable { case visa }
  struct Payment: Codable { var card: Card }
  struct Codeless: Error, CustomStringConvertible { let description: String }

  static let marker = "4111-1111"
  /// Bodies that cannot be decoded as a ``Payment``, each for another reason.
  static let bodies = [
    #"{"card":"\#(marker)"}"#, #"{"card":{"\#(marker)":1}}"#, #"{"\#(marker)":"visa"}"#, #""\#(marker)""#,
    #"{"card":"visa"\#(marker)"#, #"["\#(marker)"]"#,
  ].map { Array($0.utf8) }

  @Test func incidentsAndLettersOfMessagesThatCannotBeDecodedHaveNoContent() throws {
    try simulate(1...3) { clock in
      let bus = InMemoryTransport(clock: clock)
      let texts = Notes<String>()
      let observed = bus.incidents.addHandler { texts.note("\($0) \($0.reason)") }
      let letters = RemoteEvent<[UInt8]>("dead", over: bus, codec: .bytes)
      letters.remoteOccurrences.addHandler { letter in
        for (name, value) in letter.headers { texts.note("\(name): \(value)") }
      }
      try await letters.listen()
      let strict = RemoteEvent<Payment>("payments", over: bus)
      strict.addHandler { _ in }
      try await strict.listen(as: "silent")
      try await strict.listen(as: "one", deadLetter: "dead")
      let failing = Codec<Payment> { _ in
        []
      } decode: { bytes, _ in
        throw Codeless(description: String(decoding: bytes, as: UTF8.self))
      }
      let other = RemoteEvent<Payment>("payments", over: bus, codec: failing)
      other.addHandler { _ in }
      try await other.listen(as: "two", deadLetter: "dead")
      for body in Self.bodies { _ = try await bus.publish(RemoteMessage(body: body), to: "payments") }
      try await clock.sleep(for: .seconds(10))
      try require(texts.count > 3 * Self.bodies.count, "\(texts.values)")
      for text in texts.values where text.contains(Self.marker) { throw Unmet(description: text) }
      withExtendedLifetime(observed) {}
    }
  }

  @Test func errorsOfQuestionsHaveNoContent() throws {
    try simulate(1...3) { clock in
      let plain = InMemoryTransport(clock: clock).plain
      var errors: [any Error] = []
      func expectError(_ body: () async throws -> Void) async throws {
        do { try await body() } catch {
          errors.append(error)
          return
        }
        throw Unmet(description: "expected an error")
      }
      let bodies = Guarded(Self.bodies)
      _ = try await plain.respond(to: "card", group: nil, inFlight: 1) { _ in
        RemoteMessage(body: bodies.withLock { $0.removeLast() })
      }
      // A reply that cannot be decoded.
      let card = RemoteQuestion<Int, Payment>("card", over: plain)
      for _ in Self.bodies { try await expectError { _ = try await card.firstAnswer(to: 1) } }
      // Queries that cannot be decoded, or have no answer, and an answer that cannot be encoded.
      let words = RemoteQuestion<Payment, Payment>("words", over: plain)
      let (asker, local) = (RemoteQuestion<String, String>("words", over: plain), EventQuestion<String, Int>("local"))
      words.addResponder { $0 }
      try await words.listen()
      try await expectError { _ = try await asker.firstAnswer(to: Self.marker) }
      let ratios = RemoteQuestion<String, Double>("ratios", over: plain)
      let names = RemoteQuestion<String, String>("names", over: plain)
      ratios.addResponder { _ in .infinity }
      names.addResponder { _ -> String? in nil }
      try await ratios.listen()
      try await names.listen()
      try await expectError { _ = try await ratios.firstAnswer(to: Self.marker) }
      try await expectError { _ = try await names.firstAnswer(to: Self.marker) }
      try await expectError { _ = try await local.firstAnswer(to: Self.marker) }
      for error in errors {
        let text = "\(error) \(error.localizedDescription)"
        try require(!text.contains(Self.marker) && !text.contains("inf"), text)
      }
    }
  }

  @Test func theErrorOfAPayloadThatCannotBeEncodedHasNoContent() async throws {
    struct Reading: Codable { var value: Double }
    let event = RemoteEvent<Reading>("readings", over: InMemoryTransport())
    let error = await #expect(throws: TransportError.self) { try await event.publish(Reading(value: .infinity)) }
    #expect(error?.code == .notEncodable)
    #expect(
      error?.description
        == "expected a Reading that can be encoded for readings; the encoder says: a Double cannot be encoded at value")
  }
}
