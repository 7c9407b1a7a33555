import Eventing
import EventingTesting
import EventingTransport
import Testing

/// The identity of a CloudEvent is its source together with its id.
@Suite(.timeLimit(.minutes(10))) struct SourceTests {
  private static func event(_ source: String, _ bus: any Transport) -> RemoteEvent<Int> {
    RemoteEvent("numbers", over: bus, codec: .cloudEvent(type: "number", source: source))
  }

  @Test(arguments: [true, false]) func twoSourcesMayUseOneID(isStream: Bool) throws {
    try simulate(1...10) { clock in
      let bus = InMemoryTransport(clock: clock)
      let engine = isStream ? bus : bus.plain
      let (shop, store) = (Self.event("/shop", engine), Self.event("/store", engine))
      let notes = Notes<RemoteOccurrence<Int>>()
      shop.remoteOccurrences.addHandler { notes.note($0) }
      try await shop.listen(as: "one", deduplicating: .last(10))
      let receipts = [
        try await shop.publish(1, id: "7"), try await store.publish(2, id: "7"), try await shop.publish(3, id: "7"),
      ]
      try await clock.sleep(for: .seconds(1))
      try require(receipts.map(\.isDuplicate) == [false, false, isStream], "\(receipts)")
      try require(notes.values.map(\.payload) == [1, 2], "\(notes.values)")
      try require(notes.values.map(\.id) == ["7", "7"], "\(notes.values)")
      try require(notes.values.map { $0.headers["ce-id"] } == ["7", "7"], "\(notes.values)")
    }
  }

  /// Checks messages of other programs. Such a program may give the engine any `id` for a message,
  /// whatever the source and the `ce-id` of its CloudEvent are. So the headers `ce-source` and
  /// `ce-id` decide whether a message is a duplicate.
  @Test func theHeadersOfOtherProgramsDecide() throws {
    try simulate(1...10) { clock in
      let bus = InMemoryTransport(clock: clock).plain
      let event = Self.event("/", bus)
      let notes = Notes<String>()
      event.remoteOccurrences.addHandler { notes.note($0.headers["ce-source"] ?? "none") }
      try await event.listen(deduplicating: .last(10))
      for (id, source) in [("a", "/shop"), ("a", "/store"), ("b", "/shop"), ("c", "/other")] {
        let headers = ["ce-specversion": "1.0", "ce-type": "number", "ce-id": "7", "ce-source": source]
        _ = try await bus.publish(RemoteMessage(id: id, headers: headers, body: Array("1".utf8)), to: "numbers")
      }
      try await clock.sleep(for: .seconds(1))
      try require(notes.values == ["/shop", "/store", "/other"], "\(notes.values)")
    }
  }

  @Test func aLongSourceFitsIntoTheIdentity() throws {
    try simulate(1...3) { clock in
      let bus = InMemoryTransport(clock: clock)
      let long = String(repeating: "/ä", count: 200)
      let receipts = [
        try await Self.event(long, bus).publish(1, id: String(repeating: "7", count: 255)),
        try await Self.event(long + "b", bus).publish(1, id: String(repeating: "7", count: 255)),
        try await Self.event(long, bus).publish(1, id: String(repeating: "7", count: 255)),
      ]
      try require(receipts.map(\.isDuplicate) == [false, false, true], "\(receipts)")
    }
  }
}
