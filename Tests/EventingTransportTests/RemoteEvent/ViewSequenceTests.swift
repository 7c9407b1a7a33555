import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of guarantee R3 of PROOF.md: each message that a `for await` loop or `next` takes is
/// acknowledged or given back. The loops are over views, over keys, and over the targets of
/// forwards.
@Suite(.timeLimit(.minutes(10))) struct ViewSequenceTests {
  /// Returns the numbers that a loop takes until it breaks at one of them.
  private static func loop(_ numbers: some AsyncSequence<Int, Never> & Sendable, until last: Int) async -> [Int] {
    var taken: [Int] = []
    for await number in numbers {
      taken.append(number)
      if number == last { break }
    }
    return taken
  }

  /// Expects that a loop gives back to the engine the message at which it breaks, and the messages
  /// in its buffer.
  private static func expectGivingBack(
    _ makeSource: @escaping @Sendable (RemoteEvent<Int>) -> any EventSource<Int>, buffering: Buffering = .unbounded
  ) throws {
    try simulate(1...30) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let source = makeSource(event)
      let rest = Notes<Int>()
      func take(_ source: some EventSource<Int>) async throws -> [Int] {
        let numbers = source.payloads(buffering: buffering)
        try await event.listen(as: "one")
        for number in 1...5 { try await event.publish(number) }
        try await clock.sleep(for: .seconds(1))
        return await loop(numbers, until: 3)
      }
      let taken = try await take(source)
      try require(taken == [1, 2, 3], "\(taken)")
      source.removeAllThatIsLeft(of: event)
      event.addHandler { rest.note($0) }
      try await clock.sleep(for: .seconds(1))
      try require(rest.values.sorted() == [3, 4, 5], "\(rest.values)")
    }
  }

  @Test func aLoopOverAViewGivesBackWhatItHasNotHandled() throws {
    try Self.expectGivingBack { $0.map { $0 } }
    try Self.expectGivingBack { $0.filter { $0 > 0 } }
    try Self.expectGivingBack { $0.filter { $0 > 0 }.map { $0 } }
    try Self.expectGivingBack { $0.remoteOccurrences.map(\.payload) }
    try Self.expectGivingBack({ $0.map { $0 } }, buffering: .newest(10))
  }

  @Test func aLoopBehindAForwardGivesBackWhatItHasNotHandled() throws {
    try Self.expectGivingBack { event in
      let local = Event<Int>("local")
      event.forward(to: local, strongly: true)
      return local
    }
  }

  @Test func aLoopOverBatchesGivesBackWhatItHasNotHandled() throws {
    try Self.expectGivingBack { $0.batches(of: 1).map { $0[0] } }
    try Self.expectGivingBack { $0.batches(of: 1) { $0 }.map { $0[0] } }
    try Self.expectGivingBack { $0.batches(of: 1).batches(of: 1).map { $0[0][0] } }
    try Self.expectGivingBack { event in
      let local = Event<[Int]>("local")
      event.batches(of: 1).forward(to: local, strongly: true)
      return local.map { $0[0] }
    }
  }

  @Test func aLoopOverAllEventsOfABusGivesBackWhatItHasNotHandled() throws {
    try Self.expectGivingBack { event in
      let bus = EventBus()
      event.forward(to: bus.event(for: Int.self), strongly: true)
      return bus.all(as: Int.self)
    }
  }

  @Test func aLoopOverAKeyGivesBackWhatItHasNotHandled() throws {
    try simulate(1...30) { clock in
      let event = RemoteKeyedEvent<String, Int>("numbers", over: InMemoryTransport(clock: clock))
      let rest = Notes<Int>()
      let (one, any) = (event["a"].payloads(), event.anyKey.map(\.payload).payloads())
      try await event.listen(as: "one")
      for number in 1...5 { try await event.publish(number, to: "a") }
      try await clock.sleep(for: .seconds(1))
      let taken = await [Self.loop(one, until: 3), Self.loop(any, until: 2)]
      try require(taken == [[1, 2, 3], [1, 2]], "\(taken)")
      event.removeAll()
      event["a"].addHandler { rest.note($0) }
      try await clock.sleep(for: .seconds(1))
      try require(rest.values.sorted() == [2, 3, 4, 5], "\(rest.values)")
    }
  }

  @Test func aMessageOfAViewIsInHandUntilTheNextOneIsAskedFor() throws {
    try simulate(1...30) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let notes = Notes<Int>()
      let numbers = event.filter { $0 != 2 }.payloads()
      try await event.listen(as: "one", inFlight: 1)
      for number in 1...3 { try await event.publish(number) }
      let task = Task(executorPreference: EventContext.executor) {
        for await number in numbers {
          notes.note(number)
          try? await clock.sleep(for: .seconds(10))
        }
      }
      try await clock.sleep(for: .seconds(5))
      try require(notes.values == [1], "\(notes.values)")
      try await clock.sleep(for: .seconds(10))
      try require(notes.values == [1, 3], "\(notes.values)")
      event.finish()
      await task.value
    }
  }

  @Test func arrivalsAndBatchesOfAViewCountAsTheyAreAskedFor() throws {
    try simulate(1...30) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let (notes, rest) = (Notes<[Int]>(), Notes<Int>())
      let batches = event.map { $0 }.batches(of: 2).payloads()
      let arrivals = event.map { $0 }.batches(of: 1).arrivals(buffering: .oldest(10))
      try await event.listen(as: "one")
      for number in 1...6 { try await event.publish(number) }
      try await clock.sleep(for: .milliseconds(1))
      for await batch in batches {
        notes.note(batch)
        if batch.contains(4) { break }
      }
      for await arrival in arrivals where arrival == .payload([4]) { break }
      try require(notes.values == [[1, 2], [3, 4]], "\(notes.values)")
      event.removeAll()
      event.addHandler { rest.note($0) }
      try await clock.sleep(for: .seconds(1))
      try require(rest.values.sorted() == [3, 4, 5, 6], "\(rest.values)")
    }
  }

  @Test func aViewThatDropsAnElementGetsItAgain() throws {
    try simulate(1...30) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let notes = Notes<Int>()
      let numbers = event.map { $0 }.payloads(buffering: .newest(2))
      try await event.listen(as: "one")
      for number in 1...5 { try await event.publish(number) }
      for await number in numbers {
        notes.note(number)
        if Set(notes.values).count == 5 { break }
      }
      try require(Set(notes.values) == [1, 2, 3, 4, 5], "\(notes.values)")
    }
  }

  @Test func nextAcknowledgesWhatItReturnsAndGivesBackTheRest() throws {
    try simulate(1...30) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let rest = Notes<Int>()
      let waiting = Task(executorPreference: EventContext.executor) { try await event.next { $0 == 2 } }
      let limited = Task(executorPreference: EventContext.executor) {
        try await event.map { $0 }.next(within: .seconds(100), clock: clock) { $0 == 2 }
      }
      try await clock.sleep(for: .milliseconds(1))
      for number in 1...2 { try await event.publish(number) }
      try await event.listen(as: "one", startingAt: .first)
      let found = try await [waiting.value, limited.value]
      try require(found == [2, 2], "\(found)")
      event.addHandler { rest.note($0) }
      try await event.publish(3)
      try await clock.sleep(for: .seconds(1))
      try require(rest.values == [3], "\(rest.values)")
    }
  }

  @Test func aNextThatEndsWithAnErrorGivesItsMessageBack() throws {
    try simulate(1...30) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let rest = Notes<Int>()
      let waiting = Task(executorPreference: EventContext.executor) { try await event.next { _ in throw Refused() } }
      try await clock.sleep(for: .milliseconds(1))
      try await event.publish(1)
      try await event.listen(as: "one", startingAt: .first)
      let result = await waiting.result
      guard case .failure(is Refused) = result else { throw Unmet(description: "\(result)") }
      event.addHandler { rest.note($0) }
      try await clock.sleep(for: .seconds(1))
      try require(rest.values == [1], "\(rest.values)")
    }
  }
}

extension EventSource {
  /// Removes all handlers that `event` still has, such as the forward to this source. The call also
  /// keeps this source alive until the removal.
  fileprivate func removeAllThatIsLeft(of event: RemoteEvent<Int>) { event.removeAll() }
}
