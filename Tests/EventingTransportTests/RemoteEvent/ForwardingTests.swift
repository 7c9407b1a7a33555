import Eventing
import EventingTesting
import EventingTransport
import Testing

/// R3 and R7: a message is handled only when the handlers behind forwards have handled it, too, and
/// no message comes back to a subject that it came through.
@Suite(.timeLimit(.minutes(10))) struct ForwardingTests {
  @Test func handlersBehindForwardsCount() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (middle, local) = (Event<Int>("middle"), Event<Int>("local"))
      let attempts = Notes<Int>()
      event.forward(to: middle)
      middle.forward(to: local)
      local.addHandler { number async throws in
        attempts.note(number)
        if attempts.count < 3 { throw Refused() }
      }
      try await event.listen(as: "one")
      try await event.publish(7)
      try await clock.sleep(for: .seconds(1_000))
      try require(attempts.count == 3, "\(attempts.values)")
      withExtendedLifetime((middle, local)) {}
    }
  }

  @Test func aForwardThatReachesNoHandlerHasReachedNone() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let local = Event<Int>("local")
      let notes = Notes<Int>()
      event.forward(to: local)
      try await event.listen(as: "one", retry: .immediately(attempts: 1), deadLetter: "dead")
      try await event.publish(7)
      try await clock.sleep(for: .seconds(10))
      local.addHandler { notes.note($0) }
      try await clock.sleep(for: .seconds(10))
      try require(notes.values == [7], "\(notes.values)")
    }
  }

  /// A message comes again while the only handler is locked. It is done if another handler has
  /// handled it.
  @Test(arguments: [true, false]) func aLockBehindAForwardIsNoEnd(hasOther: Bool) throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let local = Event<Int>("local")
      let (notes, other) = (Notes<Int>(), Notes<Int>())
      event.forward(to: local)
      if hasOther { local.addHandler { other.note($0) } }
      let token = local.addHandler { notes.note($0) }
      local.lock(token)
      try await event.listen(as: "one")
      try await event.publish(7)
      try await clock.sleep(for: .seconds(1))
      local.unlock(token)
      try await clock.sleep(for: .seconds(10))
      let expected: ([Int], [Int]) = hasOther ? ([], [7]) : ([7], [])
      try require(notes.values == expected.0 && other.values == expected.1, "\(notes.values) \(other.values)")
    }
  }

  @Test func aSendWaitsUntilAForwardIsStored() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock, publishTimeout: .seconds(5))
      let placed = RemoteEvent<Int>("placed", over: bus)
      let local = Event<String>("local")
      local.compactMap { Int($0) }.forward(to: placed)
      let stored = await local.send("1")
      try require(stored.delivered == 1 && stored.failures.isEmpty, "\(stored)")
      let leftOut = await local.send("no number")
      try require(leftOut.skipped == 1, "\(leftOut)")
      bus.disconnect()
      let refused = await local.send("2")
      try require((refused.failures.first?.error as? TransportError)?.code == .refused, "\(refused)")
      bus.reconnect()
    }
  }

  @Test func aForwardThatIsNotStoredIsAFailure() throws {
    try simulate { clock in
      let (bus, other) = (InMemoryTransport(clock: clock), InMemoryTransport(clock: clock))
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (archive, reading) = (RemoteEvent<Int>("archive", over: other), RemoteEvent<Int>("archive", over: other))
      let notes = Notes<Int>()
      event.forward(to: archive)
      reading.addHandler { notes.note($0) }
      try await reading.listen()
      try await event.listen(as: "one")
      other.disconnect()
      try await event.publish(7)
      try await clock.sleep(for: .seconds(7))
      other.reconnect()
      try await clock.sleep(for: .seconds(60))
      try require(notes.values == [7], "\(notes.values)")
    }
  }

  @Test func aCircleOfForwardsEnds() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let (one, two) = (RemoteEvent<Int>("one", over: bus), RemoteEvent<Int>("two", over: bus))
      let local = Event<Int>("local")
      let (ones, twos) = (Notes<Int>(), Notes<Int>())
      one.addHandler { ones.note($0) }
      two.addHandler { twos.note($0) }
      one.forward(to: local)
      local.forward(to: two)
      two.forward(to: one)
      one.forward(to: one)
      try await one.listen(as: "one")
      try await two.listen(as: "two")
      try await one.publish(1)
      try await clock.sleep(for: .seconds(100))
      try require(ones.values == [1] && twos.values == [1], "\(ones.values) \(twos.values)")
    }
  }

  @Test func publishingByHandBeginsANewWay() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let (one, two) = (RemoteEvent<Int>("one", over: bus), RemoteEvent<Int>("two", over: bus))
      let ones = Notes<Int>()
      one.addHandler { ones.note($0) }
      one.addHandler { [weak two] number async throws in if number < 3 { try await two?.publish(number + 1) } }
      two.forward(to: one)
      try await one.listen(as: "one")
      try await two.listen(as: "two")
      try await one.publish(1)
      try await clock.sleep(for: .seconds(100))
      try require(ones.values == [1, 2, 3], "\(ones.values)")
    }
  }
}
