#if NATS
  import Eventing
  import EventingNATS
  import Foundation
  import Testing

  /// The attempts of a message are counted over all members of its group.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct AttemptCountTests {
    private struct Refused: Error {}

    /// Returns a member of the group `one` whose handler always fails, with its listening.
    private func member(
      _ nats: NATS, attempts: Int, pause: Duration = .milliseconds(50), _ seen: Guarded<[Int]>
    ) async throws -> (RemoteEvent<Int>, Listening) {
      let event = RemoteEvent<Int>("test.a", over: try await nats.stream("TEST", subjects: ["test.>"]))
      event.remoteOccurrences.addHandler { occurrence in
        seen.withLock { $0.append(occurrence.attempt) }
        throw Refused()
      }
      let listening = try await event.listen(
        as: "one", retry: .backoff(from: pause, to: pause, attempts: attempts, jitter: false),
        deadLetter: "test.dead")
      return (event, listening)
    }

    private func letters(_ nats: NATS) async throws -> (RemoteEvent<Int>, Guarded<[String]>) {
      let dead = RemoteEvent<Int>("test.dead", over: try await nats.stream("TEST", subjects: ["test.>"]))
      let found = Guarded<[String]>([])
      dead.remoteOccurrences.addHandler { letter in
        found.withLock { $0.append(letter.headers["Eventing-Dead-Attempts"] ?? "none") }
      }
      try await dead.listen(as: "readers")
      return (dead, found)
    }

    @Test func failuresInSeveralProcessesCountTogether() async throws {
      let server = try NATSServer()
      let reader = try await server.connect()
      let (dead, found) = try await letters(reader)
      let seen = Guarded<[Int]>([])
      var members: [(NATS, RemoteEvent<Int>)] = []
      for _ in 0..<3 {
        let nats = try await server.connect()
        members.append((nats, try await member(nats, attempts: 6, seen).0))
      }
      try await members[0].1.publish(7)
      try await eventually("expected a letter, got \(seen.withLock { $0 })") { found.withLock { !$0.isEmpty } }
      #expect(seen.withLock { $0 } == Array(1...6) && found.withLock { $0 } == ["6"])
      for (nats, _) in members + [(reader, dead)] { await nats.close() }
    }

    /// For some time after a member has ended, the server keeps the member's pull request (its
    /// request for messages). If the pause of a failed message ends within that time, nats-server
    /// 2.9 takes the message for a new one, and delivers it with attempt 1. So the pauses here are
    /// longer than that time.
    @Test func failuresBeforeARestartCount() async throws {
      let server = try NATSServer()
      let reader = try await server.connect()
      let (dead, found) = try await letters(reader)
      let seen = Guarded<[Int]>([])
      var isPublished = false
      while found.withLock({ $0.isEmpty }) {
        let nats = try await server.connect()
        let before = seen.withLock { $0.count }
        let (event, listening) = try await member(nats, attempts: 3, pause: .seconds(6), seen)
        if !isPublished { try await event.publish(7) }
        isPublished = true
        try await eventually("expected one more attempt, got \(seen.withLock { $0 })") {
          seen.withLock { $0.count } > before || found.withLock { !$0.isEmpty }
        }
        await listening.drain(within: .seconds(5))
        await nats.close()
      }
      // The server also counts a delivery that found no handler as an attempt of the message. So an
      // attempt number may be missing in `seen`.
      let attempts = seen.withLock { $0 }
      #expect(attempts.enumerated().allSatisfy { $1 > $0 || $1 == 1 }, "\(attempts)")
      #expect(attempts.dropLast().allSatisfy { $0 < 3 } && attempts.last.map { $0 >= 3 } == true, "\(attempts)")
      #expect(found.withLock { $0 } == attempts.last.map { ["\($0)"] }, "\(attempts)")
      await reader.close()
      withExtendedLifetime(dead) {}
    }
  }
#endif
