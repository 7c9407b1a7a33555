import Eventing
import EventingTesting
import EventingTransport
import Testing

/// The methods of a remote event with keys that name, lock and inspect handlers.
@Suite(.timeLimit(.minutes(10))) struct KeyedLookingTests {
  private final class Owner: Sendable {}

  @Test func locksReachTheHandlersThatTheyName() throws {
    try simulate(1...10) { clock in
      let event = RemoteKeyedEvent<String, Int>("numbers", over: InMemoryTransport(clock: clock).plain)
      let (notes, owner) = (Notes<String>(), Owner())
      event["a"].addHandler(.named("one")) { _ in notes.note("one") }
      event["a"].addHandler(.tagged("tag")) { _ in notes.note("two") }
      event["b"].addHandler(owner: owner) { _, _ in notes.note("three") }
      try await event.listen()
      func reach(_ expected: [String], line: Int = #line) async throws {
        let before = notes.count
        for key in ["a", "b"] { try await event.publish(5, to: key) }
        try await clock.sleep(for: .seconds(1))
        let found = Array(notes.values.dropFirst(before))
        try require(found == expected, "expected \(expected), got \(found)", line: line)
      }
      try await reach(["one", "two", "three"])
      try require(
        event.lockAll(where: .named("one")) == 1 && event.lockAll(where: .named("other")) == 0, "locks of another name")
      try await reach(["two", "three"])
      try require(event.unlockAll(where: .named("one")) == 1, "no handler with the name")
      try require(
        event.lockAll(where: .tagged("tag")) == 1 && event.lockAll(where: .tagged("other")) == 0, "locks of another tag"
      )
      try await reach(["one", "three"])
      try require(event.unlockAll(where: .tagged("tag")) == 1, "no handler with the tag")
      try require(
        event.lockAll(where: .ownedBy(owner)) == 1 && event.lockAll(where: .ownedBy(event)) == 0,
        "locks of another owner")
      try await reach(["one", "two"])
      try require(event.unlockAll(where: .ownedBy(owner)) == 1, "no handler of the owner")
      try require(event.lockAll() == 3, "other locks of all")
      try await reach([])
      try require(event.unlockAll() == 3, "no handlers to unlock")
      try await reach(["one", "two", "three"])
      try require(
        event.removeAll(where: .tagged("tag")) == 1 && event.removeAll(where: .tagged("tag")) == 0,
        "other removals of a tag")
      try await reach(["one", "three"])
    }
  }

  @Test func theHandlersOfAllKeysCanBeLookedAt() throws {
    try simulate(1...5) { clock in
      let event = RemoteKeyedEvent<String, Int>("numbers", over: InMemoryTransport(clock: clock))
      let token = event["a"].addHandler(.named("one")) { _ in }
      event["a"].addHandler(.named("two")) { _ in }
      event["b"].addHandler(.named("three")) { _ in }
      event.anyKey.addHandler(.named("all")) { _ in }
      try require(Set(event.keys) == ["a", "b"] && event.handlerCount(for: "a") == 2, "\(event.keys)")
      try require(event.handlerCount(for: "c") == 0, "handlers of another key")
      let (all, some) = (await event.handlers(), await event.handlers(of: "a"))
      try require(all.count == 4 && Set(all.map(\.name)) == ["one", "two", "three", "all"], "\(all)")
      try require(some.map(\.name) == ["one", "two"], "\(some)")
      try require(event.contains(token) && event.contains(where: .named("three")), "handlers are missing")
      let (locked, unlocked) = (
        event.lockAll(where: .key("a", of: event)), event.unlockAll(where: .key("a", of: event))
      )
      try require(locked == 2 && unlocked == 2, "a filter by key: \(locked) and \(unlocked)")
      event.remove(token)
      try require(!event.contains(token) && !event.contains(where: .named("one")), "a removed handler is there")
      try require(!event.isFinished, "an end")
      event.finish()
      try require(event.isFinished, "no end")
    }
  }

  private struct Watcher: EventObserver {
    let notes: Notes<String>
    func observe(_ step: EventStep) { if step.kind == .began { notes.note("began") } }
  }

  @Test func anObserverSeesTheMessagesOfAllKeys() throws {
    try simulate(1...5) { clock in
      let event = RemoteKeyedEvent<String, Int>("numbers", over: InMemoryTransport(clock: clock))
      let notes = Notes<String>()
      for key in ["a", "b"] { event[key].addHandler { _ in } }
      let observation = event.observe(with: Watcher(notes: notes))
      try await event.listen(as: "one")
      for key in ["a", "b", "c"] { try await event.publish(1, to: key) }
      try await clock.sleep(for: .seconds(1))
      observation.end()
      try require(notes.values == ["began", "began"], "\(notes.values)")
    }
  }

  /// While an event has no handlers, its listening takes nothing. So a handler that is added to
  /// `remoteOccurrences` must wake the listening.
  @Test func wholeOccurrencesHaveTheirKey() throws {
    try simulate(1...20) { clock in
      let event = RemoteKeyedEvent<Int, String>("numbers", over: InMemoryTransport(clock: clock))
      let notes = Notes<String>()
      try await event.listen(as: "one")
      _ = try await event.publish("five", to: 5, id: "a", headers: ["Trace": "t"])
      try await clock.sleep(for: .seconds(1))
      let token = event.remoteOccurrences.addHandler { found in
        let position = found.position ?? 0
        notes.note("\(found.payload.key) \(found.payload.payload) \(found.id) \(found.subject) \(position)")
        notes.note("\(found.headers["Trace"] ?? "") \(found.attempt)")
      }
      try await clock.sleep(for: .milliseconds(1))
      try require(notes.values == ["5 five a numbers.5 1", "t 1"], "\(notes.values)")
      try require(event.remoteOccurrences.remove(token) && event.handlerCount == 0, "no handler to remove")
    }
  }
}
