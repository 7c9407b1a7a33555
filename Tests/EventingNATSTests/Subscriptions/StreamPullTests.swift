#if NATS
  import Eventing
  @testable import EventingNATS
  import Testing

  /// A subscription knows how many requested messages are still to come.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct StreamPullTests {
    /// A pull is a request for messages. The server serves all open pulls in turn, and a message
    /// does not name its pull. So ``StreamPulls`` counts each message for the oldest pull.
    ///
    /// Here the first pull asks for 1,024 messages, and the second one for 256. The server sends
    /// 512 for the first pull, and all 256 for the second one. ``StreamPulls`` counts all 768 for
    /// the first pull, so the second one seems open. Then the server ends the first pull, and says
    /// that it has sent only 512 of the 1,024 messages. So the other 256 belong to the second pull,
    /// which ends. If the second pull stayed open until its deadline, the subscription would
    /// suspect that the consumer is lost.
    @Test func aPullThatTheServerHasServedEndsWithTheOneBefore() {
      var (pulls, now) = (StreamPulls(), ContinuousClock.now)
      let first = pulls.begin(room: 1_024, of: 1_024, now)
      for _ in 0..<256 { pulls.arrived() }
      let second = pulls.begin(room: 1_024, of: 1_024, now)
      #expect(first?.batch == 1_024 && second?.batch == 256)
      for _ in 0..<512 { pulls.arrived() }  // 256 of each pull
      pulls.end(1, unsent: 512)
      #expect(pulls.isEmpty)
      now += .seconds(60)
      let hasExpired = pulls.expire(now)
      #expect(!hasExpired)
    }

    /// The server may end the second pull (request for messages) while the first one is open. All
    /// messages that have come were counted for the first pull, also the 128 that the server sent
    /// for the second. When the second pull ends, these 128 are taken out of the count of the first
    /// pull, which then expects 128 messages more.
    @Test func messagesThatCountedForAnotherPullMoveToIt() {
      let (pulls, now) = (Guarded(StreamPulls()), ContinuousClock.now)
      func room() -> Int? { pulls.withLock { $0.begin(room: 1_024, of: 1_024, now)?.batch } }
      #expect(room() == 1_024)
      pulls.withLock { pulls in for _ in 0..<256 { pulls.arrived() } }
      #expect(room() == 256)
      pulls.withLock { pulls in for _ in 0..<256 { pulls.arrived() } }  // 128 of each pull
      pulls.withLock { $0.end(2, unsent: 128) }
      #expect(room() == 384)  // the first pull still expects 640 messages
      pulls.withLock { $0.endAll() }
      #expect(room() == 1_024)
      pulls.withLock { $0.end(1, unsent: 640) }  // `endAll` has given up pull 1, so its end changes nothing
      #expect(room() == nil)
    }

    /// Without the limit, the server refuses each request, and no message ever comes.
    @Test func theServersLimitForARequestIsTaken() async throws {
      let server = try NATSServer(streams: "limits { max_request_batch: 10 }")
      let nats = try await server.connect()
      let (numbers, told) = (Guarded<[Int]>([]), Guarded<[TransportIncident]>([]))
      nats.incidents.addHandler { incident in told.withLock { $0.append(incident) } }
      let event = RemoteEvent<Int>("test.a", over: try await nats.stream("TEST", subjects: ["test.>"]))
      event.addHandler { number in numbers.withLock { $0.append(number) } }
      try await event.listen(as: "one")
      for number in 1...30 { try await event.publish(number) }
      try await eventually("expected 1...30, got \(told.withLock { $0 })") { numbers.withLock { $0 } == Array(1...30) }
      #expect(
        told.withLock { $0.count == 1 && $0[0].event == "test.a" && $0[0].reason.contains("MaxRequestBatch of 10") })
      await nats.close()
    }

    /// The server refuses a consumer that asks for more messages in hand than its limit, but takes
    /// one that asks for no limit.
    @Test func theServersLimitOfMessagesInHandRefusesNoListening() async throws {
      let server = try NATSServer(streams: "limits { max_ack_pending: 10 }")
      let nats = try await server.connect()
      let numbers = Guarded<[Int]>([])
      let event = RemoteEvent<Int>("test.a", over: try await nats.stream("TEST", subjects: ["test.>"]))
      event.addHandler { number in numbers.withLock { $0.append(number) } }
      try await event.listen(as: "one")
      for number in 1...30 { try await event.publish(number) }
      try await eventually("expected 1...30, got \(numbers.withLock { $0 })") { numbers.withLock { $0.count } == 30 }
      await nats.close()
    }

    @Test func theServersAnswersAboutRequestsAreKnown() {
      #expect(PullAnswer(408, "Request Timeout") == .over && PullAnswer(404, "No Messages") == .over)
      #expect(PullAnswer(503, "") == .noConsumer && PullAnswer(409, "Consumer Deleted") == .noConsumer)
      #expect(PullAnswer(409, "Exceeded MaxRequestBatch of 10") == .most(10))
      #expect(PullAnswer(409, "Exceeded MaxRequestExpires of 1m0.5s") == .longest(.seconds(60.5)))
      #expect(PullAnswer(409, "Exceeded MaxRequestExpires of 500ms") == .longest(.milliseconds(500)))
      #expect(PullAnswer(409, "Leadership Change") == .passing && PullAnswer(409, "Server Shutdown") == .passing)
      for (status, text) in [
        (409, "Exceeded MaxWaiting"), (409, "Exceeded MaxRequestBatch of 0"), (400, "Bad Request"),
      ] {
        #expect(PullAnswer(status, text) == .unknown)
      }
    }
  }
#endif
