#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// Tests of a publisher that sends a message to a stream again, because the server has not
  /// confirmed that it stored the first copy.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct StoreTests {
    /// If no receipt comes for a copy, the stream may have stored this copy nevertheless.
    @Test func aRefusalOfALaterCopySaysThatAnEarlierOneMayBeStored() async throws {
      let server = try NATSServer(hasStreams: false)
      let (nats, other) = (try await server.connect(publishTimeout: .seconds(30)), try await server.connect())
      let copies = Guarded(0)
      let isOver = OneShot<Void>()
      // Stands for a stream that does not answer the first copy, and refuses the later ones.
      let responder = try await other.plain.respond(to: "test.a", group: nil, inFlight: 8) { _ in
        let isFirst = copies.withLock { copies in
          copies += 1
          return copies == 1
        }
        if isFirst { await isOver.value }
        return RemoteMessage(body: Array(#"{"error":{"code":503,"description":"no room"}}"#.utf8))
      }
      let stream = NATSTransport(nats.engine, StreamName(name: "TEST", subjects: ["test.>"]))
      let error = await transportError { _ = try await stream.publish(RemoteMessage(), to: "test.a") }
      #expect(error?.code == .mayBeStored)
      #expect(
        error?.description
          == #"expected to store a message to test.a; the server says: "no room". An earlier copy of the message may be stored"#
      )
      #expect(copies.withLock { $0 } >= 2)
      let alone = await transportError { _ = try await stream.publish(RemoteMessage(), to: "test.a") }
      #expect(alone?.code == .refused)
      isOver.set(())
      responder.cancel()
      await nats.close()
      await other.close()
    }

    /// While the leader of a cluster has an earlier copy in hand, the answer to a later one is no
    /// receipt.
    @Test(arguments: [
      #"{"stream":"TEST","seq":0,"duplicate":true}"#,
      #"{"error":{"code":409,"err_code":10158,"description":"duplicate message id is in process"}}"#,
    ]) func aCopyInProgressIsNoReceipt(answer: String) async throws {
      let server = try NATSServer(hasStreams: false)
      let (nats, other) = (try await server.connect(publishTimeout: .seconds(2)), try await server.connect())
      let copies = Guarded(0)
      let responder = try await other.plain.respond(to: "test.*", group: nil, inFlight: 8) { message in
        let isEarly = copies.withLock { copies in
          copies += 1
          return copies < 3
        }
        let stored = #"{"stream":"TEST","seq":7,"duplicate":true}"#
        return RemoteMessage(body: Array((isEarly || message.subject == "test.never" ? answer : stored).utf8))
      }
      let stream = NATSTransport(nats.engine, StreamName(name: "TEST", subjects: ["test.>"]))
      #expect(try await stream.publish(RemoteMessage(), to: "test.a") == Receipt(position: 7, isDuplicate: true))
      #expect(copies.withLock { $0 } == 3)
      let error = await transportError { _ = try await stream.publish(RemoteMessage(), to: "test.never") }
      #expect(error?.code == .mayBeStored)
      responder.cancel()
      await nats.close()
      await other.close()
    }

    /// The server does not answer, because no stream stores the subject. Without the cancellation,
    /// the publish would wait for its whole time limit.
    @Test func aCancelledPublishEndsAtOnce() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect(publishTimeout: .seconds(600))
      let stream = NATSTransport(nats.engine, StreamName(name: "TEST", subjects: ["test.>"]))
      let publish = Task { await transportError { _ = try await stream.publish(RemoteMessage(), to: "test.a") } }
      try await eventually("expected a copy") { !nats.engine.pendingRequests.isEmpty }
      publish.cancel()
      #expect(await publish.value?.code == .mayBeStored)
      #expect(nats.engine.pendingRequests.isEmpty)
      await nats.close()
    }

    /// A cancelled call leaves nothing behind that waits for the server.
    @Test func aCallThatWaitsForTheServerEndsWithItsTask() async throws {
      let server = try NATSServer()
      let nats = try await server.connect(publishTimeout: .seconds(600))
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      server.end()
      try await eventually("expected a lost connection") { !nats.engine.isConnected }
      let calls: [@Sendable () async throws -> Void] = [
        { _ = try await stream.publish(RemoteMessage(), to: "test.a") },
        { _ = try await nats.plain.publish(RemoteMessage(), to: "test.a") },
        { _ = try await nats.plain.request(RemoteMessage(), to: "test.a", within: .seconds(600)) },
      ]
      for call in calls {
        let task = Task { try await call() }
        try await eventually("expected a wait") { nats.engine.state.withLock { $0.waiting.count } == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(nats.engine.state.withLock { $0.waiting.isEmpty })
      }
      await nats.close(within: .zero)
    }

    /// A cancelled call does not wait for a server that is silent. What the server takes after
    /// the cancellation ends.
    @Test func aListeningEndsWithItsTaskWhileTheServerIsSilent() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let calls: [@Sendable () async throws -> Void] = [
        {
          _ = try await nats.plain.subscribe("test.a", SubscribeOptions()) { _ in fatalError("nothing is begun here") }
        },
        { _ = try await nats.plain.respond(to: "test.a", group: nil, inFlight: 1) { $0 } },
      ]
      for call in calls {
        server.freeze()
        let task = Task { try await call() }
        try await Task.sleep(for: .milliseconds(50))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        server.thaw()
        try await Task.sleep(for: .milliseconds(50))
      }
      var code: TransportError.Code?
      for _ in 0..<100 where code != .noResponders {
        code =
          await transportError {
            _ = try await nats.plain.request(RemoteMessage(), to: "test.a", within: .milliseconds(100))
          }?.code
      }
      #expect(code == .noResponders, "something still listens")
      #expect(nats.engine.state.withLock { $0.kept.count } == 1)  // the engine's own, for replies
      await nats.close()
    }

    /// The timer of a limit that was not needed takes no memory until the limit.
    @Test func aLimitThatWasNotNeededIsForgotten() async {
      await #expect(processExitsWith: .success) {
        func run(_ count: Int) async {
          for _ in 0..<count {
            let value = OneShot<Void>()
            async let wait: Void = value.value(until: .now + .seconds(3_600), or: ())
            for _ in 0..<4 { await Task.yield() }
            value.set(())
            await wait
          }
        }
        await run(5_000)
        let before = SubscriptionTests.residentPages()
        await run(30_000)
        precondition(SubscriptionTests.isSanitized || SubscriptionTests.residentPages() - before < 1_000)
      }
    }

    /// The room for messages that are not sent yet is used up. A publish that waits for room ends
    /// with its task, and gets no room later.
    @Test func aPublishThatWaitsForRoomEndsWithItsTask() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect(publishTimeout: .seconds(600))
      let budget = nats.engine.budget
      #expect(await budget.take(PublishBudget.total, until: .now + .seconds(600)))
      let publish = Task { try await nats.plain.publish(RemoteMessage(), to: "test.a") }
      try await eventually("expected a wait") { budget.hasWaiters }
      publish.cancel()
      await #expect(throws: CancellationError.self) { try await publish.value }
      #expect(!budget.hasWaiters)
      budget.give(PublishBudget.total)
      #expect(await budget.take(PublishBudget.total, until: .now))
      await nats.close(within: .zero)
    }

    /// A publisher sends a message again (a *copy*) until a stream has confirmed it. If the send
    /// queue gives a copy up, for example because the message is too large for a slow connection,
    /// the publish ends: each further copy would have this size, too. The queue may give the copy
    /// up after the wait for the receipt has ended.
    @Test(arguments: [false, true]) func aCopyThatCannotBeSentEndsThePublish(mayBeStored: Bool) async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let stream = NATSTransport(nats.engine, StreamName(name: "TEST", subjects: ["test.>"]))
      let copy = OneShot<String?>()
      copy.set("too slow")
      let error = await transportError {
        _ = try await stream.canStoreAgain("test.a", after: copy, mayBeStored, false, until: .now + .seconds(30))
      }
      #expect(error?.code == (mayBeStored ? .mayBeStored : .refused))
      #expect(error?.description.hasPrefix("expected to publish to test.a; not sent: too slow") == true)
      await nats.close()
    }
  }
#endif
