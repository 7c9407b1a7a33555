import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of the verbs of a remote event, such as `lock` and `remove`, while the event listens. Each
/// verb must affect exactly the handlers that its arguments name.
@Suite(.timeLimit(.minutes(10))) struct RemoteVerbTests {
  private final class Owner: Sendable {}

  /// A remote event without a stream, with three handlers that note their names.
  private struct Three: Sendable {
    let event: RemoteEvent<Int>
    let notes = Notes<String>()
    let owner = Owner()
    let token: HandlerToken
    let clock: ManualClock

    init(_ clock: ManualClock) async throws {
      let notes = notes
      self.clock = clock
      event = RemoteEvent("numbers", over: InMemoryTransport(clock: clock).plain)
      token = event.addHandler(.named("one")) { _ in notes.note("one") }
      event.addHandler(.tagged("tag")) { _ in notes.note("two") }
      event.addHandler(owner: owner) { _, _ in notes.note("three") }
      try await event.listen()
    }

    /// Publishes a message, and returns the names of the handlers that it has called.
    func reached() async throws -> [String] {
      let before = notes.count
      try await event.publish(0)
      try await clock.sleep(for: .seconds(1))
      return Array(notes.values.dropFirst(before))
    }

    func require(_ expected: [String], line: Int = #line) async throws {
      let found = try await reached()
      try EventingTransportTests.require(found == expected, "expected \(expected), got \(found)", line: line)
    }
  }

  @Test func aLockReachesTheHandlersThatItNames() throws {
    try simulate(1...10) { clock in
      let three = try await Three(clock)
      let (event, token, owner) = (three.event, three.token, three.owner)
      try await three.require(["one", "two", "three"])
      try require(event.lock(token) && event.isLocked(token), "no lock of the handler")
      try await three.require(["two", "three"])
      try require(event.unlock(token) && !event.isLocked(token), "a lock of the handler")
      try require(
        event.lockAll(where: .named("one")) == 1 && event.lockAll(where: .named("other")) == 0, "locks of another name")
      try await three.require(["two", "three"])
      try require(event.unlockAll(where: .named("one")) == 1, "no handler with the name")
      try require(
        event.lockAll(where: .tagged("tag")) == 1 && event.lockAll(where: .tagged("other")) == 0, "locks of another tag"
      )
      try await three.require(["one", "three"])
      try require(event.unlockAll(where: .tagged("tag")) == 1, "no handler with the tag")
      try require(
        event.lockAll(where: .ownedBy(owner)) == 1 && event.lockAll(where: .ownedBy(event)) == 0,
        "locks of another owner")
      try await three.require(["one", "two"])
      try require(event.unlockAll(where: .ownedBy(owner)) == 1, "no handler of the owner")
      try await three.require(["one", "two", "three"])
    }
  }

  @Test func aHandlerIsLockedForTheDurationOfAClosure() throws {
    try simulate(1...10) { clock in
      let three = try await Three(clock)
      let during = try await three.event.withLocked(three.token) { try await three.reached() }
      try require(during == ["two", "three"], "\(during)")
      await #expect(throws: Refused.self) {
        try await three.event.withLocked(three.token) { () throws(Refused) in throw Refused() }
      }
      try await three.require(["one", "two", "three"])
    }
  }

  @Test func aLockedEventTakesNothingUntilItIsUnlocked() throws {
    try simulate(1...10) { clock in
      let three = try await Three(clock)
      three.event.lock()
      try require(three.event.isLocked, "no lock of the event")
      try await three.require([])
      three.event.unlock()
      try require(!three.event.isLocked, "a lock of the event")
      try await clock.sleep(for: .seconds(1))
      try require(three.notes.values == ["one", "two", "three"], "\(three.notes.values)")
    }
  }

  @Test func aRemovalReachesTheHandlersThatItNames() throws {
    try simulate(1...10) { clock in
      let three = try await Three(clock)
      let (event, token, notes) = (three.event, three.token, three.notes)
      let more = event.add(Handler { _ in notes.note("four") }, Handler { _ in notes.note("five") })
      let named = event.addHandler(.named("six")) { _ in notes.note("six") }
      try await three.require(["one", "two", "three", "four", "five", "six"])
      let ofTokens = HandlerFilter.oneOf(more)
      try require(
        event.removeAll(where: ofTokens) == 2 && event.removeAll(where: ofTokens) == 0, "other removals of tokens")
      try await three.require(["one", "two", "three", "six"])
      try require(event.removeAll(where: .named("six")) == 1 && !event.contains(named), "other removals of a name")
      try await three.require(["one", "two", "three"])
      try require(event.removeAll(where: .tagged("tag")) == 1, "other removals of a tag")
      try await three.require(["one", "three"])
      try require(event.removeAll(where: .ownedBy(three.owner)) == 1, "other removals of an owner")
      try await three.require(["one"])
      try require(event.remove(token) && !event.remove(token), "other removals of a token")
      try require(event.handlerCount == 0 && event.handlerCount == 0, "\(event.handlerCount) handlers are left")
    }
  }

  @Test func aListReachesTheHandlersThatItNames() throws {
    try simulate(1...10) { clock in
      let three = try await Three(clock)
      let (event, notes) = (three.event, three.notes)
      let four = event.addHandler(.named("four")) { _ in notes.note("four") }
      let five = event.addHandler(.named("five")) { _ in notes.note("five") }
      try await three.require(["one", "two", "three", "four", "five"])
      try require(
        event.lockAll(where: .oneOf([three.token, four])) == 2 && event.lockAll(where: .oneOf([])) == 0,
        "locks of other tokens")
      try require(event.isLocked(four) && !event.isLocked(five), "a lock of another handler")
      try await three.require(["two", "three", "five"])
      try require(
        event.unlockAll(where: .oneOf([three.token, four])) == 2 && !event.isLocked(four), "no handlers of the tokens")
      try require(event.lockAll(where: .named("one", "five", "other")) == 2, "locks of other names")
      try await three.require(["two", "three", "four"])
      try require(event.unlockAll(where: .named("one", "five", "other")) == 2, "no handlers with the names")
      try await three.require(["one", "two", "three", "four", "five"])
      try require(
        event.removeAll(where: .named("one", "five", "other")) == 2
          && event.removeAll(where: .named("one", "five", "other")) == 0,
        "other removals of names")
      try await three.require(["two", "three", "four"])
    }
  }

  @Test func allHandlersAreLockedAndUnlocked() throws {
    try simulate(1...10) { clock in
      let three = try await Three(clock)
      let event = three.event
      func locked() async -> [Bool] { await event.handlers().map(\.isLocked) }
      try require(event.lockAll() == 3 && !event.isLocked, "other locks of all")
      try await three.require([])
      try require(event.unlock(three.token), "no handler to unlock")
      try await three.require(["one"])
      let lists = (
        await event.handlers().filter(\.isLocked), await event.handlers().filter({ !$0.isLocked }),
        await event.handlers(where: .ownedBy(three.owner))
      )
      try require(lists.0.map(\.tags) == [["tag"], []] && lists.1.map(\.name) == ["one"], "\(lists)")
      try require(lists.2.map(\.hasOwner) == [true], "\(lists)")
      let all = await locked()
      try require(all == [false, true, true], "\(all)")
      event.lock()
      try require(event.unlockAll() == 3 && event.isLocked, "no handlers to unlock, or no lock of the event")
      event.unlock()
      try await three.require(["one", "two", "three"])
    }
  }

  /// Each method that locks handlers can hold the last message until the lock ends.
  @Test(arguments: 0..<5) func aHoldingLockDelaysAMessage(kind: Int) throws {
    try simulate(1...10) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock).plain)
      let notes = Notes<Int>()
      let token = event.addHandler(.named("one")) { notes.note($0) }
      try await event.listen()
      switch kind {
      case 0: event.lock(token, holding: .latest)
      case 1: event.lockAll(where: .oneOf([token]), holding: .latest)
      case 2: event.lockAll(where: .named("one"), holding: .latest)
      case 3: event.lockAll(where: .named("one"), holding: .latest)
      default: event.lockAll(holding: .latest)
      }
      for number in 1...3 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(1))
      try require(notes.count == 0, "\(notes.values)")
      try require(event.unlockAll() == 1, "no handler to unlock")
      await event.quiesce()
      try require(notes.values == [3], "\(notes.values)")
    }
  }

  @Test func whatIsThereCanBeLookedAt() throws {
    try simulate(1...3) { clock in
      let three = try await Three(clock)
      let event = three.event
      try require(event.handlerCount > 0 && event.contains(three.token), "no handlers")
      try require(event.contains(where: .named("one")) && !event.contains(where: .named("two")), "other names")
      event.lock(three.token)
      let handlers = await event.handlers()
      try require(handlers.map(\.name) == ["one", nil, nil], "\(handlers)")
      try require(handlers.map(\.isLocked) == [true, false, false], "\(handlers)")
      try require(handlers.map(\.tags) == [[], ["tag"], []], "\(handlers)")
      try require(handlers.map(\.hasOwner) == [false, false, true], "\(handlers)")
      try require("\(event)" == "remote event \"numbers\" of Int", "\(event)")
    }
  }

  @Test func failuresOfHandlersAreSeen() throws {
    try simulate(1...10) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let failures = Notes<HandlerFailure>()
      event.failures.addHandler { failures.note($0) }
      let token = event.addHandler { _ async throws in throw Refused() }
      try await event.listen(as: "one", retry: .immediately(attempts: 2))
      try await event.publish(1)
      try await clock.sleep(for: .seconds(1))
      let found = failures.values
      try require(found.count == 2 && found.allSatisfy { $0.error is Refused && $0.handler == token }, "\(found)")
    }
  }

  private struct Watcher: EventObserver {
    let notes: Notes<String>
    func observe(_ step: EventStep) {
      if [.added, .began, .removed].contains(step.kind) { notes.note("\(step.kind) \(step.event)") }
    }
  }

  @Test func anObserverSeesWhatMessagesDo() throws {
    try simulate(1...10) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let notes = Notes<String>()
      let observation = event.observe(with: Watcher(notes: notes))
      let token = event.addHandler { _ in }
      try await event.listen(as: "one")
      try await event.publish(1)
      try await clock.sleep(for: .seconds(1))
      event.remove(token)
      observation.end()
      event.addHandler { _ in }
      try require(notes.values == ["added numbers", "began numbers", "removed numbers"], "\(notes.values)")
    }
  }

  @Test func quiesceWaitsForTheCallsOfMessagesInHand() throws {
    try simulate(1...10) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let notes = Notes<Int>()
      event.addHandler { number async in
        try? await clock.sleep(for: .seconds(10))
        notes.note(number)
      }
      try await event.listen(as: "one")
      for number in 1...3 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(1))
      await event.quiesce()
      try require(notes.values == [1, 2, 3] && clock.now.offset == .seconds(30), "\(notes.values), \(clock.now)")
    }
  }
}
