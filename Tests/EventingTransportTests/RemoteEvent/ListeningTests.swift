import Eventing
import EventingTesting
import EventingTransport
import Foundation
import Testing

/// R4, R5, R8 and R11: order, groups, bounds, and the end of a listening.
@Suite(.timeLimit(.minutes(10))) struct ListeningTests {
  static func code(_ body: () async throws -> Void) async -> TransportError.Code? {
    do {
      try await body()
      return nil
    } catch { return (error as? TransportError)?.code }
  }

  @Test(arguments: [1, 3, 256]) func anInOrderHandlerHasTheOrderOfThePublisher(inFlight: Int) throws {
    try simulate { clock in
      let bus = InMemoryTransport(seed: 3, faults: [.delay(upTo: .milliseconds(5))], clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (inline, lane) = (Notes<Int>(), Notes<Int>())
      event.addHandler { inline.note($0) }
      event.addHandler { number async in
        if number % 3 == 0 { try? await clock.sleep(for: .milliseconds(3)) }
        lane.note(number)
      }
      try await event.listen(as: "one", inFlight: inFlight)
      for number in 1...12 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(1))
      try require(inline.values == Array(1...12), "\(inline.values)")
      try require(lane.values == Array(1...12), "\(lane.values)")
    }
  }

  /// A message that a lock has kept from a handler comes again before all later messages.
  @Test func aLockDoesNotChangeTheOrderOfOneMessageAtATime() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (local, notes) = (Event<Int>("local"), Notes<Int>())
      event.forward(to: local)
      let token = local.addHandler { notes.note($0) }
      try await event.listen(as: "one", inFlight: 1)
      local.lock(token)
      try await event.publish(1)
      try await clock.sleep(for: .milliseconds(40))
      local.unlock(token)
      for number in 2...4 { try await event.publish(number) }
      try await clock.sleep(for: .milliseconds(40))
      try require(notes.values.isEmpty, "\(notes.values)")
      try await clock.sleep(for: .seconds(1))
      try require(notes.values == [1, 2, 3, 4], "\(notes.values)")
    }
  }

  @Test(arguments: [1, 2, 5]) func noMoreMessagesAreInHandThanInFlight(inFlight: Int) throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let running = Guarded((now: 0, most: 0))
      let notes = Notes<Int>()
      event.addHandler(on: .concurrent(limit: 100)) { number async in
        running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
        try? await clock.sleep(for: .milliseconds(5))
        running.withLock { $0.now -= 1 }
        notes.note(number)
      }
      try await event.listen(as: "one", inFlight: inFlight)
      for number in 1...11 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(1))
      try require(notes.count == 11, "\(notes.values)")
      let most = running.withLock { $0.most }
      try require(most == inFlight, "\(most)")
    }
  }

  @Test func oneMemberOfEachGroupAndEachListenerWithoutAGroup() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let names = ["a", "a", "a", "b", "b", nil, nil]
      let events = names.map { _ in RemoteEvent<Int>("numbers", over: bus) }
      let notes = names.map { _ in Notes<Int>() }
      for (index, event) in events.enumerated() {
        event.addHandler { number async in
          try? await clock.sleep(for: .milliseconds(1))
          notes[index].note(number)
        }
        try await event.listen(as: names[index], inFlight: 2)
      }
      for number in 1...20 { try await events[0].publish(number) }
      try await clock.sleep(for: .seconds(10))
      func all(_ range: Range<Int>) -> [Int] { notes[range].flatMap(\.values).sorted() }
      for range in [0..<3, 3..<5, 5..<6, 6..<7] { try require(all(range) == Array(1...20), "\(range): \(all(range))") }
      try require(notes.allSatisfy { $0.count > 0 }, "\(notes.map(\.values))")
      withExtendedLifetime(events) {}  // a listening ends with its event
    }
  }

  @Test func aMemberThatEndsGivesItsMessagesToTheOthers() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let (dying, living) = (RemoteEvent<Int>("numbers", over: bus), RemoteEvent<Int>("numbers", over: bus))
      let notes = Notes<Int>()
      dying.addHandler { _ async in try? await clock.sleep(for: .seconds(3_600)) }
      let listening = try await dying.listen(as: "one")
      for number in 1...4 { try await living.publish(number) }
      try await clock.sleep(for: .seconds(1))
      living.addHandler { notes.note($0) }
      try await living.listen(as: "one")
      try await clock.sleep(for: .seconds(1))
      try require(notes.count == 0, "\(notes.values)")
      listening.cancel()
      try await clock.sleep(for: .seconds(1))
      try require(notes.values == [1, 2, 3, 4], "\(notes.values)")
    }
  }

  @Test func aDrainFinishesWhatIsInHandAndGivesBackTheRest() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let (event, other) = (RemoteEvent<Int>("numbers", over: bus), RemoteEvent<Int>("numbers", over: bus))
      let (handled, given) = (Notes<Int>(), Notes<Int>())
      event.addHandler(on: .concurrent(limit: 100)) { number async in
        try? await clock.sleep(for: number < 3 ? .seconds(2) : .seconds(1_000))
        handled.note(number)
      }
      let listening = try await event.listen(as: "one", inFlight: 4)
      for number in 1...6 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(1))
      let start = clock.now
      await listening.drain(within: .seconds(10))
      let duration = start.duration(to: clock.now)
      try require(duration == .seconds(10), "\(duration)")
      try require(handled.values.sorted() == [1, 2], "\(handled.values)")
      other.addHandler { given.note($0) }
      try await other.listen(as: "one")
      try await clock.sleep(for: .seconds(1))
      try require(given.values == [3, 4, 5, 6], "\(given.values)")
      await listening.drain(within: .seconds(10))
    }
  }

  @Test func aDrainWithNothingInHandReturnsAtOnce() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      event.addHandler { _ in }
      let listening = try await event.listen(as: "one")
      try await event.publish(1)
      let start = clock.now
      await listening.drain(within: .seconds(10))
      try require(start == clock.now, "\(clock.now)")
      try await event.listen(as: "one")
    }
  }

  @Test func aListeningBelongsToItsEvent() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let sender = RemoteEvent<Int>("numbers", over: bus)
      let notes = Notes<Int>()
      do {
        let event = RemoteEvent<Int>("numbers", over: bus)
        event.addHandler { notes.note($0) }
        try await event.listen(as: "one")  // nothing retains the returned `Listening`
        try await sender.publish(1)
        try await clock.sleep(for: .seconds(1))
        try require(notes.values == [1], "\(notes.values)")
        withExtendedLifetime(event) {}
      }
      try await sender.publish(2)
      try await clock.sleep(for: .seconds(1))
      try require(notes.values == [1], "\(notes.values)")
    }
  }

  @Test func aFinishedEventListensAndPublishesNoMore() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let (event, other) = (RemoteEvent<Int>("numbers", over: bus), RemoteEvent<Int>("numbers", over: bus))
      let notes = Notes<Int>()
      event.addHandler { notes.note($0) }
      try await event.listen(as: "one")
      event.finish()
      try await other.publish(1)
      try await clock.sleep(for: .seconds(1))
      try require(notes.count == 0 && event.isFinished, "\(notes.values)")
      let codes = [await Self.code { try await event.publish(1) }, await Self.code { try await event.listen() }]
      try require(codes == [.closed, .closed], "\(codes)")
    }
  }

  @Test func aSecondListeningInOneGroupIsRefused() async throws {
    let event = RemoteEvent<Int>("numbers", over: InMemoryTransport())
    let first = try await event.listen(as: "one")
    try await event.listen()
    try await event.listen(as: "two")
    #expect(await Self.code { try await event.listen(as: "one") } == .alreadyListening)
    #expect(await Self.code { try await event.listen() } == .alreadyListening)
    first.cancel()
    try await event.listen(as: "one")
  }

  @Test func oldMessagesComeFromWhereAListeningBegins() throws {
    try simulate(1...5) { clock in
      let starts: [(StartPosition, [Int])] = [
        (.new, []), (.first, [1, 2, 3, 4]), (.position(3), [3, 4]), (.position(0), [1, 2, 3, 4]),
        (.time(.distantPast), [1, 2, 3, 4]), (.time(.distantFuture), []),
      ]
      for (start, old) in starts {
        let bus = InMemoryTransport(clock: clock)
        let event = RemoteEvent<Int>("numbers", over: bus)
        let notes = Notes<Int>()
        event.addHandler { notes.note($0) }
        for number in 1...4 { try await event.publish(number) }
        try await event.listen(startingAt: start)
        try await event.publish(5)
        try await clock.sleep(for: .milliseconds(1))
        try require(notes.values == old + [5], "\(start): \(notes.values)")
      }
    }
  }

  @Test func aGroupGoesOnWhereItWas() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let notes = Notes<Int>()
      event.addHandler { notes.note($0) }
      let listening = try await event.listen(as: "one")
      try await event.publish(1)
      await listening.drain()
      try await event.publish(2)
      try await event.listen(as: "one", startingAt: .new)
      try await clock.sleep(for: .seconds(1))
      try require(notes.values == [1, 2], "\(notes.values)")
    }
  }

  @Test func aRepeatedIdIsStoredOnceAndDeduplicationLeavesItOut() throws {
    try simulate { clock in
      let bus = InMemoryTransport(seed: 5, faults: [.duplicate(0.5)], clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let notes = Notes<Int>()
      event.addHandler { notes.note($0) }
      try await event.listen(as: "one", deduplicating: .last(100))
      let first = try await event.publish(1, id: "one")
      let second = try await event.publish(1, id: "one")
      try require(!first.isDuplicate && second == Receipt(position: 1, isDuplicate: true), "\(first), \(second)")
      for number in 2...10 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(10))
      try require(notes.values.sorted() == Array(1...10), "\(notes.values)")
    }
  }

  @Test func deduplicationForgetsAnIdThatFailed() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let notes = Notes<Int>()
      event.addHandler { number async throws in
        notes.note(number)
        if notes.count < 3 { throw Refused() }
      }
      try await event.listen(as: "one", deduplicating: .last(100))
      try await event.publish(1)
      try await clock.sleep(for: .seconds(100))
      try require(notes.count == 3, "\(notes.values)")
    }
  }
}
