#if NATS
  import Eventing
  import EventingNATS
  import Foundation
  import Testing

  /// A server that loses its record of a group delivers messages again, and an incident says so.
  @Suite(.serialized, .timeLimit(.minutes(2))) struct RepetitionTests {
    @Test func aGroupWhoseRecordTheServerLostIsNamedInAnIncident() async throws {
      let server = try NATSServer()
      let nats = try await server.connect(publishTimeout: .seconds(20))
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let event = RemoteEvent<Int>("test.a", over: stream)
      let (handled, incidents) = (Guarded<[Int]>([]), Guarded<[TransportIncident]>([]))
      nats.incidents.addHandler { incident in
        if incident.kind == .repeated { incidents.withLock { $0.append(incident) } }
      }
      event.addHandler { number in handled.withLock { $0.append(number) } }
      try await event.listen(as: "one", startingAt: .first)
      for number in 0..<50 { try await event.publish(number) }
      try await eventually("expected 50 payloads") { handled.withLock { $0.count } == 50 }
      try RepetitionTests.restartWithoutRecords(server)
      try await eventually("expected all payloads again") { handled.withLock { $0.count } >= 100 }
      try await event.publish(50)
      try await eventually("expected the last payload") { handled.withLock { $0.last } == 50 }
      let found = incidents.withLock { $0 }
      #expect(found.count == 1, "\(found)")
      #expect(found.first?.event == "test.a" && found.first?.stream == "TEST")
      #expect(found.first?.reason.contains("the group one") == true)
      #expect(found.first?.reason.contains("messages from 1 on come again; the last one before was at 50") == true)
      await nats.close()
    }

    private static func restartWithoutRecords(_ server: NATSServer) throws {
      server.end()
      // The file `o.dat` is the server's record of a consumer. A nats-server 2.9 may lose this file
      // when the server is killed. Here the test deletes the file.
      let consumers = "\(server.folder)/streams/jetstream/$G/streams/TEST/obs"
      for name in try FileManager.default.contentsOfDirectory(atPath: consumers) {
        try FileManager.default.removeItem(atPath: "\(consumers)/\(name)/o.dat")
      }
      try server.start()
    }

    /// If the server has lost its record of a group, it delivers again from the start position that
    /// the group was made with. So for a group that is to get new messages only, the engine sets
    /// the start to a position. With the start "new", the group would lose messages when the server
    /// has lost its record.
    @Test func aGroupOfNewMessagesLosesNoneWithItsRecord() async throws {
      let server = try NATSServer()
      let nats = try await server.connect(publishTimeout: .seconds(20))
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let event = RemoteEvent<Int>("test.a", over: stream)
      let handled = Guarded<[Int]>([])
      event.addHandler { number in handled.withLock { $0.append(number) } }
      try await event.publish(0)
      let listening = try await event.listen(as: "one")
      try await event.publish(1)
      try await eventually("expected 1, got \(handled.withLock { $0 })") { handled.withLock { $0 } == [1] }
      await listening.drain(within: .seconds(5))
      for number in 2...5 { try await event.publish(number) }
      try RepetitionTests.restartWithoutRecords(server)
      try await event.listen(as: "one")
      try await event.publish(6)
      try await eventually("expected 1 to 6, got \(handled.withLock { $0 })") {
        handled.withLock { Set($0) == Set(1...6) }
      }
      await nats.close()
    }

    /// Redeliveries of a message whose handler failed cause no incident of the kind `repeated`: the
    /// server has lost no record.
    @Test func redeliveriesAfterFailuresAreNoRepetition() async throws {
      let server = try NATSServer()
      let nats = try await server.connect(publishTimeout: .seconds(20))
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let event = RemoteEvent<Int>("test.a", over: stream)
      let (calls, incidents) = (Guarded(0), Guarded<[TransportIncident]>([]))
      nats.incidents.addHandler { incident in
        if incident.kind == .repeated { incidents.withLock { $0.append(incident) } }
      }
      event.addHandler { number in
        let call = calls.withLock { calls in
          calls += 1
          return calls
        }
        if number == 3, call < 30 { throw Refused() }
      }
      try await event.listen(as: "one", startingAt: .first, retry: .immediately(attempts: 100))
      for number in 0..<20 { try await event.publish(number) }
      try await eventually("expected attempts") { calls.withLock { $0 } >= 30 }
      #expect(incidents.withLock { $0 }.isEmpty)
      await nats.close()
    }

    private struct Refused: Error {}
  }
#endif
