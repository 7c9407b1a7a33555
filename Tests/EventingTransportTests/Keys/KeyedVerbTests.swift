import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of the verbs of a remote event with keys, such as `lock` and `remove`, while the event
/// listens. Each verb must affect exactly the handlers that its arguments name.
@Suite(.timeLimit(.minutes(10))) struct RemoteKeyedVerbTests {
  private final class Owner: Sendable {}

  @Test func locksAndRemovalsReachTheHandlersOfAllKeys() throws {
    try simulate(1...10) { clock in
      let event = RemoteKeyedEvent<String, Int>("numbers", over: InMemoryTransport(clock: clock).plain)
      let (notes, owner) = (Notes<String>(), Owner())
      let token = event["a"].addHandler(.named("one")) { _ in notes.note("one") }
      event["b"].addHandler(owner: owner) { _, _ in notes.note("two") }
      let more = event["b"].add(Handler { _ in notes.note("three") }, Handler { _ in notes.note("four") })
      let last = event.anyKey.addHandler { notes.note("\($0.key)\($0.payload)") }
      try await event.listen()
      func reach(_ expected: Set<String>, line: Int = #line) async throws {
        let before = notes.count
        for key in ["a", "b"] { try await event.publish(5, to: key) }
        try await clock.sleep(for: .seconds(1))
        let found = Set(notes.values.dropFirst(before))
        try require(found == expected, "expected \(expected), got \(found)", line: line)
      }
      try await reach(["one", "two", "three", "four", "a5", "b5"])
      try require(event.handlerCount == 5, "\(event.handlerCount)")

      try require(event.lock(token) && event.isLocked(token), "no lock of the handler")
      try await reach(["two", "three", "four", "a5", "b5"])
      try require(event.unlock(token) && !event.isLocked(token), "a lock of the handler")

      let ofTokens = HandlerFilter.oneOf(more)
      try require(
        event.removeAll(where: ofTokens) == 2 && event.removeAll(where: ofTokens) == 0, "other removals of tokens")
      try await reach(["one", "two", "a5", "b5"])
      try require(
        event.removeAll(where: .named("one")) == 1 && event.removeAll(where: .named("one")) == 0,
        "other removals of a name")
      try await reach(["two", "a5", "b5"])
      try require(
        event.removeAll(where: .ownedBy(owner)) == 1 && event.removeAll(where: .ownedBy(owner)) == 0,
        "other removals of an owner")
      try await reach(["a5", "b5"])
      try require(event.anyKey.remove(last) && !event.remove(last), "other removals of a token")
      let other = event["c"].addHandler { _ in }
      try require(event["c"].remove(other) && !event["c"].remove(other), "other removals at a key")
      event["a"].addHandler { _ in }
      event["b"].addHandler { _ in }
      try require(event.removeAll() == 2 && event.handlerCount == 0, "other removals of all")
    }
  }

  @Test func aLockedEventTakesNothingUntilItIsUnlocked() throws {
    try simulate(1...20) { clock in
      let event = RemoteKeyedEvent<Int, Int>("numbers", over: InMemoryTransport(clock: clock))
      let notes = Notes<Int>()
      event[1].addHandler { notes.note($0) }
      try await event.listen(as: "one")
      event.lock()
      try await event.publish(5, to: 1)
      try await clock.sleep(for: .seconds(100))
      try require(event.isLocked && notes.count == 0, "\(notes.values)")
      event.unlock()
      try await clock.sleep(for: .milliseconds(1))
      try require(!event.isLocked && notes.values == [5], "\(notes.values)")
    }
  }

  /// While an event has no handlers, its listening takes no messages. So `add` and `addHandler`
  /// must both wake the listening.
  @Test func handlersThatAreAddedGetWhatHasWaited() throws {
    try simulate(1...20) { clock in
      for adds in [true, false] {
        let event = RemoteKeyedEvent<Int, Int>("numbers", over: InMemoryTransport(clock: clock))
        let notes = Notes<Int>()
        try await event.listen(as: "one")
        try await event.publish(5, to: 1)
        try await clock.sleep(for: .seconds(1))
        if adds { event[1].addHandler { notes.note($0) } } else { event[1].addHandler { notes.note($0) } }
        try await clock.sleep(for: .milliseconds(1))
        try require(notes.values == [5], "\(notes.values)")
      }
    }
  }

  @Test func quiesceWaitsForTheCallsOfMessagesInHand() throws {
    try simulate(1...10) { clock in
      let event = RemoteKeyedEvent<Int, Int>("numbers", over: InMemoryTransport(clock: clock))
      let notes = Notes<Int>()
      event[1].addHandler { number async in
        try? await clock.sleep(for: .seconds(10))
        notes.note(number)
      }
      try await event.listen(as: "one")
      try await event.publish(5, to: 1)
      try await clock.sleep(for: .seconds(1))
      await event.quiesce()
      try require(notes.values == [5] && clock.now.offset == .seconds(10), "\(notes.values), \(clock.now)")
    }
  }

  @Test func aFinishedEventListensAndPublishesNoMore() throws {
    try simulate(1...10) { clock in
      let bus = InMemoryTransport(clock: clock)
      let (event, other) = (
        RemoteKeyedEvent<Int, Int>("numbers", over: bus), RemoteKeyedEvent<Int, Int>("numbers", over: bus)
      )
      let (notes, ends) = (Notes<Int>(), Notes<Int>())
      event[1].addHandler { notes.note($0) }
      let numbers = event[1].payloads()
      let task = Task(executorPreference: EventContext.executor) { for await number in numbers { ends.note(number) } }
      try await event.listen(as: "one")
      event.finish()
      await task.value
      try await other.publish(1, to: 1)
      try await clock.sleep(for: .seconds(1))
      try require(notes.count == 0 && ends.count == 0, "\(notes.values)")
      let codes = [
        await ListeningTests.code { try await event.publish(1, to: 1) },
        await ListeningTests.code { try await event.listen() },
      ]
      try require(codes == [.closed, .closed], "\(codes)")
    }
  }

  @Test func aKeyWithoutAPayloadIsEnough() throws {
    try simulate(1...3) { clock in
      let pings = RemoteKeyedEvent<Int, Void>("pings", over: InMemoryTransport(clock: clock))
      let keys = Notes<Int>()
      pings.anyKey.addHandler { keys.note($0.key) }
      try await pings.listen()
      for key in [3, 1] { try await pings.publish((), to: key) }
      try await clock.sleep(for: .seconds(1))
      try require(keys.values == [3, 1], "\(keys.values)")
      try require("\(pings)" == "remote event \"pings\" of (), keyed by Int", "\(pings)")
    }
  }
}
