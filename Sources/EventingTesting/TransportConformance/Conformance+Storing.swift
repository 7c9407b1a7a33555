import Eventing
import EventingTransport

// Checks of engines that store messages until they are handled.
extension Conformance {
  /// Checks that a message with the verdict `retry` is delivered again until its verdict is `done`,
  /// and that its `attempt` rises by 1 each time.
  func retry() async throws {
    guard isAtLeastOnce else { return }
    let log = MessageLog { $0.attempt < 3 ? .retry(after: .milliseconds(20)) : .done }
    let subscription = try await subscribe(log)
    try await publish(1...1)
    try await eventually("expected three attempts, got \(log.messages.map(\.attempt))") { log.count >= 3 }
    try await pause()
    let attempts = log.messages.map(\.attempt)
    try expect(attempts == [1, 2, 3], "expected the attempts 1, 2, 3, got \(attempts)")
    subscription.cancel()
  }

  /// Checks that a message with the verdict `release` is delivered again, and that its `attempt` is
  /// 1 each time.
  func release() async throws {
    guard isAtLeastOnce else { return }
    let count = Guarded(0)
    let log = MessageLog { _ in
      count.withLock { count in
        count += 1
        return count < 3 ? .release(after: .milliseconds(20)) : .done
      }
    }
    let subscription = try await subscribe(log)
    try await publish(1...1)
    try await eventually("expected the message three times, got \(log.count)") { log.count >= 3 }
    let attempts = log.messages.map(\.attempt)
    try expect(attempts == [1, 1, 1], "expected the first attempt three times, got \(attempts)")
    subscription.cancel()
  }

  /// Checks that a rejected message is never delivered again, and that an incident reports it.
  func reject() async throws {
    let incidents = Guarded<[TransportIncident]>([])
    let token = second.incidents.addHandler { incident in incidents.withLock { $0.append(incident) } }
    let log = MessageLog { _ in .reject("for the check") }
    let subscription = try await subscribe(log)
    try await publish(1...1)
    try await eventually("expected an incident deadLetter, got none") {
      incidents.withLock { $0.contains { $0.kind == .deadLetter && $0.reason.contains("for the check") } }
    }
    try await pause()
    try expect(log.count == 1, "expected the message once, got \(log.count)")
    let (named, id) = (incidents.withLock { $0.compactMap(\.messageID) }, log.messages[0].publisherID)
    try expect(named.contains(id), "expected the id \(id) in an incident, got \(named)")
    _ = second.incidents.remove(token)
    subscription.cancel()
  }

  /// Checks that a remote event publishes a message to its dead-letter subject after the last
  /// attempt.
  func deadLetter() async throws {
    guard isAtLeastOnce else { return }
    struct Refused: Error {}
    let event = RemoteEvent<[UInt8]>("\(subject).work", over: second, codec: .bytes)
    let dead = RemoteEvent<[UInt8]>("\(subject).dead", over: first, codec: .bytes)
    let letters = Guarded<[RemoteOccurrence<[UInt8]>]>([])
    dead.remoteOccurrences.addHandler { letter in letters.withLock { $0.append(letter) } }
    event.addHandler { _ in throw Refused() }
    let reading = try await dead.listen(as: options(group: "dead").group)
    let listening = try await event.listen(
      as: options(group: "work").group,
      retry: .exponential(from: .milliseconds(10), to: .milliseconds(20), attempts: 3),
      deadLetter: "\(subject).dead")
    try await event.publish([1, 2, 3], headers: ["Trace": "t"])
    try await eventually("expected a dead letter, got none") { letters.withLock { !$0.isEmpty } }
    try await pause()
    let found = letters.withLock { letters in letters.map { letter in letter } }
    try expect(found.count == 1, "expected one dead letter, got \(found.count)")
    try expect(
      found[0].payload == [1, 2, 3] && found[0].headers["Trace"] == "t",
      "expected the message as it was, got \(found[0])")
    try expect(
      found[0].headers["Eventing-Dead-Attempts"] == "3", "expected three attempts, got \(found[0].headers)")
    await listening.drain(within: .seconds(5))
    await reading.drain(within: .seconds(5))
  }

