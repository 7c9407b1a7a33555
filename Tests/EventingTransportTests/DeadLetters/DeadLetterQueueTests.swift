import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of dead letters that are read, sent again and discarded. `TransportConformance` has the
/// checks that each engine must pass.
@Suite(.timeLimit(.minutes(10))) struct DeadLetterQueueTests {
  /// Listens with a handler that makes a letter of each message until it is mended.
  private func failUntilMended(_ event: RemoteEvent<Int>, _ isMended: Notes<Bool>, _ calls: Notes<Int>) async throws {
    event.addHandler { number in
      if isMended.count == 0 { throw Refused() }
      calls.note(number)
    }
    try await event.listen(as: "work", retry: .immediately(attempts: 1), deadLetter: "dead")
  }

  /// Two people who look at letters get different ones, and neither sends what the other one has.
  @Test func aLetterIsInTheHandsOfOneQueue() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      event.addHandler { _ in throw Refused() }
      try await event.listen(as: "work", inFlight: 1, retry: .immediately(attempts: 1), deadLetter: "dead")
      for number in 1...6 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(1))
      let one = try await DeadLetterQueue.open("dead", over: bus, limit: 4, clock: clock)
      let two = try await DeadLetterQueue.open("dead", over: bus, clock: clock)
      try require(one.letters.map(\.position) == [7, 8, 9, 10], "\(one.letters)")
      try require(two.letters.map(\.position) == [11, 12], "\(two.letters)")
      try require(two.discard(one.letters) == 0, "another queue's letters")
      try require(one.discard(one.letters) == 4, "\(one.letters)")
      await one.close()
      await two.close()
      let last = try await DeadLetterQueue.open("dead", over: bus, clock: clock)
      try require(last.letters.map(\.position) == [11, 12], "\(last.letters)")
      await last.close()
    }
  }

  /// A message that fails while the engine is away stays a letter.
  @Test func whatCannotBeSentStaysALetter() throws {
    try simulate(1...10) { clock in
      let bus = InMemoryTransport(clock: clock, publishTimeout: .seconds(2))
      let (event, isMended, calls) = (RemoteEvent<Int>("numbers", over: bus), Notes<Bool>(), Notes<Int>())
      try await failUntilMended(event, isMended, calls)
      for number in 1...3 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(1))
      let queue = try await DeadLetterQueue.open("dead", over: bus, clock: clock)
      isMended.note(true)
      bus.disconnect()
      do {
        try await queue.sendAgain(queue.letters)
        throw Unmet(description: "sent without an engine")
      } catch let error as TransportError { try require(error.code == .refused, "\(error)") }
      try require(queue.letters.count == 3, "\(queue.letters)")
      bus.reconnect()
      try require(try await queue.sendAgain(queue.letters) == 3, "\(queue.letters)")
      await queue.close()
      try await clock.sleep(for: .seconds(1))
      try require(calls.values == [1, 2, 3], "\(calls.values)")
    }
  }

  /// The engine has lost the receipt: the message is stored, but its letter is still there. The
  /// second attempt has the id of the first one, so the handlers get the message once.
  @Test func aMessageIsSentAgainOnceAlthoughItsReceiptIsLost() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(seed: 3, faults: [.loseReceipt(0.5)], clock: clock)
      let (event, isMended, calls) = (RemoteEvent<Int>("numbers", over: bus), Notes<Bool>(), Notes<Int>())
      try await failUntilMended(event, isMended, calls)
      for number in 1...8 { _ = try? await event.publish(number) }
      try await clock.sleep(for: .seconds(100))
      isMended.note(true)
      let queue = try await DeadLetterQueue.open("dead", over: bus, clock: clock)
      try require(queue.letters.count == 8, "\(queue.letters)")
      for _ in 1...100 where !queue.letters.isEmpty { _ = try? await queue.sendAgain(queue.letters) }
      try require(queue.letters.isEmpty, "\(queue.letters)")
      await queue.close()
      try await clock.sleep(for: .seconds(1))
      try require(calls.values == Array(1...8), "\(calls.values)")
    }
  }

  /// A letter whose message is on its way when the queue is closed ends with it.
  @Test func closingDoesNotGiveBackWhatIsBeingSent() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock, publishTimeout: .seconds(60))
      let event = RemoteEvent<Int>("numbers", over: bus)
      event.addHandler { _ in throw Refused() }
      let listening = try await event.listen(as: "work", retry: .immediately(attempts: 1), deadLetter: "dead")
      for number in 1...2 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(1))
      await listening.drain(within: .seconds(1))
      let queue = try await DeadLetterQueue.open("dead", over: bus, clock: clock)
      bus.disconnect()
      let sending = Task { try await queue.sendAgain([queue.letters[0]]) }
      try await clock.sleep(for: .seconds(1))
      let closing = Task { await queue.close() }
      try await clock.sleep(for: .seconds(1))
      bus.reconnect()
      try require(try await sending.value == 1, "not sent")
      await closing.value
      let rest = try await DeadLetterQueue.open("dead", over: bus, clock: clock)
      try require(rest.letters.map(\.messagePosition) == [2], "\(rest.letters)")
      await rest.close()
    }
  }

  @Test func aQueueThatIsDroppedGivesItsLettersBack() throws {
    try simulate(1...10) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      event.addHandler { _ in throw Refused() }
      try await event.listen(as: "work", retry: .immediately(attempts: 1), deadLetter: "dead")
      try await event.publish(1)
      try await clock.sleep(for: .seconds(1))
      do {
        try require(try await DeadLetterQueue.open("dead", over: bus, clock: clock).letters.count == 1, "no letter")
      }
      let queue = try await DeadLetterQueue.open("dead", over: bus, clock: clock)
      try require(queue.letters.count == 1 && queue.heldElsewhere == 0, "\(queue.letters)")
      await queue.close()
    }
  }

  /// A group is a name and what it listens to.
  @Test func aMessageIsSentToOneOfTwoGroupsWithOneName() throws {
    try simulate(1...10) { clock in
      let bus = InMemoryTransport(clock: clock)
      let (one, all) = (RemoteEvent<Int>("numbers.a", over: bus), RemoteKeyedEvent<String, Int>("numbers", over: bus))
      let (isMended, calls, others) = (Notes<Bool>(), Notes<Int>(), Notes<Int>())
      try await failUntilMended(one, isMended, calls)
      all.anyKey.addHandler { others.note($0.payload) }
      try await all.listen(as: "work")
      try await one.publish(1)
      try await clock.sleep(for: .seconds(1))
      isMended.note(true)
      let queue = try await DeadLetterQueue.open("dead", over: bus, clock: clock)
      try await queue.sendAgain(queue.letters)
      await queue.close()
      try await clock.sleep(for: .seconds(1))
      try require(calls.values == [1] && others.values == [1], "\(calls.values) \(others.values)")
    }
  }

  /// One header alone keeps a message from no group.
  @Test func aForgedHeaderHidesNoMessage() throws {
    try simulate(1...5) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let calls = Notes<Int>()
      event.addHandler { calls.note($0) }
      try await event.listen(as: "work")
      var message = RemoteMessage(headers: ["Content-Type": "application/json"], body: Array("7".utf8))
      message.headers["Eventing-Only-Group"] = "nobody"
      _ = try await bus.publish(message, to: "numbers")
      try await clock.sleep(for: .seconds(1))
      try require(calls.values == [7], "\(calls.values)")
    }
  }

  @Test func aMessageThatNoHandlerGotHasNoHandler() throws {
    try simulate(1...5) { clock in
      let bus = InMemoryTransport(clock: clock)
      let (writer, reader) = (RemoteEvent<String>("texts", over: bus), RemoteEvent<Int>("texts", over: bus))
      reader.addHandler { _ in }
      try await reader.listen(as: "work", deadLetter: "dead")
      try await writer.publish("not a number")
      try await clock.sleep(for: .seconds(1))
      let queue = try await DeadLetterQueue.open("dead", over: bus, clock: clock)
      let letter = try #require(queue.letters.first)
      try require(letter.handler == nil && letter.attempts == 1 && letter.group == "work", "\(letter)")
      try require(queue.counts.map(\.handler) == [nil], "\(queue.counts)")
      await queue.close()
    }
  }

  /// Without a name, a letter says where the handler was added.
  @Test func aHandlerWithoutANameHasALine() throws {
    try simulate(1...2) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      event.addHandler(.retrying(.immediately(attempts: 1))) { _ async throws in throw Refused() }
      try await event.listen(as: "work", retry: .immediately(attempts: 1), deadLetter: "dead")
      try await event.publish(1)
      try await clock.sleep(for: .seconds(1))
      let queue = try await DeadLetterQueue.open("dead", over: bus, clock: clock)
      try require(queue.letters.first?.handler?.hasPrefix("DeadLetterQueueTests.swift:") == true, "\(queue.letters)")
      await queue.close()
    }
  }

  /// Only the letter knows that the message was larger.
  @Test func aCutLetterIsNotSentAgain() async throws {
    var letter = RemoteMessage(subject: "dead", headers: ["Eventing-Dead-Subject": "numbers"], body: [1])
    letter.headers["Eventing-Dead-Size"] = "2"
    let bus = InMemoryTransport()
    _ = try await bus.publish(letter, to: "dead")
    let queue = try await DeadLetterQueue.open("dead", over: bus)
    let error = await #expect(throws: TransportError.self) { try await queue.sendAgain(queue.letters) }
    #expect(error?.code == .tooLarge)
    #expect(queue.letters.count == 1)
    await queue.close()
  }

  /// A program that is no member of the group may have put anything there.
  @Test func aMessageThatIsNoLetterCanBeDiscarded() async throws {
    let bus = InMemoryTransport()
    _ = try await bus.publish(RemoteMessage(body: [1]), to: "dead")
    let queue = try await DeadLetterQueue.open("dead", over: bus)
    #expect(queue.letters.map(\.subject) == ["dead"])
    let error = await #expect(throws: TransportError.self) { try await queue.sendAgain(queue.letters) }
    #expect(error?.code == .badSubject)
    #expect(queue.discard(queue.letters) == 1)
    await queue.close()
  }

  @Test func whatCannotBeOpenedIsRefused() async throws {
    let bus = InMemoryTransport(subjects: ["orders.>"])
    for (subject, transport, limit, code) in [
      ("dead", bus.plain, 1, TransportError.Code.notPromised), ("dead", bus, 1, .badSubject),
      ("orders.dead", bus, 0, .badOption), ("orders.*", bus, 1, .badSubject),
    ] {
      let error = await #expect(throws: TransportError.self) {
        try await DeadLetterQueue.open(subject, over: transport, limit: limit)
      }
      #expect(error?.code == code)
    }
  }
}
