import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of guarantees R1, R2 and R10 of PROOF.md under faults of the engine: with a stream, no
/// message is lost; without a stream, no message comes twice.
@Suite(.timeLimit(.minutes(10))) struct FaultTests {
  @Test func onAStreamEveryMessageIsHandled() throws {
    try simulate(1...100) { clock in
      let seed = UInt64(clock.sleeperCount) + 11
      let bus = InMemoryTransport(
        seed: seed, faults: [.duplicate(0.2), .drop(0.3), .delay(upTo: .milliseconds(3)), .loseReceipt(0.2)],
        clock: clock)
      let sender = RemoteEvent<Int>("numbers", over: bus)
      let members = (0..<3).map { _ in RemoteEvent<Int>("numbers", over: bus) }
      let notes = Notes<Int>()
      for member in members {
        member.addHandler { number async throws in
          if (number + notes.count) % 5 == 0 { throw Refused() }
          notes.note(number)
        }
        try await member.listen(as: "one", inFlight: 3, retry: .immediately(attempts: 1_000))
      }
      for number in 1...20 {
        var isStored = false
        while !isStored {
          do {
            _ = try await sender.publish(number, id: "number.\(number)")
            isStored = true
          } catch let error as TransportError where error.code == .mayBeStored {}
        }
      }
      try await clock.sleep(for: .seconds(1))
      bus.disconnect()
      bus.reconnect(forgettingWhatIsInHand: true)
      try await clock.sleep(for: .seconds(1_000))
      try require(Set(notes.values) == Set(1...20), "\(notes.values.sorted())")
      withExtendedLifetime(members) {}  // a listening ends with its event
    }
  }

  /// A fault delays the delivery of a message. Meanwhile the engine loses its record of the
  /// delivery, so it delivers the message again. The listener has room for one message only. If the
  /// delayed delivery still took this room, the second one could not come.
  @Test func aForgottenDelayedMessageTakesNoRoom() throws {
    try simulate { clock in
      let bus = InMemoryTransport(seed: 5, faults: [.delay(upTo: .seconds(1))], clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let notes = Notes<Int>()
      event.addHandler { notes.note($0) }
      try await event.listen(as: "one", inFlight: 1)
      try await event.publish(1)
      try await clock.sleep(for: .nanoseconds(1))
      bus.disconnect()
      bus.reconnect(forgettingWhatIsInHand: true)
      try await event.publish(2)
      try await clock.sleep(for: .seconds(10))
      try require(notes.values == [1, 2], "\(notes.values)")
    }
  }

  @Test func onPlainEachMessageComesOnceAtMost() throws {
    try simulate { clock in
      let bus = InMemoryTransport(seed: 9, faults: [.duplicate(0.5), .drop(0.3)], clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus.plain)
      let notes = Notes<Int>()
      event.addHandler { number async throws in
        notes.note(number)
        throw Refused()
      }
      try await event.publish(0)
      try await event.listen()
      for number in 1...40 {
        try require(try await event.publish(number) == Receipt(), "a receipt with a position")
      }
      try await clock.sleep(for: .seconds(100))
      try require(Set(notes.values).count == notes.count && !notes.values.contains(0), "\(notes.values)")
      try require(notes.values == notes.values.sorted() && (10..<40).contains(notes.count), "\(notes.values)")
    }
  }

  @Test func whatPlainDropsIsCounted() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus.plain)
      let (notes, incidents) = (Notes<Int>(), Notes<TransportIncident>())
      bus.plain.incidents.addHandler { incidents.note($0) }
      event.addHandler { number async in
        try? await clock.sleep(for: .seconds(1))
        notes.note(number)
      }
      try await event.listen(inFlight: 4)
      for number in 1...30 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(1_000))
      let dropped = incidents.values.filter { $0.kind == .slowConsumer }.reduce(0) { $0 + $1.dropped }
      try require(dropped > 0 && notes.count + dropped == 30, "\(notes.values) \(incidents.values)")
    }
  }

  @Test func publishingWaitsWhileTheEngineIsAway() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock, publishTimeout: .seconds(5))
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (notes, incidents) = (Notes<Int>(), Notes<TransportIncident>())
      bus.incidents.addHandler { incidents.note($0) }
      event.addHandler { notes.note($0) }
      try await event.listen(as: "one")
      bus.disconnect()
      let start = clock.now
      let code = await ListeningTests.code { try await event.publish(1) }
      try require(code == .refused && start.duration(to: clock.now) == .seconds(5), "\(String(describing: code))")
      async let receipt = event.publish(2)
      try await clock.sleep(for: .seconds(2))
      try require(notes.count == 0, "\(notes.values)")
      bus.reconnect()
      try require(try await receipt.position == 1, "another position")
      try await clock.sleep(for: .seconds(1))
      try require(
        notes.values == [2] && incidents.values.map(\.kind) == [.lost, .reconnected],
        "\(notes.values) \(incidents.values)")
    }
  }

  @Test func aClosedTransportFinishesWhatIsInHandAndRefuses() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let question = RemoteQuestion<Int, Int>("double", over: bus.plain)
      let notes = Notes<Int>()
      event.addHandler { number async in
        try? await clock.sleep(for: .seconds(1))
        notes.note(number)
      }
      try await event.listen(as: "one")
      try await event.publish(1)
      try await clock.sleep(for: .milliseconds(1))
      await bus.close(within: .seconds(10))
      try require(notes.values == [1], "\(notes.values)")
      let codes = [
        await ListeningTests.code { try await event.publish(1) },
        await ListeningTests.code { try await event.listen(as: "two") },
        await ListeningTests.code { _ = try await question.firstAnswer(to: 1) },
        await ListeningTests.code { try await question.listen() },
      ]
      try require(codes == [.closed, .closed, .closed, .closed], "\(codes)")
    }
  }

  /// The transport closes only after the drains. So a handler that still runs can publish, but it
  /// can begin no listening.
  @Test func aHandlerInHandMayPublishWhileItsTransportCloses() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (others, ticks) = (RemoteEvent<Int>("others", over: bus), RemoteEvent<Int>("ticks", over: bus.plain))
      let (notes, codes) = (Notes<Int>(), Notes<TransportError.Code?>())
      event.addHandler { number async throws in
        try await clock.sleep(for: .seconds(1))
        codes.note(await ListeningTests.code { try await others.listen() })
        try await others.publish(number)
        try await ticks.publish(number)
        notes.note(number)
      }
      try await event.listen(as: "one")
      try await event.publish(1)
      try await clock.sleep(for: .milliseconds(1))
      await bus.close(within: .seconds(10))
      try require(notes.values == [1] && codes.values == [.closed], "\(notes.values), \(codes.values)")
      for late in [others, ticks] {
        let code = await ListeningTests.code { try await late.publish(2) }
        try require(code == .closed, "\(String(describing: code))")
      }
    }
  }

  /// A publisher that waits for an unreachable engine gets an error when the engine closes.
  @Test func closingEndsTheWaitsOfPublishers() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      bus.disconnect()
      let waiting = Task(executorPreference: EventContext.executor) {
        await ListeningTests.code { try await event.publish(1) }
      }
      try await clock.sleep(for: .seconds(1))
      await bus.close()
      let code = await waiting.value
      try require(code == .closed && clock.now.offset == .seconds(1), "\(String(describing: code)), \(clock.now)")
    }
  }

  /// The stream and its plain transport end at the same time, within one limit.
  @Test func closingEndsWithinItsLimit() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let events = [bus, bus.plain].map { RemoteEvent<Int>("numbers", over: $0) }
      for event in events {
        event.addHandler { _ async in try? await clock.sleep(for: .seconds(100)) }
        try await event.listen(as: "one")
        try await event.publish(1)
        try await clock.sleep(for: .milliseconds(500))
      }
      await bus.close(within: .seconds(10))
      try require(clock.now.offset == .seconds(11), "\(clock.now)")
      withExtendedLifetime(events) {}
    }
  }

  @Test func whatEveryGroupHasHandledIsForgotten() throws {
    try simulate(1...2) { clock in
      let bus = InMemoryTransport(clock: clock, keeping: 10)
      let event = RemoteEvent<[UInt8]>("numbers", over: bus, codec: .bytes)
      let notes = Notes<Void>()
      try await event.listen(as: "one")
      for _ in 0..<1_500 { try await event.publish([]) }
      try require(bus.storedCount == 1_500, "\(bus.storedCount)")
      event.addHandler { _ in notes.note(()) }
      try await clock.sleep(for: .seconds(1))
      for _ in 0..<256 { try await event.publish([]) }
      try await clock.sleep(for: .seconds(1))
      try require(notes.count == 1_756 && bus.storedCount <= 10 + 256, "\(notes.count), \(bus.storedCount)")
    }
  }
}