  /// Checks that dead letters are sent again to the group that gave them up, with their ids and in
  /// their order, and that those that fail again are letters again.
  func deadLetterQueue() async throws {
    guard redelivers, try await counts() else { return }
    struct Refused: Error {}
    let event = RemoteEvent<[UInt8]>("\(subject).work", over: second, codec: .bytes)
    let (mended, calls) = (Guarded(false), Guarded<[RemoteOccurrence<[UInt8]>]>([]))
    let audited = Guarded(0)
    event.addHandler(.named("count")) { _ in audited.withLock { $0 += 1 } }
    event.remoteOccurrences.addHandler(.named("charge the card")) { occurrence in
      if occurrence.payload[0] > 3 || !mended.withLock({ $0 }) { throw Refused() }
      calls.withLock { $0.append(occurrence) }
    }
    let other = RemoteEvent<[UInt8]>("\(subject).work", over: first, codec: .bytes)
    let others = Guarded(0)
    other.addHandler { _ in others.withLock { $0 += 1 } }
    let (group, dead) = ("\(check)_work", "\(subject).dead")
    let listening = try await event.listen(as: group, inFlight: 1, retry: .immediately(attempts: 2), deadLetter: dead)
    let beside = try await other.listen(as: "\(check)_other")
    for number in 1...4 {
      _ = try await event.publish([UInt8(number)], id: "\(check)_\(number)", headers: ["Trace": "t"])
    }

    func open() async throws -> DeadLetterQueue {
      try await DeadLetterQueue.open(dead, over: first, as: "\(check)_dead", clock: clock)
    }
    try await eventually("expected two attempts of four messages, got \(audited.withLock { $0 })") {
      audited.withLock { $0 } >= 8
    }
    try await pause()
    var queue = try await open()
    let letters = queue.letters
    try expect(letters.map(\.body) == [[1], [2], [3], [4]], "expected four letters in order, got \(letters)")
    try expect(
      letters.allSatisfy {
        $0.group == group && $0.handler == "charge the card" && $0.reason.contains("Refused") && $0.attempts == 2
          && $0.deaths == 1 && $0.headers["Trace"] == "t" && $0.subject == "\(subject).work" && $0.isComplete
      }, "expected letters that say what happened, got \(letters)")
    try expect(queue.counts.map(\.count) == [4], "expected one cause, got \(queue.counts)")
    try expect(queue.discard([letters[0]]) == 1, "expected to discard a letter")
    try expect(queue.discard([letters[0]]) == 0, "expected to discard a letter once")
    await queue.close()

    // What was not decided comes back.
    mended.withLock { $0 = true }
    queue = try await open()
    try expect(queue.letters.map(\.id) == letters.dropFirst().map(\.id), "expected three letters, got \(queue.letters)")
    let count = try await queue.sendAgain(queue.letters)
    try expect(count == 3 && queue.letters.isEmpty, "expected to send three letters, got \(count)")
    await queue.close()
    try await eventually("expected two calls, got \(calls.withLock { $0.count })") { calls.withLock { $0.count } >= 2 }
    try await eventually("expected 12 calls, got \(audited.withLock { $0 })") { audited.withLock { $0 } >= 12 }
    try await pause()
    let handled = calls.withLock { calls in calls.map { call in call } }
    try expect(
      handled.map(\.payload) == [[2], [3]] && handled.map(\.id) == ["\(check)_2", "\(check)_3"]
        && handled.allSatisfy { $0.attempt == 1 && $0.headers["Trace"] == "t" },
      "expected two messages in order with their ids, got \(handled)")
    queue = try await open()
    try expect(
      queue.letters.map(\.deaths) == [2] && queue.letters.map(\.id) == ["\(check)_4"],
      "expected one letter for the second time, got \(queue.letters)")
    await queue.close()
    try expect(
      others.withLock { $0 } == 4, "expected the other group to get no message again, got \(others.withLock { $0 })")
    await listening.drain(within: .seconds(5))
    await beside.drain(within: .seconds(5))
  }

  /// Returns whether the engine counts what waits for a group.
  private func counts() async throws -> Bool {
    do {
      _ = try await first.backlog(of: subject, in: "\(check)_nobody")
      try expect(false, "expected an error for a group that nobody has made")
    } catch let error as TransportError {
      if error.code == .notPromised { return false }
      try expect(error.code == .badGroup, "expected badGroup for a group that nobody has made, got \(error)")
    }
    return true
  }

