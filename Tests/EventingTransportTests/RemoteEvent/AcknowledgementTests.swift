import Eventing
import EventingTesting
import EventingTransport
import Testing

/// R2, R3 and R6: the report of a message's handlers decides whether the message is acknowledged,
/// and attempts are finite.
@Suite(.timeLimit(.minutes(10))) struct AcknowledgementTests {
  @Test func aHandledMessageIsAcknowledgedOnce() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let (here, there) = (RemoteEvent<Int>("numbers", over: bus), RemoteEvent<Int>("numbers", over: bus))
      let notes = Notes<Int>()
      there.addHandler { notes.note($0) }
      try await there.listen(as: "one")
      for number in 1...5 {
        let receipt = try await here.publish(number)
        try require(receipt == Receipt(position: UInt64(number)), "\(receipt)")
      }
      try await clock.sleep(for: .seconds(100))
      try require(notes.values == [1, 2, 3, 4, 5], "\(notes.values)")
    }
  }

  @Test func aFailedMessageComesAgainForEveryHandler() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (attempts, other) = (Notes<Int>(), Notes<Int>())
      event.addHandler { _ in other.note(0) }
      event.remoteOccurrences.addHandler { occurrence async throws in
        attempts.note(occurrence.attempt)
        if occurrence.attempt < 3 { throw Refused() }
      }
      try await event.listen(as: "one")
      try await event.publish(7)
      try await clock.sleep(for: .seconds(1_000))
      try require(attempts.values == [1, 2, 3], "\(attempts.values)")
      try require(other.count == 3, "\(other.count)")
    }
  }

  @Test func aFailureAtTheLastAttemptIsADeadLetter() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let dead = RemoteEvent<Int>("dead.numbers", over: bus)
      let (attempts, letters, incidents) = (Notes<Int>(), Notes<RemoteOccurrence<Int>>(), Notes<TransportIncident>())
      bus.incidents.addHandler { incidents.note($0) }
      dead.remoteOccurrences.addHandler { letters.note($0) }
      try await dead.listen()
      event.addHandler { number async throws in
        attempts.note(number)
        throw Refused()
      }
      try await event.listen(
        as: "one", retry: .exponential(from: .seconds(1), to: .seconds(2), attempts: 4), deadLetter: "dead.numbers")
      _ = try await event.publish(7, id: "seven", headers: ["mine": "yes"])
      try await clock.sleep(for: .seconds(1_000))
      try require(attempts.count == 4, "\(attempts.count)")
      let letter = letters.values.first
      try require(letters.count == 1 && letter?.payload == 7, "\(letters.values)")
      try require(letter?.headers["mine"] == "yes", "\(letter?.headers ?? [:])")
      try require(letter?.headers["Eventing-Dead-Subject"] == "numbers", "\(letter?.headers ?? [:])")
      try require(letter?.headers["Eventing-Dead-Attempts"] == "4", "\(letter?.headers ?? [:])")
      try require(letter?.headers["Eventing-Dead-Reason"]?.contains("Refused") == true, "\(letter?.headers ?? [:])")
      try require(incidents.values.map(\.kind) == [.deadLetter], "\(incidents.values)")
    }
  }

  @Test func whatCannotBeDecodedIsADeadLetterAtOnceAndTheListenerGoesOn() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus, codec: .json(type: "number", version: 2))
      let raw = RemoteEvent<[UInt8]>("numbers", over: bus, codec: .bytes)
      let newer = RemoteEvent<Int>("numbers", over: bus, codec: .json(type: "number", version: 3))
      let dead = RemoteEvent<[UInt8]>("dead", over: bus, codec: .bytes)
      let (numbers, letters) = (Notes<Int>(), Notes<[UInt8]>())
      event.addHandler { numbers.note($0) }
      dead.addHandler { letters.note($0) }
      try await dead.listen()
      try await event.listen(as: "one", inFlight: 1, deadLetter: "dead")
      try await raw.publish(Array("not a number".utf8))
      try await newer.publish(3)
      try await event.publish(1)
      try await clock.sleep(for: .milliseconds(1))
      try require(numbers.values == [1], "\(numbers.values)")
      try require(letters.values == [Array("not a number".utf8), Array("3".utf8)], "\(letters.values)")
    }
  }

  /// Checks that a lock, with or without a holding buffer, does not cost the message an attempt.
  @Test(arguments: [true, false]) func aLockIsNoFailedAttempt(holds: Bool) throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let attempts = Notes<Int>()
      let token = event.remoteOccurrences.addHandler { attempts.note($0.attempt) }
      event.lock(token, holding: holds ? .latest : nil)
      try await event.listen(as: "one", retry: .immediately(attempts: 1), deadLetter: "dead")
      try await event.publish(1)
      try await clock.sleep(for: .seconds(1))
      try require(attempts.count == 0, "\(attempts.values)")
      event.unlock(token)
      try await clock.sleep(for: .seconds(1))
      try require(attempts.values.contains(1) && !attempts.values.contains(2), "\(attempts.values)")
    }
  }

  @Test func aLockThatBeginsWhileTheCallWaitsOnItsLaneIsNoEnd() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let notes = Notes<Int>()
      let token = event.addHandler { number async in
        notes.note(number)
        try? await clock.sleep(for: .milliseconds(10))
      }
      try await event.listen(as: "one")
      for number in 1...3 { try await event.publish(number) }
      try await clock.sleep(for: .milliseconds(1))
      event.lock(token)
      try await clock.sleep(for: .seconds(1))
      try require(notes.values == [1], "\(notes.values)")
      event.unlock(token)
      try await clock.sleep(for: .seconds(1))
      try require(notes.values.sorted() == [1, 2, 3], "\(notes.values)")
    }
  }

  @Test func aFullLaneIsNoEnd() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let notes = Notes<Int>()
      event.addHandler(.buffering(.oldest(1)), on: .inOrder) { number async in
        notes.note(number)
        try? await clock.sleep(for: .milliseconds(10))
      }
      try await event.listen(as: "one", retry: .immediately(attempts: 1), deadLetter: "dead")
      for number in 1...9 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(10))
      try require(notes.values.sorted() == Array(1...9), "\(notes.values)")
    }
  }

  @Test func whatAViewLeavesOutIsHandled() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (even, seen) = (Notes<Int>(), Notes<Int>())
      event.filter { number in
        seen.note(number)
        return number % 2 == 0
      }.addHandler { even.note($0) }
      try await event.listen(as: "one")
      for number in 1...4 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(100))
      try require(even.values == [2, 4] && seen.values == [1, 2, 3, 4], "\(even.values) of \(seen.values)")
    }
  }

  /// A view with memory lets a message pass that comes again, and forgets what was not handled.
  @Test(arguments: [true, false]) func aViewWithMemoryRemembersOnlyWhatWasHandled(forwards: Bool) throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (local, notes, calls) = (Event<Int>("local"), Notes<Int>(), Notes<Int>())
      @Sendable func handle(_ number: Int) throws {
        calls.note(number)
        if calls.count == 1 { throw Refused() }
        notes.note(number)
      }
      if forwards {
        event.forward(to: local)
        local.removeDuplicates().addHandler { number in try handle(number) }
      } else {
        event.removeDuplicates().addHandler { number async throws in try handle(number) }
      }
      try await event.listen(as: "one", retry: .exponential(from: .seconds(1), to: .seconds(1), attempts: 5))
      try await event.publish(5)
      try await clock.sleep(for: .milliseconds(100))
      try await event.publish(5)  // not a repetition of what was handled
      try await clock.sleep(for: .milliseconds(100))
      try await event.publish(5)
      try await clock.sleep(for: .seconds(10))
      try require(notes.values == [5, 5], "\(notes.values)")  // the second message, and the first again
    }
  }

  @Test func withoutHandlersOtherMembersGetTheMessages() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let (idle, busy) = (RemoteEvent<Int>("numbers", over: bus), RemoteEvent<Int>("numbers", over: bus))
      let (first, second) = (Notes<Int>(), Notes<Int>())
      busy.addHandler { first.note($0) }
      try await idle.listen(as: "one")
      try await busy.listen(as: "one")
      for number in 1...4 { try await busy.publish(number) }
      try await clock.sleep(for: .seconds(1))
      try require(first.values == [1, 2, 3, 4], "\(first.values)")
      busy.lock()
      for number in 5...8 { try await busy.publish(number) }
      try await clock.sleep(for: .seconds(1))
      idle.addHandler { second.note($0) }
      try await clock.sleep(for: .seconds(1))
      try require(second.values == [5, 6, 7, 8], "\(second.values)")
      idle.lock()
      try await busy.publish(9)
      try await clock.sleep(for: .seconds(1))
      try require(first.count + second.count == 8, "\(first.values) \(second.values)")
      busy.unlock()
      try await clock.sleep(for: .seconds(1))
      try require(first.values.last == 9, "\(first.values)")
    }
  }

  @Test func anOwnerThatIsGoneGivesTheMessageBack() throws {
    final class Owner: Sendable {}
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let notes = Notes<Int>()
      do {
        let owner = Owner()
        event.addHandler(owner: owner) { _, number in notes.note(-number) }
        try await event.listen(as: "one")
      }
      try await event.publish(1)
      try await clock.sleep(for: .seconds(1))
      event.addHandler { notes.note($0) }
      try await clock.sleep(for: .seconds(1))
      try require(notes.values == [1], "\(notes.values)")
    }
  }
}
