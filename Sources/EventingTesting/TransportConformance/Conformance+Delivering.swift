import Eventing
import EventingTransport

// Checks for every engine: delivery, order, groups, bounds, requests.
extension Conformance {
  func delivers() async throws {
    let log = MessageLog()
    let subscription = try await subscribe(log)
    let message = RemoteMessage(
      id: "\(check).id", headers: ["Trace": "a b", "x-empty": ""], body: [0, 1, 255, 10, 13])
    _ = try await first.publish(message, to: subject)
    try await eventually("expected a message, got none") { log.count > 0 }
    let found = log.messages[0]
    try expect(found.body == message.body, "expected the body \(message.body), got \(found.body)")
    try expect(found.subject == subject, "expected the subject \(subject), got \(found.subject)")
    try expect(found.headers["Trace"] == "a b", "expected the header Trace, got \(found.headers)")
    try expect(found.attempt == 1, "expected attempt 1, got \(found.attempt)")
    if isAtLeastOnce {
      try expect(found.id == message.id, "expected the id \(message.id), got \(found.id)")
      try expect(found.position != nil, "expected a position, got none")
    }
    await subscription.drain(within: .seconds(5))
    try await pause()
    try expect(log.count == 1, "expected one message, got \(log.numbers)")
  }

  /// Checks that a subscription receives messages in the order in which they were published.
  func order() async throws {
    guard first.promises.keepsOrder else { return }
    // An engine without storage may drop messages if more than `inFlight` of them wait. With 1 or
    // 7, such an engine might drop some of the 200 messages. So for such an engine, the check
    // leaves 1 and 7 out.
    for inFlight in isAtLeastOnce ? [1, 7, 256] : [256] {
      let log = MessageLog()
      let place = "\(subject).\(inFlight)"
      let subscription = try await subscribe(log, to: place, options(group: "one", inFlight: inFlight))
      try await publish(1...200, to: place)
      try await eventually("expected 200 messages, got \(log.count)") { log.count >= 200 }
      try expect(
        log.numbers == Array(1...200), "expected 1 to 200 in order with inFlight \(inFlight), got \(log.numbers)")
      subscription.cancel()
    }
  }

  /// The forward publishes a message only when the engine has decided the place of the previous
  /// one.
  func forward() async throws {
    guard first.promises.keepsOrder else { return }
    let (log, local) = (MessageLog(), Event<[UInt8]>("local"))
    let subscription = try await subscribe(log)
    let remote = RemoteEvent<[UInt8]>(subject, over: first, codec: .bytes)
    local.forward(to: remote)
    for number in 1...200 { local.post(Array("\(number)".utf8)) }
    try await eventually("expected 200 messages, got \(log.count)") { log.count >= 200 }
    try expect(log.numbers == Array(1...200), "expected 1 to 200 in order, got \(log.numbers)")
    withExtendedLifetime(remote) {}
    subscription.cancel()
  }

  /// Checks that each message goes to one member of each group, and to each subscription without a
  /// group.
  func groups() async throws {
    guard first.promises.hasGroups else { return }
    let logs = (0..<6).map { _ in MessageLog() }
    let groups: [String?] = ["a", "a", "b", "b", nil, nil]
    var subscriptions: [any TransportSubscription] = []
    for (index, log) in logs.enumerated() {
      subscriptions.append(
        try await subscribe(log, over: index % 2 == 0 ? first : second, options(group: groups[index])))
    }
    try await publish(1...100)
    func all(_ range: Range<Int>) -> [Int] { logs[range].flatMap(\.numbers).sorted() }
    for range in [0..<2, 2..<4, 4..<5, 5..<6] {
      try await eventually("expected 100 messages in \(range), got \(all(range))") { all(range).count >= 100 }
    }
    try await pause()
    for range in [0..<2, 2..<4, 4..<5, 5..<6] {
      try expect(all(range) == Array(1...100), "expected each of 1 to 100 once in \(range), got \(all(range))")
    }
    for subscription in subscriptions { subscription.cancel() }
  }

  /// Checks that the number of messages without a verdict stays within the bound.
  func inFlight() async throws {
    let log = MessageLog(isHolding: true)
    let subscription = try await subscribe(log, options(group: "one", inFlight: 5))
    try await publish(1...12)
    try await eventually("expected 5 messages in hand, got \(log.count)") { log.count >= 5 }
    try await pause()
    try expect(log.count == 5, "expected 5 messages in hand, got \(log.count)")
    if isAtLeastOnce {
      while log.count < 12 {
        log.decideOne()
        try await pause(.milliseconds(10))
      }
      try expect(log.mostOpen == 5, "expected at most 5 messages in hand, got \(log.mostOpen)")
    }
    log.decideAll()
    subscription.cancel()
  }

