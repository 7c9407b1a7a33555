import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Handlers and sequences of `remoteOccurrences`, which gives messages with their headers, are like
/// those of the event itself: adding one wakes the event's listening, and the event counts it in
/// `handlerCount`.
@Suite(.timeLimit(.minutes(10))) struct OccurrenceTests {
  /// While an event has no handlers, its listening takes nothing. So adding handlers must wake the
  /// listening.
  @Test func handlersThatAreAddedGetWhatHasWaited() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (first, second) = (Notes<String>(), Notes<Int>())
      try await event.listen(as: "one")
      _ = try await event.publish(1, id: "a", headers: ["Trace": "t"])
      try await clock.sleep(for: .seconds(1))
      let tokens = event.remoteOccurrences.add(
        Handler { first.note("\($0.id) \($0.subject) \($0.headers["Trace"] ?? "") \($0.position ?? 0)") },
        Handler { second.note($0.payload) })
      try await clock.sleep(for: .seconds(1))
      try require(first.values == ["a numbers t 1"] && second.values == [1], "\(first.values) \(second.values)")
      try require(tokens.count == 2 && event.remoteOccurrences.remove(tokens[0]), "no handler to remove")
      try require(!event.remoteOccurrences.remove(tokens[0]) && event.handlerCount == 1, "\(event.handlerCount)")
      try await event.publish(2)
      try await clock.sleep(for: .seconds(1))
      try require(first.count == 1 && second.values == [1, 2], "\(first.values) \(second.values)")
    }
  }

  @Test func aSequenceThatIsMadeLaterGetsWhatHasWaited() throws {
    try simulate(1...20) { clock in
      func waiting() async throws -> RemoteEvent<Int> {
        let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
        try await event.listen(as: "one")
        try await event.publish(1)
        try await clock.sleep(for: .seconds(1))
        return event
      }
      func first<Element>(_ sequence: some AsyncSequence<Element, Never>) async -> Element? {
        for await element in sequence { return element }
        return nil
      }
      let events = [try await waiting(), try await waiting(), try await waiting(), try await waiting()]
      let found = [
        await first(events[0].payloads()), await first(events[1].payloads(named: "loop")),
        await first(events[2].remoteOccurrences.payloads())?.payload,
        await first(events[3].remoteOccurrences.payloads(named: "loop"))?.payload,
      ]
      try require(found == [1, 1, 1, 1], "\(found)")
      withExtendedLifetime(events) {}
    }
  }

  @Test func aSequenceOfOccurrencesEndsByItsName() throws {
    try simulate(1...20) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let notes = Notes<Int>()
      let occurrences = event.remoteOccurrences.payloads(named: "loop")
      try await event.listen(as: "one")
      let task = Task(executorPreference: EventContext.executor) {
        for await occurrence in occurrences { notes.note(occurrence.payload) }
      }
      for number in 1...3 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(1))
      try require(
        event.contains(where: .named("loop")) && event.removeAll(where: .named("loop")) == 1,
        "no sequence with the name")
      await task.value
      try require(notes.values == [1, 2, 3] && event.handlerCount == 0, "\(notes.values)")
    }
  }
}
