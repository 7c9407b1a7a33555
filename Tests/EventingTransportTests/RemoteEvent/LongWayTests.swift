import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of guarantee R7 for ways that are too long to be named whole in a header.
@Suite(.timeLimit(.minutes(10))) struct LongWayTests {
  /// Returns remote events, each of which forwards to the next one. The first `locals` forwards go
  /// through a local event each.
  private static func chain(
    _ count: Int, over bus: InMemoryTransport, _ notes: Notes<Int>, locals: Int = 0
  ) async throws -> (remote: [RemoteEvent<[UInt8]>], local: [Event<[UInt8]>]) {
    let events = (0..<count).map { RemoteEvent<[UInt8]>("steps.\($0)", over: bus, codec: .bytes) }
    var local: [Event<[UInt8]>] = []
    for (index, event) in events.enumerated() {
      event.addHandler { _ in notes.note(index) }
      try await event.listen(as: "one")
      guard index > 0 else { continue }
      if index <= locals {
        let step = Event<[UInt8]>("local.\(index)")
        local.append(step)
        events[index - 1].forward(to: step)
        step.forward(to: event)
      } else {
        events[index - 1].forward(to: event)
      }
    }
    return (events, local)
  }

  private static func simulate(_ body: @escaping @Sendable (ManualClock) async throws -> Void) throws {
    try Simulation.run(seed: 1, limit: 1_000_000) { try await body(Simulation.clock) }
  }

  @Test func aRingThatIsLongerThanTheHeaderEndsAtItsFirstSubject() throws {
    try Self.simulate { clock in
      let (bus, notes) = (InMemoryTransport(clock: clock), Notes<Int>())
      let (events, local) = try await Self.chain(500, over: bus, notes, locals: 100)
      events[499].forward(to: events[0])
      try await events[0].publish([])
      try await clock.sleep(for: .seconds(10))
      try require(notes.values == Array(0..<500), "\(notes.count) steps")
      withExtendedLifetime((events, local)) {}
    }
  }

  @Test func aLongRingEndsWhereverAMessageEntersIt() throws {
    try Self.simulate { clock in
      let (bus, notes) = (InMemoryTransport(clock: clock), Notes<Int>())
      let (events, local) = try await Self.chain(500, over: bus, notes)
      events[499].forward(to: events[100])
      try await events[0].publish([])
      try await clock.sleep(for: .seconds(10))
      let counts = Dictionary(grouping: notes.values) { $0 }.mapValues(\.count)
      try require(counts.count == 500 && counts.values.allSatisfy { $0 <= 2 }, "\(notes.count) steps")
      withExtendedLifetime((events, local)) {}
    }
  }

  @Test func aChainThatIsLongerThanTheHeaderReachesItsEnd() throws {
    try Self.simulate { clock in
      let (bus, notes) = (InMemoryTransport(clock: clock), Notes<Int>())
      let (events, local) = try await Self.chain(1_500, over: bus, notes)
      try await events[0].publish([])
      try await clock.sleep(for: .seconds(10))
      try require(notes.values == Array(0..<1_500), "\(notes.count) steps")
      withExtendedLifetime((events, local)) {}
    }
  }

  /// The ring has too many local events for nested calls on one stack.
  @Test func aRingThroughThousandsOfLocalEventsEnds() throws {
    try Self.simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<[UInt8]>("one", over: bus, codec: .bytes)
      let notes = Notes<Int>()
      let local = (0..<3_000).map { Event<[UInt8]>("local.\($0)") }
      for index in local.indices.dropFirst() { local[index - 1].forward(to: local[index]) }
      event.forward(to: local[0])
      local[2_999].forward(to: event)
      local[2_999].forward(to: local[0])
      local[2_999].addHandler { _ in notes.note(1) }
      try await event.listen(as: "one")
      try await event.publish([])
      try await clock.sleep(for: .seconds(10))
      try require(notes.values == [1], "\(notes.values)")
      withExtendedLifetime((event, local)) {}
    }
  }

  /// Checks headers that another program has made up: they do not lift the bound on forwards.
  @Test func aMessageThatWasForwardedTooOftenIsAFailure() throws {
    try Self.simulate { clock in
      let (bus, notes) = (InMemoryTransport(clock: clock), Notes<Int>())
      let (events, local) = try await Self.chain(2, over: bus, notes)
      let failures = Notes<HandlerFailure>()
      events[0].failures.addHandler { failures.note($0) }
      let marks = (0..<21).map { "\($0)" }.joined(separator: " ")
      for (count, rest) in [(1 << 20, marks), ((1 << 20) - 1, marks), (1 << 20, "none"), (1 << 62, marks)] {
        let headers = ["Eventing-Path": "a|b", "Eventing-Path-Marks": "\(count) \(rest)"]
        _ = try await bus.publish(RemoteMessage(headers: headers), to: "steps.0")
      }
      try await clock.sleep(for: .seconds(1_000))
      // In the other three messages, the number of steps in `Eventing-Path-Marks` is too large, or
      // does not fit the number of hashes behind it. So this header is ignored.
      try require(notes.values.filter { $0 == 1 }.count == 3, "\(notes.values)")
      let error = failures.values.first?.error as? TransportError
      try require(
        error?.description
          == "expected a message that was forwarded at most 1048576 times; this one was forwarded more often",
        "\(failures.values)")
      withExtendedLifetime((events, local)) {}
    }
  }
}
