import Eventing
import EventingTesting
import EventingTransport
import Testing

/// One seed makes the same faults for the same messages, whichever task runs first.
@Suite(.timeLimit(.minutes(10))) struct SeedTests {
  /// Runs a program 40 times, each time with another order of its tasks, and expects one result.
  private static func expectOneResult(
    _ body: @escaping @Sendable (ManualClock) async throws -> [[String]]
  ) throws {
    let results = Notes<[[String]]>()
    try simulate(1...40) { results.note(try await body($0)) }
    #expect(Set(results.values).count == 1)
    #expect(results.values.first?.allSatisfy { !$0.isEmpty } == true)
  }

  @Test func onPlainTheSameMessagesAreDropped() throws {
    try Self.expectOneResult { clock in
      let bus = InMemoryTransport(seed: 5, faults: [.drop(0.4), .delay(upTo: .milliseconds(3))], clock: clock).plain
      let events = ["a", "b", "*"].map { RemoteEvent<Int>("numbers.\($0 == "*" ? "a" : $0)", over: bus) }
      let notes = events.map { _ in Notes<String>() }
      for (event, notes) in zip(events, notes) {
        event.addHandler { number async in
          try? await clock.sleep(for: .milliseconds(number % 3))
          notes.note("\(number)")
        }
        try await event.listen()
      }
      for number in 1...30 {
        for word in ["a", "b"] { try await RemoteEvent<Int>("numbers.\(word)", over: bus).publish(number) }
      }
      try await clock.sleep(for: .seconds(100))
      withExtendedLifetime(events) {}
      return notes.map { $0.values.sorted() }
    }
  }

  @Test func onAStreamTheSameMessagesAreRepeatedAndLost() throws {
    try Self.expectOneResult { clock in
      let bus = InMemoryTransport(
        seed: 5, faults: [.duplicate(0.3), .drop(0.3), .loseReceipt(0.3)], clock: clock)
      let events = ["a", "b"].map { RemoteEvent<Int>("numbers.\($0)", over: bus) }
      let notes = events.map { _ in Notes<String>() }
      let lost = Notes<String>()
      for (event, notes) in zip(events, notes) {
        event.addHandler { number async in
          try? await clock.sleep(for: .milliseconds(number % 3))
          notes.note("\(number)")
        }
        try await event.listen(as: "one")
      }
      for number in 1...30 {
        for event in events {
          do { try await event.publish(number) } catch { lost.note("\(event.subject) \(number)") }
        }
      }
      try await clock.sleep(for: .seconds(100))
      withExtendedLifetime(events) {}
      return notes.map { $0.values.sorted() } + [lost.values]
    }
  }

  /// The seed and the number of a message decide which member gets the message. The messages before
  /// it have no influence on this choice.
  @Test func theSameMembersAreChosen() throws {
    try Self.expectOneResult { clock in
      let bus = InMemoryTransport(seed: 5, faults: [.drop(0.2)], clock: clock).plain
      let events = (0..<3).map { _ in RemoteEvent<Int>("numbers", over: bus) }
      let notes = events.map { _ in Notes<String>() }
      for (event, notes) in zip(events, notes) {
        event.addHandler { notes.note("\($0)") }
        try await event.listen(as: "one")
      }
      for number in 1...30 { try await events[0].publish(number) }
      try await clock.sleep(for: .seconds(100))
      withExtendedLifetime(events) {}
      return notes.map(\.values)
    }
  }
}
