import Eventing
import EventingTesting
import EventingTransport
import Testing

/// An incident names the event, the subject and the stream, and what was expected and found.
@Suite(.timeLimit(.minutes(10))) struct IncidentTests {
  @Test func aMessageThatIsGivenUpNamesItsEventAndItsStream() throws {
    try simulate(1...5) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteKeyedEvent<String, Int>("numbers", over: bus)
      let incidents = Notes<TransportIncident>()
      bus.incidents.addHandler { incidents.note($0) }
      event["a"].addHandler { _ async throws in throw Refused() }
      try await event.listen(as: "one", retry: .immediately(attempts: 2))
      try await event.publish(7, to: "a")
      try await clock.sleep(for: .seconds(1))
      let found = incidents.values.first
      try require(incidents.count == 1 && found?.kind == .deadLetter, "\(incidents.values)")
      try require(
        found?.subject == "numbers.a" && found?.event == "numbers.*" && found?.stream == bus.identity,
        "\(incidents.values)")
      try require(
        found?.reason.contains("expected the group one to handle the message at 1; it was given up at attempt 2: ")
          == true
          && found?.reason.contains("Refused") == true, "\(incidents.values)")
    }
  }

  /// Without a stream no message comes again, so the failure of a handler is final.
  @Test func aFailureWithoutAStreamIsTold() throws {
    try simulate(1...5) { clock in
      let bus = InMemoryTransport(clock: clock).plain
      let event = RemoteEvent<Int>("numbers", over: bus)
      let incidents = Notes<TransportIncident>()
      bus.incidents.addHandler { incidents.note($0) }
      event.addHandler { number in if number == 2 { throw Refused() } }
      try await event.listen(as: "one")
      for number in 1...3 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(1))
      let found = incidents.values.first
      try require(
        incidents.count == 1 && found?.kind == .deadLetter && found?.subject == "numbers" && found?.stream == nil
          && found?.reason.contains("the group one") == true && found?.reason.contains("Refused") == true,
        "\(incidents.values)")
    }
  }

  @Test func aListenerThatDoesNotKeepUpIsNamed() throws {
    try simulate(1...5) { clock in
      let bus = InMemoryTransport(clock: clock).plain
      let event = RemoteEvent<Int>("numbers", over: bus)
      let incidents = Notes<TransportIncident>()
      bus.incidents.addHandler { incidents.note($0) }
      event.addHandler { _ async in try? await clock.sleep(for: .seconds(1)) }
      try await event.listen(inFlight: 2)
      for number in 1...10 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(100))
      let found = incidents.values.first
      try require(
        found?.kind == .slowConsumer && found?.event == "numbers" && found?.stream == nil
          && found?.reason.contains("at most 2 messages wait for it") == true, "\(incidents.values)")
    }
  }
}
