import Eventing
import EventingTesting
import EventingTransport
import Testing

/// R3: messages that the engine brings again while they are in hand, and messages that reach
/// several handlers or loops, of which one has not handled them.
extension AcknowledgementTests {
  /// A copy of a message that is in hand is no repetition for a view with memory, and replaces
  /// nothing. Otherwise the copy would be acknowledged, and the message lost if its call fails.
  @Test(arguments: ["removeDuplicates", "debounced", "latest"])
  func aCopyOfAMessageInHandDoesNotAcknowledgeIt(kind: String) throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (attempts, handled) = (Guarded(0), Notes<Int>())
      @Sendable func handle(_ number: Int) async throws {
        let attempt = attempts.withLock { attempts in
          attempts += 1
          return attempts
        }
        try await clock.sleep(for: .seconds(3))
        if attempt == 1 { throw Refused() }
        handled.note(number)
      }
      switch kind {
      case "removeDuplicates": event.removeDuplicates().addHandler { try await handle($0) }
      case "debounced": event.addHandler(.debounced(for: .seconds(1), clock: clock)) { try await handle($0) }
      default: event.addHandler(.buffering(.latest), on: .inOrder) { try await handle($0) }
      }
      try await event.listen(as: "one", retry: .immediately(attempts: 5))
      try await event.publish(7)
      try await clock.sleep(for: .milliseconds(500))
      bus.disconnect()
      bus.reconnect(forgettingWhatIsInHand: true)
      try await clock.sleep(for: .seconds(100))
      try require(handled.values.contains(7), "\(kind): \(attempts.withLock { $0 }) attempts, \(handled.values)")
    }
  }

  /// A message that a newer one has replaced does not come again while another handler is locked.
  /// Otherwise it would replace the newer one, and so on.
  @Test(arguments: ["debounced", "restarting"])
  func whatANewerPayloadReplacesIsDoneBesideALockedHandler(kind: String) throws {
    try simulate(1...20) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let ended = Notes<Int>()
      @Sendable func handle(_ number: Int) async throws {
        try await clock.sleep(for: .milliseconds(300))
        ended.note(number)
      }
      if kind == "debounced" {
        event.addHandler(.debounced(for: .milliseconds(300), clock: clock)) { try await handle($0) }
      } else {
        event.addHandler(.cancellingPrevious) { try await handle($0) }
      }
      event.lock(event.addHandler { _ in })
      try await event.listen(as: "one")
      for number in 1...3 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(10))
      try require(ended.values.first == 3, "\(ended.values)")
    }
  }

  /// A key whose only handler is a forward to an event without handlers has not handled a message.
  @Test func aForwardOfAKeyThatReachesNobodyHandlesNothing() throws {
    try simulate(1...20) { clock in
      let orders = RemoteKeyedEvent<String, Int>("orders", over: InMemoryTransport(clock: clock))
      let (local, notes) = (Event<Int>("local"), Notes<Int>())
      orders["eu"].forward(to: local)
      try await orders.listen(as: "one")
      try await orders.publish(1, to: "eu")
      try await orders.publish(2, to: "us")
      try await clock.sleep(for: .seconds(1))
      local.addHandler { notes.note($0) }
      try await clock.sleep(for: .seconds(1))
      try require(notes.values == [1], "\(notes.values)")
    }
  }

  /// Two loops over one sequence: what one of them has not handled comes again, though the other
  /// has handled it.
  @Test(arguments: [Buffering.unbounded, .newest(9)])
  func whatOneOfTwoLoopsHasNotHandledComesAgain(buffering: Buffering) throws {
    try simulate(1...20) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let (quick, again) = (Notes<Int>(), Notes<Int>())
      let numbers = event.payloads(buffering: buffering)
      let loops = [0, 1].map { loop in
        Task(executorPreference: EventContext.executor) {
          for await number in numbers {
            if loop == 0 { quick.note(number) } else { try? await clock.sleep(for: .seconds(5)) }
          }
        }
      }
      try await clock.sleep(for: .milliseconds(1))  // both loops wait
      try await event.listen(as: "one")
      for number in 1...2 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(1))
      try require(quick.values == [1, 2], "\(quick.values)")
      loops[1].cancel()
      await loops[1].value
      event.addHandler { again.note($0) }
      try await clock.sleep(for: .seconds(1))
      try require(again.values.sorted() == [1, 2], "\(again.values)")
      loops[0].cancel()
    }
  }

  /// Each of two loops over one sequence handles the messages: they are done.
  @Test(arguments: [Buffering.unbounded, .newest(9), .suspendingSender(9)])
  func whatBothLoopsHaveHandledDoesNotComeAgain(buffering: Buffering) throws {
    try simulate(1...20) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let notes = Notes<Int>()
      let numbers = event.payloads(buffering: buffering)
      try await event.listen(as: "one")
      try await event.publish(1)  // waits in the sequence, for both loops
      let loops = [1, 2].map { loop in
        Task(executorPreference: EventContext.executor) {
          for await number in numbers { notes.note(10 * loop + number) }
        }
      }
      for number in 2...3 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(10))
      // The loop that begins second may get later payloads only, or none.
      try require(
        Set(notes.values.map { $0 % 10 }) == [1, 2, 3] && notes.count == Set(notes.values).count, "\(notes.values)")
      for loop in loops { loop.cancel() }
    }
  }

  /// Loops end while messages are delivered on other threads. What no loop has handled comes again.
  @Test func loopsThatEndBesideDeliveriesLoseNoMessage() async throws {
    let event = RemoteEvent<Int>("numbers", over: InMemoryTransport())
    try await event.listen(as: "one", inFlight: 4)
    let publisher = Task {
      var number = 0
      while !Task.isCancelled {
        try await event.publish(number)
        number += 1
        // Beside other tests, the publisher would otherwise run far ahead of the loops.
        while try await event.backlog(of: "one").waiting > 256, !Task.isCancelled { await Task.yield() }
      }
    }
    var missing = Set(0..<1_000)
    let end = ContinuousClock.now + .seconds(300)
    while !missing.isEmpty, .now < end {
      var (left, before) = (Int.random(in: 1...4), -1)
      for await number in event.payloads() {
        missing.remove(before)  // the loop has asked for the element after it
        (left, before) = (left - 1, number)
        if left == 0 { break }
      }
    }
    publisher.cancel()
    #expect(missing.isEmpty, "\(missing.sorted())")
  }

  /// A message that does not fit waits when `next` begins. `next` waits for the one that fits.
  @Test func nextGoesOnAfterAMessageThatDoesNotFit() throws {
    try simulate(1...20) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      try await event.listen(as: "one")
      for number in 1...3 { try await event.publish(number) }
      let found = try await event.next(within: .seconds(10), clock: clock) { $0 == 3 }
      try require(found == 3, "\(found)")
    }
  }
}
