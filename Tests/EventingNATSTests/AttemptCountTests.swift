#if NATS
  import Eventing
  import EventingNATS
  import Foundation
  import Testing

  /// Only an error of a handler is a failed attempt, and each process counts the errors of its own
  /// handlers.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct AttemptCountTests {
    private struct Refused: Error {}

    private struct Released: BegunMessage {
      var knownVerdict: Verdict? { .release(after: .milliseconds(10)) }
      var verdict: Verdict { get async { .release(after: .milliseconds(10)) } }
    }

    /// Returns a member of the group `one` whose handler fails for each attempt below `success`.
    private func member(
      _ nats: NATS, attempts: Int, success: Int = .max, _ seen: Guarded<[Int]>
    ) async throws -> RemoteEvent<Int> {
      let event = RemoteEvent<Int>("test.a", over: try await nats.stream("TEST", subjects: ["test.>"]))
      event.remoteOccurrences.addHandler { occurrence in
        seen.withLock { $0.append(occurrence.attempt) }
        if occurrence.attempt < success { throw Refused() }
      }
      let pause = Duration.milliseconds(50)
      try await event.listen(
        as: "one", startingAt: .first,
        retry: .exponential(from: pause, to: pause, attempts: attempts, jitter: false), deadLetter: "test.dead")
      return event
    }

    @Test func whatAnotherMemberGaveBackIsNoAttempt() async throws {
      let server = try NATSServer()
      let (nats, other) = (try await server.connect(), try await server.connect())
      let stream = try await other.stream("TEST", subjects: ["test.>"])
      let returned = Guarded(0)
      var options = SubscribeOptions()
      (options.group, options.start) = ("one", .first)
      let subscription = try await stream.subscribe("test.a", options) { _ in
        returned.withLock { $0 += 1 }
        return Released()
      }
      try await RemoteEvent<Int>("test.a", over: stream).publish(7)
      try await eventually("expected ten returns") { returned.withLock { $0 } >= 10 }
      await subscription.drain(within: .seconds(5))
      let seen = Guarded<[Int]>([])
      let event = try await member(nats, attempts: 3, success: 3, seen)
      try await eventually("expected three attempts, got \(seen.withLock { $0 })") { seen.withLock { $0.count } == 3 }
      #expect(seen.withLock { $0 } == [1, 2, 3])
      for nats in [nats, other] { await nats.close() }
      withExtendedLifetime(event) {}
    }

    @Test func eachMemberHasTheAttemptsOfItsListening() async throws {
      let server = try NATSServer()
      let reader = try await server.connect()
      let dead = RemoteEvent<Int>("test.dead", over: try await reader.stream("TEST", subjects: ["test.>"]))
      let found = Guarded<[String]>([])
      dead.remoteOccurrences.addHandler { letter in
        found.withLock { $0.append(letter.headers["Eventing-Dead-Attempts"] ?? "none") }
      }
      try await dead.listen(as: "readers")
      let seen = Guarded<[Int]>([])
      var members: [(NATS, RemoteEvent<Int>)] = []
      for _ in 0..<3 {
        let nats = try await server.connect()
        members.append((nats, try await member(nats, attempts: 3, seen)))
      }
      try await members[0].1.publish(7)
      try await eventually("expected a letter, got \(seen.withLock { $0 })") { found.withLock { !$0.isEmpty } }
      #expect(found.withLock { $0 } == ["3"])
      // The member that gave up has failed three times, and each other one at most twice.
      #expect(seen.withLock { $0.count <= 7 && $0.filter { $0 == 3 }.count == 1 }, "\(seen.withLock { $0 })")
      for (nats, _) in members + [(reader, dead)] { await nats.close() }
    }
  }
#endif
