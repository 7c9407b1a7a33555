#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// The server loses the consumer of a group, and a member makes it again.
  @Suite(.serialized, .timeLimit(.minutes(2))) struct LostConsumerTests {
    private struct Refused: Error {}

    /// Deletes the consumer of the group `one` at the server.
    private func deleteTheGroup(over nats: NATS) async throws {
      let names = try await nats.plain.request(RemoteMessage(), to: "$JS.API.CONSUMER.NAMES.TEST", within: .seconds(5))
      let name = try #require(String(decoding: names.body, as: UTF8.self).firstMatch(of: /one_[0-9a-z_]+/)).output
      _ = try await nats.plain.request(RemoteMessage(), to: "$JS.API.CONSUMER.DELETE.TEST.\(name)", within: .seconds(5))
    }

    @Test func aGroupThatIsDeletedAtTheServerBeginsAgain() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let incidents = Guarded<[String]>([])
      nats.incidents.addHandler { incident in incidents.withLock { $0.append(incident.reason) } }
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let event = RemoteEvent<Int>("test.a", over: stream)
      let numbers = Guarded<[Int]>([])
      event.addHandler { number in numbers.withLock { $0.append(number) } }
      try await event.listen(as: "one")
      try await event.publish(1)
      try await eventually("expected 1") { numbers.withLock { $0 } == [1] }
      try await deleteTheGroup(over: nats)
      try await event.publish(2)
      try await eventually("expected 2, got \(numbers.withLock { $0 })") { numbers.withLock { $0.contains(2) } }
      try await eventually("expected an incident, got \(incidents.withLock { $0 })") {
        incidents.withLock { $0.contains { $0.contains("no group one") } }
      }
      await nats.close()
    }

    /// A message whose handler failed waits at the server for its next attempt. Meanwhile the
    /// member does not hold the message, and has received later messages. Nevertheless the new
    /// consumer must begin with the message that failed.
    @Test func aGroupThatIsDeletedBeginsAgainWithTheMessageThatFailed() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let event = RemoteEvent<Int>("test.a", over: try await nats.stream("TEST", subjects: ["test.>"]))
      let numbers = Guarded<[Int]>([])
      event.addHandler { number in
        let isFirst = numbers.withLock { numbers in
          numbers.append(number)
          return numbers.count == 1
        }
        if isFirst { throw Refused() }
      }
      let pause = Duration.seconds(600)
      try await event.listen(as: "one", retry: .exponential(from: pause, to: pause, attempts: 5, jitter: false))
      for number in 1...5 { try await event.publish(number) }
      try await eventually("expected 1...5") { numbers.withLock { Set($0) } == Set(1...5) }
      try await deleteTheGroup(over: nats)
      try await event.publish(6)
      try await eventually("expected 6 and 1 once more, got \(numbers.withLock { $0 })") {
        numbers.withLock { $0.contains(6) && $0.filter { $0 == 1 }.count == 2 }
      }
      await nats.close()
    }

    /// The record is bounded. If the smallest position had no room, a new consumer would begin
    /// behind its message, which then never came again.
    @Test func theSmallestReturnedPositionAlwaysHasRoom() {
      var positions = RetreatedPositions()
      for position in 1...UInt64(RetreatedPositions.limit) { positions.add(position + 10) }
      for position in [8, 5, 9] as [UInt64] { positions.add(position) }
      #expect(positions.first == 5)
      positions.remove(upTo: 7)
      #expect(positions.first == 8)
    }

    /// The *floor* of a consumer is the position up to which the server has final verdicts (done or
    /// reject) on all messages. By the floor, a member learns that other members have handled
    /// messages which it had returned.
    @Test func theServerTellsWhichReturnedMessagesWereHandled() async throws {
      var positions = RetreatedPositions()
      #expect(!positions.mustAsk(.now + .seconds(60), isShared: false) && positions.first == nil)
      for position in [7, 5, 9, 6] as [UInt64] { positions.add(position) }
      positions.remove(5)
      #expect(positions.first == 6 && !positions.mustAsk(.now, isShared: false))
      let asks = positions.mustAsk(.now + .seconds(60), isShared: false)
      #expect(asks)
      positions.remove(upTo: 7)
      #expect(positions.first == 9)
      positions.remove(9)
      let asksAlways = positions.mustAsk(.now + .seconds(120), isShared: true)
      #expect(asksAlways)
      let server = try NATSServer()
      let nats = try await server.connect()
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let event = RemoteEvent<Int>("test.a", over: stream)
      event.addHandler { _ in }
      try await event.listen(as: "one")
      for number in 1...3 { try await event.publish(number) }
      var options = SubscribeOptions()
      options.group = "one"
      let admin = StreamAdmin(stream.engine)
      let config = ConsumerConfig(
        "test.a", options, named: ConsumerConfig.baseName("test.a", "one"), in: try await admin.facts(of: "TEST"))
      var restart: UInt64 = 0
      while restart < 4 { restart = try await admin.find("TEST", config)?.restart.startPosition ?? 0 }
      #expect(restart == 4)
      await nats.close()
    }

    /// The *floor* of a consumer is the position up to which the server has final verdicts (done or
    /// reject) on all messages. If a message fails in a member, and this member then ends, no other
    /// member knows of the message. But the floor stays below its position. A new consumer begins
    /// at the position after the floor, or before.
    @Test(arguments: [true, false])
    func aGroupThatIsDeletedBeginsAgainWithTheMessageThatFailedInAnEndedMember(joinsBefore: Bool) async throws {
      let server = try NATSServer()
      let (nats, other) = (try await server.connect(), try await server.connect())
      let pause = Duration.seconds(600)
      let numbers = Guarded<[Int]>([])
      let stays = RemoteEvent<Int>("test.a", over: try await nats.stream("TEST", subjects: ["test.>"]))
      let leaves = RemoteEvent<Int>("test.a", over: try await other.stream("TEST", subjects: ["test.>"]))
      let hasFailed = Guarded(false)
      leaves.addHandler { _ in
        hasFailed.withLock { $0 = true }
        throw Refused()
      }
      func listen(_ event: RemoteEvent<Int>) async throws {
        try await event.listen(as: "one", retry: .exponential(from: pause, to: pause, attempts: 5, jitter: false))
      }
      if joinsBefore { try await listen(stays) }  // `stays` takes no messages while it has no handler
      try await listen(leaves)
      try await leaves.publish(1)
      try await eventually("expected that 1 fails") { hasFailed.withLock { $0 } }
      await other.close()
      stays.addHandler { number in numbers.withLock { $0.append(number) } }
      if !joinsBefore { try await listen(stays) }
      try await stays.publish(2)
      try await eventually("expected 2, got \(numbers.withLock { $0 })") { numbers.withLock { $0 } == [2] }
      try await deleteTheGroup(over: nats)
      try await eventually("expected 1, got \(numbers.withLock { $0 })") { numbers.withLock { $0.contains(1) } }
      await nats.close()
    }

    /// A subscription pulls (requests messages) only while its event has a handler. Here the
    /// consumer is deleted before the first handler is added, so the first pull is for a deleted
    /// consumer. The server does not answer such a pull. So the subscription must find out that the
    /// consumer is lost when the pull has expired.
    @Test(arguments: ["one", nil]) func aConsumerThatIsDeletedWhileNoPullIsOpenBeginsAgain(group: String?) async throws
    {
      let server = try NATSServer()
      let nats = try await server.connect()
      let event = RemoteEvent<Int>("test.a", over: try await nats.stream("TEST", subjects: ["test.>"]))
      if let group { try await event.listen(as: group) } else { try await event.listen() }  // no pull yet
      try await deleteTheGroup(over: nats)
      try await event.publish(1)
      let numbers = Guarded<[Int]>([])
      event.addHandler { number in numbers.withLock { $0.append(number) } }
      try await eventually("expected 1, got \(numbers.withLock { $0 })") { numbers.withLock { $0 } == [1] }
      await nats.close()
    }

    @Test func aGroupOfNewMessagesThatIsDeletedBeginsAgainWithNoEarlierOne() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let event = RemoteEvent<Int>("test.a", over: try await nats.stream("TEST", subjects: ["test.>"]))
      let numbers = Guarded<[Int]>([])
      event.addHandler { number in numbers.withLock { $0.append(number) } }
      for number in 1...3 { try await event.publish(number) }
      try await event.listen(as: "one")
      try await deleteTheGroup(over: nats)
      try await event.publish(4)
      try await eventually("expected 4, got \(numbers.withLock { $0 })") { numbers.withLock { $0.contains(4) } }
      #expect(numbers.withLock { $0 } == [4])
      await nats.close()
    }

    /// The *floor* of a consumer is the position up to which the server has final verdicts (done or
    /// reject) on all messages. Until the first message of the consumer has such a verdict, the
    /// floor is 0, wherever the consumer begins.
    @Test func theServerTellsWhereALostGroupBeginsAgain() throws {
      func restart(_ delivered: String, _ floor: String, _ start: String) throws -> ConsumerConfig {
        let text = #"{"delivered":{\#(delivered)},"ack_floor":{\#(floor)},"config":{"deliver_policy":\#(start)}}"#
        return ConsumerConfig(name: "one", filter: "a", ackWait: 0).restarted(
          try JSONDecoder().decode(StreamAnswer.self, from: Data(text.utf8)))
      }
      let (none, sequence) = (#""consumer_seq":0,"stream_seq":0"#, #""by_start_sequence","opt_start_seq":5"#)
      let fresh = try restart(#""consumer_seq":0,"stream_seq":4"#, none, sequence)
      #expect(fresh.start == "by_start_sequence" && fresh.startPosition == 5)
      let begun = try restart(#""consumer_seq":2,"stream_seq":9"#, none, sequence)
      #expect(begun.start == "by_start_sequence" && begun.startPosition == 5)
      let handled = try restart(
        #""consumer_seq":7,"stream_seq":9"#, #""consumer_seq":2,"stream_seq":6"#, sequence)
      #expect(handled.startPosition == 7)
      let all = try restart(#""consumer_seq":2,"stream_seq":2"#, none, #""all""#)
      #expect(all.start == "all" && all.startPosition == nil)
      let time = try restart(
        #""consumer_seq":2,"stream_seq":9"#, none, #""by_start_time","opt_start_time":"2026-01-01T00:00:00Z""#)
      #expect(time.start == "by_start_time" && time.startTime == "2026-01-01T00:00:00Z" && time.startPosition == nil)
    }
  }
#endif