  /// Checks what the engine counts of a group.
  func backlog() async throws {
    guard redelivers, try await counts() else { return }
    let options = options(group: "one", inFlight: 2)
    let group = options.group ?? ""
    let log = MessageLog(isHolding: true)
    let subscription = try await subscribe(log, options)
    func expectBacklog(_ waiting: Int, _ inHand: Int, hasOldest: Bool) async throws {
      var found = try await first.backlog(of: subject, in: group)
      for _ in 0..<200 where found.waiting != waiting || found.inHand != inHand {
        try await pause(.milliseconds(10))
        found = try await first.backlog(of: subject, in: group)
      }
      try expect(
        found.waiting == waiting && found.inHand == inHand && (found.oldest != nil) == hasOldest,
        "expected \(waiting) waiting and \(inHand) in hand, got \(found)")
    }
    try await expectBacklog(0, 0, hasOldest: false)
    try await publish(1...5)
    try await expectBacklog(3, 2, hasOldest: true)
    let oldest = try await first.backlog(of: subject, in: group).oldest
    subscription.cancel()
    let rest = MessageLog()
    let again = try await subscribe(rest, self.options(group: "one"))
    try await eventually("expected five messages, got \(rest.numbers)") { rest.count >= 5 }
    try await expectBacklog(0, 0, hasOldest: false)
    try expect(oldest != nil, "expected the time of the oldest message")
    again.cancel()
  }

  /// Checks that two messages with one id are stored once.
  func duplicates() async throws {
    guard isAtLeastOnce else { return }
    let log = MessageLog()
    let subscription = try await subscribe(log)
    let message = RemoteMessage(id: "\(check).once", body: Array("1".utf8))
    let (one, two) = (try await first.publish(message, to: subject), try await second.publish(message, to: subject))
    try expect(!one.isDuplicate && two.isDuplicate, "expected the second one to be a duplicate, got \(one) and \(two)")
    try expect(one.position != nil && one.position == two.position, "expected one position, got \(one) and \(two)")
    try await eventually("expected a message, got none") { log.count > 0 }
    try await pause()
    try expect(log.count == 1, "expected one message, got \(log.count)")
    subscription.cancel()
  }

  /// Checks that reusing an id for a different message is reported, and a repetition is not.
  func reusedIDs() async throws {
    guard isAtLeastOnce else { return }
    let incidents = Guarded<[TransportIncident]>([])
    let token = first.incidents.addHandler { [subject] incident in
      if incident.kind == .reusedID, incident.subject?.hasPrefix(subject) == true {
        incidents.withLock { $0.append(incident) }
      }
    }
    func publish(_ text: String, to place: String) async throws -> Receipt {
      try await first.publish(RemoteMessage(id: "\(check).one", body: Array(text.utf8)), to: "\(subject).\(place)")
    }
    _ = try await publish("1", to: "a")
    try expect(try await publish("1", to: "a").isDuplicate, "expected a duplicate")
    try await pause()
    try expect(incidents.withLock { $0.isEmpty }, "expected no incident for a repetition")
    try expect(try await publish("2", to: "a").isDuplicate, "expected the id to be known")
    try await eventually("expected an incident for another body") { incidents.withLock { $0.count } == 1 }
    try expect(try await publish("1", to: "b").isDuplicate, "expected the id to be known")
    try await eventually("expected an incident for another subject") { incidents.withLock { $0.count } == 2 }
    _ = first.incidents.remove(token)
  }

  /// Checks that ids are equal if their bytes are, and that the engine changes no header's value.
  func bytes() async throws {
    let log = MessageLog()
    let subscription = try await subscribe(log)
    // One character as one scalar, and as two.
    for (number, id) in ["\u{E9}", "e\u{301}"].enumerated() {
      let receipt = try await first.publish(
        RemoteMessage(id: "\(check).\(id)", body: Array("\(number)".utf8)), to: subject)
      try expect(!receipt.isDuplicate, "expected another id than the one before, got \(receipt)")
    }
    try await eventually("expected two messages, got \(log.numbers)") { log.count >= 2 }
    for value in [" a", "a ", "\ta", "a\t", " ", "a b", "", "\u{E9}", "e\u{301}"] {
      let count = log.count
      do {
        _ = try await first.publish(RemoteMessage(headers: ["Value": value], body: [49]), to: subject)
      } catch let error as TransportError {
        try expect(
          error.code == .badHeader && (value.hasPrefix(" ") || value.hasSuffix(" ") || value.contains("\t")),
          "expected the value \"\(value)\" to be sent, got \(error)")
        continue
      }
      try await eventually("expected a message with the value \"\(value)\"") { log.count > count }
      let found = log.messages.last?.headers["Value"] ?? "none"
      try expect(found.utf8.elementsEqual(value.utf8), "expected the value \"\(value)\", got \"\(found)\"")
    }
    subscription.cancel()
  }

