import Eventing
import EventingTransport

// Checks of connections and engines that end, with and without a warning.
extension Conformance {
  /// Checks that messages without a verdict go to another member when the connection of the first
  /// member is closed. Checks that a closed connection refuses to publish.
  func closes() async throws {
    guard redelivers, let close else { return }
    try await endsConnection(close)
    let code = await failure { _ = try await second.publish(RemoteMessage(), to: subject) }
    try expect(code == .closed, "expected closed for a message, got \(code.map { "\($0)" } ?? "no error")")
  }

  /// Checks that messages without a verdict go to another member when the process of their member
  /// dies.
  func memberVanishes() async throws {
    guard redelivers, let vanish else { return }
    try await endsConnection(vanish)
  }

  private func endsConnection(_ end: @Sendable (any Transport) async throws -> Void) async throws {
    let (ending, living) = (MessageLog(isHolding: true), MessageLog())
    _ = try await subscribe(ending, options(group: "one", inFlight: 4))
    try await publish(1...8)
    try await eventually("expected 4 messages in hand, got \(ending.numbers)") { ending.count >= 4 }
    try await end(second)
    let other = try await subscribe(living, over: first)
    try await eventually("expected 1 to 8 at another member, got \(living.numbers)") {
      Set(living.numbers) == Set(1...8)
    }
    try expect(ending.count == 4, "expected nothing new after the end, got \(ending.numbers)")
    ending.decideAll()
    other.cancel()
  }

  /// Checks that no stored message is lost when the engine dies and restarts. Without storage,
  /// checks that subscriptions continue.
  func restarts() async throws {
    guard let restart else { return }
    guard isAtLeastOnce else { return try await continues(restart) }
    let log = MessageLog()
    let subscription = try await subscribe(log, options(group: "one", inFlight: 16))
    var stored: Set<Int> = []
    for number in 1...100 {
      if number == 30 || number == 60 { try await restart() }
      let message = RemoteMessage(id: "\(check).\(number)", body: Array("\(number)".utf8))
      for _ in 0..<50 where !stored.contains(number) {
        do {
          _ = try await first.publish(message, to: subject)
          stored.insert(number)
        } catch { try await pause() }
      }
    }
    try expect(stored.count == 100, "expected 100 messages to be stored, got \(stored.count)")
    try await eventually("expected 1 to 100, got \(Set(log.numbers).sorted())") { Set(log.numbers) == stored }
    subscription.cancel()
  }

  /// Checks that subscriptions of an engine without storage continue after a restart. The engine
  /// may lose messages while it is away, but repeats none.
  private func continues(_ restart: @Sendable () async throws -> Void) async throws {
    let log = MessageLog()
    let subscription = try await subscribe(log)
    try await publish(1...5)
    try await eventually("expected 5 messages, got \(log.numbers)") { log.count >= 5 }
    try await restart()
    var (number, waited) = (5, Duration.zero)
    while (log.numbers.last ?? 0) <= 5 {
      try expect(waited < patience, "expected a message after the restart, got \(log.numbers), after \(patience)")
      number += 1
      // While the engine is away, it may refuse a message. That message counts as lost, like a
      // message that the engine takes and does not deliver, so the error is ignored.
      _ = await failure { try await publish(number...number) }
      try await pause(.milliseconds(100))
      waited += .milliseconds(100)
    }
    try await pause()
    try expect(Set(log.numbers).count == log.count, "expected each message once, got \(log.numbers)")
    try expect(log.numbers == log.numbers.sorted(), "expected the order of publishing, got \(log.numbers)")
    subscription.cancel()
  }
}
