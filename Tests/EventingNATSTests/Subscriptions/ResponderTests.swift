#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// No caller of a question waits for its time limit when no responder will answer.
  @Suite(.serialized, .timeLimit(.minutes(2))) struct ResponderTests {
    /// The engine calls `tick` of a responder many times a second. Each call reports the requests
    /// that were dropped since the last one. The end of the responder must report the requests that
    /// are dropped after the last call.
    @Test func anEndReportsTheLastDroppedRequests() async throws {
      let server = try NATSServer(hasStreams: false)
      let (nats, other) = (try await server.connect(), try await server.connect())
      let dropped = Guarded(0)
      nats.incidents.addHandler { incident in
        if incident.kind == .slowConsumer { dropped.withLock { $0 += incident.dropped } }
      }
      let isOver = OneShot<Void>()
      let responder = try await nats.plain.respond(to: "a", group: nil, inFlight: 1) { message in
        await isOver.value
        return message
      }
      nats.engine.remove(try #require(responder as? Responder))  // ends the calls of `tick`
      // One request runs, 4,096 wait, and the last two find no place.
      let refused = Guarded(0)
      let subscription = try await other.plain.subscribe("_INBOX.replies", SubscribeOptions()) { _ in
        refused.withLock { $0 += 1 }
        return Handled()
      }
      let raw = try RawClient(server.port)
      for _ in 0..<4_099 { raw.publish("a", reply: "_INBOX.replies", block: "NATS/1.0\r\n\r\n", body: "") }
      try raw.flush()
      try await eventually("expected 2 refusals, got \(refused.withLock { $0 })") { refused.withLock { $0 } == 2 }
      responder.cancel()
      try await eventually("expected 2, got \(dropped.withLock { $0 })") { dropped.withLock { $0 } == 2 }
      isOver.set(())
      subscription.cancel()
      await nats.close()
      await other.close()
    }

    private struct Handled: BegunMessage {
      var knownVerdict: Verdict? { .done }
      var verdict: Verdict { get async { .done } }
    }

    /// The server ends the connection of a client that sends too much.
    @Test func aReplyThatIsTooLargeIsAFailure() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let responder = try await nats.plain.respond(to: "a", group: nil, inFlight: 1) { _ in
        RemoteMessage(headers: ["A": String(repeating: "a", count: 2_000_000)])
      }
      let reply = try await nats.plain.request(RemoteMessage(), to: "a", within: .seconds(20))
      #expect(reply.headers["Eventing-Failure"] == "responderFailed")
      #expect(reply.headers["Eventing-Failure-Reason"]?.hasPrefix("expected an answer of at most ") == true)
      responder.cancel()
      await nats.close()
    }

    /// A program that may only ask names a subject of the server's own as the one for the reply, or
    /// one of the application. The responder must not use its rights for that program.
    @Test func aReplyGoesOnlyToAnInbox() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      for _ in 0..<3 { _ = try await stream.publish(RemoteMessage(), to: "test.a") }
      let (incidents, asked) = (Guarded<[TransportIncident]>([]), Guarded(0))
      nats.incidents.addHandler { incident in incidents.withLock { $0.append(incident) } }
      let done = RemoteQuestion<Int, Void>("done", over: nats.plain, codec: .json, answerCodec: .nothing)
      done.addResponder { _ in asked.withLock { $0 += 1 } }
      try await done.listen(as: "one")
      let raw = try RawClient(server.port)
      let own = "\(nats.engine.inboxPrefix).s1.1"
      let subjects = [
        "$JS.API.STREAM.PURGE.TEST", "$SYS.REQ.SERVER.PING", "$KV.a.b", "test.a", "_INBOX.*", "_INBOX.>", own,
      ]
      for subject in subjects { raw.publish("done", reply: subject, block: "NATS/1.0\r\n\r\n", body: "1") }
      try await eventually("expected an incident for each, got \(incidents.withLock { $0 })") {
        incidents.withLock { $0.reduce(0) { $0 + $1.dropped } } == subjects.count
      }
      #expect(incidents.withLock { $0.allSatisfy { $0.kind == .refused && $0.event == "done" } })
      try await done.firstAnswer(to: 1)  // the reply to the own inbox arrives
      #expect(asked.withLock { $0 } == 1)
      let info = try await nats.plain.request(RemoteMessage(), to: "$JS.API.STREAM.INFO.TEST", within: .seconds(20))
      #expect(String(decoding: info.body, as: UTF8.self).contains(#""messages":3,"#))
      await nats.close()
    }

    /// Several processes are asked. The refusal of one comes before the answer of another. If none
    /// has an answer, the first refusal is the result, after a short time.
    @Test func aRefusalDoesNotBeatALaterAnswer() async throws {
      let requests = PendingRequests()
      let refusal = Arrival(subject: "a", headers: ["Eventing-Failure": "noResponders"])
      func begin() -> (token: UInt64, outcome: OneShot<PendingRequests.Outcome>) {
        requests.begin("a", until: .now + .seconds(600), endsWhenLost: false)
      }
      let answered = begin()
      requests.reply(answered.token, refusal)
      requests.reply(answered.token, Arrival(subject: "a", body: [7]))
      guard case .reply(let first) = await answered.outcome.value, first.body == [7] else {
        Issue.record("expected the answer")
        return
      }
      let refused = begin()
      requests.reply(refused.token, refusal)
      requests.reply(refused.token, Arrival(subject: "b", headers: ["Eventing-Failure": "responderFailed"]))
      requests.expire(.now)
      #expect(requests.isPending(refused.token))
      requests.expire(.now + PendingRequests.graceTime)
      guard case .reply(let second) = await refused.outcome.value, second.subject == "a" else {
        Issue.record("expected the first refusal")
        return
      }
      #expect(requests.isEmpty)
    }

    /// One process is asked, and has no answer.
    @Test(arguments: [true, false]) func aRefusalEndsTheQuestionSoon(throwsError: Bool) async throws {
      struct Refused: Error {}
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let question = RemoteQuestion<Int, Int>("double", over: nats.plain)
      question.addResponder { _ in
        if throwsError { throw Refused() }
        return nil
      }
      try await question.listen()
      let code: TransportError.Code = throwsError ? .responderFailed : .noResponders
      #expect(await transportError { _ = try await question.firstAnswer(to: 21, within: .seconds(600)) }?.code == code)
      await nats.close()
    }

    /// One query has begun, and two wait on the lane of the responder.
    @Test func aCloseRefusesTheQueriesThatWaitOnALane() async throws {
      let server = try NATSServer(hasStreams: false)
      let (nats, other) = (try await server.connect(), try await server.connect())
      let answering = RemoteQuestion<Int, Int>("double", over: nats.plain)
      let (begun, isOver) = (Guarded(0), OneShot<Void>())
      answering.addResponder { number in
        begun.withLock { $0 += 1 }
        await isOver.value
        return number * 2
      }
      let listening = try await answering.listen(as: "one")
      let responder = try #require(nats.engine.state.withLock { $0.subscriptions.values.first } as? Responder)
      let asking = RemoteQuestion<Int, Int>("double", over: other.plain)
      let calls = (0..<3).map { number in
        Task { await transportError { _ = try await asking.firstAnswer(to: number, within: .seconds(600)) }?.code }
      }
      try await eventually("expected three queries, one of them begun") {
        responder.inHandCount == 3 && begun.withLock { $0 } == 1
      }
      await nats.close(within: .milliseconds(1))
      // The caller of the query that has begun is told that no answer will come.
      var codes: [TransportError.Code: Int] = [:]
      for call in calls { if let code = await call.value { codes[code, default: 0] += 1 } }
      #expect(codes == [.noResponders: 2, .responderFailed: 1])
      isOver.set(())
      withExtendedLifetime(listening) {}
      await other.close()
      #expect(begun.withLock { $0 } == 1)
    }

    /// One query runs, 4,096 wait, and 103 find no place.
    @Test func queriesWithoutAResponderAreRefusedAtOnce() async throws {
      let server = try NATSServer(hasStreams: false)
      let (nats, other) = (try await server.connect(), try await server.connect())
      let asking = RemoteQuestion<Int, Int>("double", over: nats.plain)
      let answering = RemoteQuestion<Int, Int>("double", over: other.plain)
      let (begun, isOver) = (Guarded(0), Guarded(false))
      answering.addResponder { number in
        begun.withLock { $0 += 1 }
        while !isOver.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
        return number * 2
      }
      let listening = try await answering.listen(as: "doublers", inFlight: 1)
      let (refused, answered) = (Guarded(0), Guarded(0))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<4_200 {
          group.addTask {
            let error = await transportError {
              _ = try await asking.firstAnswer(to: number, within: .seconds(100))
              answered.withLock { $0 += 1 }
            }
            if error?.code == .noResponders { refused.withLock { $0 += 1 } }
          }
        }
        try await eventually("expected 103 without a place, got \(refused.withLock { $0 })") {
          refused.withLock { $0 } == 103
        }
        try await eventually("expected that a query begins") { begun.withLock { $0 } == 1 }
        listening.cancel()
        try await eventually("expected 4,199 refusals, got \(refused.withLock { $0 })") {
          refused.withLock { $0 } == 4_199
        }
        #expect(answered.withLock { $0 } == 0 && begun.withLock { $0 } == 1)
        isOver.withLock { $0 = true }  // a query that has begun is answered
        try await group.waitForAll()
      }
      #expect(answered.withLock { $0 } == 1)
      await nats.close()
      await other.close()
    }
  }
#endif