  /// Checks that a subscription begins at the given position, and that a new member of a group
  /// continues where the group was.
  func positions() async throws {
    guard isAtLeastOnce else { return }
    var positions: [UInt64] = []
    for number in 1...4 {
      let receipt = try await first.publish(RemoteMessage(body: Array("\(number)".utf8)), to: subject)
      positions.append(receipt.position ?? 0)
    }
    try expect(positions == positions.sorted() && Set(positions).count == 4, "expected positions, got \(positions)")
    for (start, expected) in [(StartPosition.first, [1, 2, 3, 4]), (.position(positions[2]), [3, 4])] {
      var options = options()
      options.start = start
      let log = MessageLog()
      let subscription = try await subscribe(log, options)
      try await eventually("expected \(expected) from \(start.kind), got \(log.numbers)") {
        log.count >= expected.count
      }
      try expect(log.numbers == expected, "expected \(expected) from \(start.kind), got \(log.numbers)")
      subscription.cancel()
    }
    let (before, after) = (MessageLog(), MessageLog())
    let subscription = try await subscribe(before)
    try await publish(5...5)
    try await eventually("expected 5, got \(before.numbers)") { before.numbers == [5] }
    guard redelivers else { return subscription.cancel() }
    await subscription.drain(within: .seconds(5))
    try await publish(6...6)
    let again = try await subscribe(after)
    try await eventually("expected 6, got \(after.numbers)") { after.numbers == [6] }
    again.cancel()
  }

  /// Checks that messages without a verdict go to another member when their subscription ends.
  func memberDies() async throws {
    guard redelivers else { return }
    let (dying, living) = (MessageLog(isHolding: true), MessageLog())
    let subscription = try await subscribe(dying, over: first)
    try await publish(1...20)
    try await eventually("expected 20 messages in hand, got \(dying.count)") { dying.count >= 20 }
    let other = try await subscribe(living)
    subscription.cancel()
    try await eventually("expected 20 messages again, got \(living.numbers)") { Set(living.numbers).count == 20 }
    try expect(living.numbers.sorted() == Array(1...20), "expected each of 1 to 20, got \(living.numbers)")
    dying.decideAll()
    other.cancel()
  }

  /// Checks that no message is lost when subscriptions end at any time.
  func cancelUnderLoad() async throws {
    guard redelivers else { return }
    let log = MessageLog()
    // The group begins here, before the first message.
    let opening = try await subscribe(log, options(group: "one", inFlight: 8))
    let last = try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await publish(1...300) }
      opening.cancel()
      for round in 0..<20 {
        let subscription = try await subscribe(
          log, over: round % 2 == 0 ? first : second, options(group: "one", inFlight: 8))
        try await clock.sleep(for: .milliseconds(2))
        if round % 3 == 0 { await subscription.drain(within: .milliseconds(50)) } else { subscription.cancel() }
      }
      let last = try await subscribe(log)
      try await group.waitForAll()
      return last
    }
    try await eventually("expected the last message, got \(log.count)") { log.numbers.contains(300) }
    try await eventually("expected no gap, got \(Set(log.numbers).sorted())") { Set(log.numbers) == Set(1...300) }
    last.cancel()
  }

  /// Checks that `drain(within:)` lets the subscription take no new message, waits for verdicts
  /// until the limit, and gives all messages without a verdict back to the engine.
  func drain() async throws {
    guard redelivers else { return }
    let (log, rest) = (MessageLog(isHolding: true), MessageLog())
    let subscription = try await subscribe(log, options(group: "one", inFlight: 4))
    try await publish(1...8)
    try await eventually("expected 4 messages in hand, got \(log.count)") { log.count == 4 }
    log.decideOne()
    // The engine delivers a fifth message when it has the verdict on the first one. That verdict
    // may take any time to reach the engine, so the check waits for the fifth message.
    try await eventually("expected a message in place of the first one, got \(log.numbers)") { log.count > 4 }
    await subscription.drain(within: .milliseconds(300))
    let count = log.count
    let other = try await subscribe(rest)
    try await eventually("expected the rest again, got \(rest.numbers)") { Set(rest.numbers).isSuperset(of: 6...8) }
    try await eventually("expected what had no verdict again, got \(rest.numbers)") { rest.numbers.contains(2) }
    try expect(!rest.numbers.contains(1), "expected no message that was handled, got \(rest.numbers)")
    try expect(log.count == count, "expected nothing new after the drain, got \(log.numbers)")
    log.decideAll()
    other.cancel()
  }
}
