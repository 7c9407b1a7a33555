import Eventing
import EventingTesting
import EventingTransport
import Testing

/// A listening remembers the ids of messages that it handled, or has in hand.
@Suite(.timeLimit(.minutes(10))) struct DeduplicationTests {
  @Test func theOldestIdIsForgottenFirst() throws {
    try simulate(1...5) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock).plain)
      let notes = Notes<String>()
      event.remoteOccurrences.addHandler { notes.note($0.id) }
      try await event.listen(deduplicating: .last(2))
      // Each step: the id, and the two ids that are remembered after it.
      for id in ["a", "b", "a" /* a b */, "c" /* b c */, "b", "a" /* c a */, "c", "b" /* a b */, "a", "c"] {
        try await event.publish(0, id: id)
        try await clock.sleep(for: .seconds(1))
      }
      try require(notes.values == ["a", "b", "c", "a", "b", "c"], "\(notes.values)")
    }
  }

  /// The engine forgets that a message is in hand, and delivers it again.
  @Test(arguments: [true, false]) func aMessageThatIsInHandIsNotBegunAgain(awaitsVerdicts: Bool) throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let engine: any Transport = awaitsVerdicts ? FaultyTransport(bus) : bus
      let event = RemoteEvent<Int>("numbers", over: engine)
      let notes = Notes<Int>()
      event.addHandler { number async in
        try? await clock.sleep(for: .seconds(10))
        notes.note(number)
      }
      try await event.listen(as: "one", deduplicating: .last(10))
      try await event.publish(7)
      for _ in 0..<3 {
        try await clock.sleep(for: .seconds(1))
        bus.disconnect()
        bus.reconnect(forgettingWhatIsInHand: true)
      }
      try await clock.sleep(for: .seconds(100))
      try require(notes.values == [7], "\(notes.values)")
    }
  }

  @Test func withoutAWindowWhatComesAgainIsHandledAgain() throws {
    try simulate(1...5) { clock in
      for window in [Deduplication.none, .last(0), .last(-1)] {
        let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock).plain)
        let notes = Notes<Int>()
        event.addHandler { notes.note($0) }
        try await event.listen(deduplicating: window)
        for number in 1...2 { try await event.publish(number, id: "one") }
        try await clock.sleep(for: .seconds(1))
        try require(notes.values == [1, 2], "\(notes.values)")
      }
    }
  }
}