  /// Checks that a subscription which is not ready takes no messages. On a stream, another member
  /// takes them.
  func readiness() async throws {
    let isReady = Guarded(false)
    let (log, other) = (MessageLog(), MessageLog())
    var options = options(group: "one")
    options.isReady = { isReady.withLock { $0 } }
    let subscription = try await subscribe(log, options)
    try await publish(1...3)
    try await pause()
    try expect(log.count == 0, "expected no messages while the subscription is not ready, got \(log.numbers)")
    guard redelivers else { return subscription.cancel() }
    let member = try await subscribe(other, over: first)
    try await eventually("expected the other member to have 3 messages, got \(other.numbers)") {
      Set(other.numbers) == [1, 2, 3]
    }
    await member.drain(within: .seconds(5))
    try await pause()  // the engine has had time to see that the other member ended
    isReady.withLock { $0 = true }
    subscription.readinessChanged()
    try await publish(4...4)
    try await eventually("expected 4 after the subscription became ready, got \(log.numbers)") { log.numbers == [4] }
    subscription.cancel()
  }

  /// Checks that a last word `*` in a subject stands for any one word.
  func wildcard() async throws {
    let log = MessageLog()
    let subscription = try await subscribe(log, to: "\(subject).*")
    for (number, word) in ["a", "b", "a.b", "c"].enumerated() {
      try await publish(number...number, to: "\(subject).\(word)")
    }
    try await eventually("expected three messages, got \(log.messages.map(\.subject))") { log.count >= 3 }
    try await pause()
    let found = log.messages.map(\.subject).sorted()
    try expect(found == ["a", "b", "c"].map { "\(subject).\($0)" }, "expected a, b and c, got \(found)")
    subscription.cancel()
  }

  /// Checks that the largest body arrives, and that a larger one is refused.
  func largeBodies() async throws {
    let log = MessageLog()
    let subscription = try await subscribe(log)
    let most = first.promises.largestPayload
    let body = (0..<most).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    _ = try await first.publish(RemoteMessage(body: body), to: subject)
    try await eventually("expected a body of \(most) bytes, got none") { log.count > 0 }
    try expect(log.messages[0].body == body, "expected \(most) bytes as they were, got others")
    let code = await failure { _ = try await first.publish(RemoteMessage(body: body + [0]), to: subject) }
    try expect(code == .tooLarge, "expected tooLarge for \(most + 1) bytes, got \(code.map { "\($0)" } ?? "no error")")
    subscription.cancel()
  }

  /// Checks that an engine without storage redelivers nothing: neither a message from before the
  /// subscription, nor one whose handling failed.
  func atMostOnce() async throws {
    guard !isAtLeastOnce else { return }
    // The engine may deliver message 0 later than it returns the receipt. So the check first waits
    // until the subscription `earlier` has received message 0. Then the second subscription begins,
    // which must not receive message 0.
    let before = MessageLog()
    let earlier = try await subscribe(before)
    try await publish(0...0)
    try await eventually("expected a message, got none") { before.count > 0 }
    await earlier.drain(within: .seconds(5))
    let log = MessageLog { _ in .retry(after: .milliseconds(1)) }
    let subscription = try await subscribe(log)
    try await publish(1...20)
    try await eventually("expected 20 messages, got \(log.numbers)") { log.count >= 20 }
    try await pause()
    try expect(log.numbers == Array(1...20), "expected each of 1 to 20 once, got \(log.numbers)")
    subscription.cancel()
  }

  /// Checks that a request has one reply. If no process responds, the request fails at once.
  func requests() async throws {
    guard first.promises.hasRequests else { return }
    let place = "\(subject).ask"
    let nobody = await failure { _ = try await first.request(RemoteMessage(), to: place, within: .seconds(20)) }
    try expect(nobody == .noResponders, "expected noResponders, got \(nobody.map { "\($0)" } ?? "a reply")")
    let responder = try await second.respond(to: place, group: options(group: "one").group, inFlight: 4) {
      [clock] request in
      if request.body.isEmpty { try? await clock.sleep(for: .seconds(60)) }
      return RemoteMessage(headers: ["Trace": request.headers["Trace"] ?? ""], body: request.body + [7])
    }
    let reply = try await first.request(RemoteMessage(headers: ["Trace": "t"], body: [1]), to: place, within: patience)
    try expect(reply.body == [1, 7] && reply.headers["Trace"] == "t", "expected the reply, got \(reply)")
    let late = await failure { _ = try await first.request(RemoteMessage(), to: place, within: .milliseconds(200)) }
    try expect(late == .timedOut, "expected timedOut, got \(late.map { "\($0)" } ?? "a reply")")
    responder.cancel()
  }

  func failure(_ body: () async throws -> Void) async -> TransportError.Code? {
    do {
      try await body()
      return nil
    } catch { return (error as? TransportError)?.code }
  }
}
