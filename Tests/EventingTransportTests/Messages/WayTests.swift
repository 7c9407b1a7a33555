import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of guarantees R7 and R12: the length of the header that names the way of a forwarded
/// message is bounded.
@Suite(.timeLimit(.minutes(10))) struct WayTests {
  /// Publishes a message with a way in its header. Returns the header that a forward writes for
  /// this message.
  private static func forwarded(_ path: String) throws -> String {
    let ways = Notes<String>()
    try simulate(1...1) { clock in
      let bus = InMemoryTransport(clock: clock)
      let (one, two) = (
        RemoteEvent<[UInt8]>("one", over: bus, codec: .bytes), RemoteEvent<[UInt8]>("two", over: bus, codec: .bytes)
      )
      one.forward(to: two)
      two.remoteOccurrences.addHandler { ways.note($0.headers["Eventing-Path"] ?? "none") }
      try await one.listen()
      try await two.listen()
      _ = try await bus.publish(RemoteMessage(headers: ["Eventing-Path": path]), to: "one")
      try await clock.sleep(for: .seconds(1))
    }
    return try #require(ways.values.first)
  }

  @Test func aLongWayIsCutOffAtItsOldEnd() throws {
    let old = (1...40).map { "engine|\($0)\(String(repeating: "a", count: 92))" }
    let path = old.joined(separator: " ")
    #expect((3_900...4_096).contains(path.utf8.count))
    let way = try Self.forwarded(path).split(separator: " ").map(String.init)
    #expect(way.joined(separator: " ").utf8.count <= 4_096)
    #expect(way.last?.hasSuffix("|one") == true && way.count > 30)
    #expect(Array(way.dropLast()) == old.suffix(way.count - 1))
  }

  @Test func aWayThatIsTooLongToBeTrueIsLeftOut() throws {
    let way = try Self.forwarded(String(repeating: "a", count: 4_097)).split(separator: " ")
    #expect(way.count == 1 && way[0].hasSuffix("|one"))
  }
}
