#if NATS
  import Eventing
  @testable import EventingNATS
  import EventingTransport
  import Testing

  /// When a subscription to a stream ends, it returns to the server the messages whose handling is
  /// not over. A subscription without a group also deletes its consumer, which is its own. Both
  /// happen before the connection is closed.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct StreamEndTests {
    private struct Endless: BegunMessage {
      var verdict: Verdict {
        get async {
          await pause(.seconds(30))
          return .done
        }
      }
    }

    /// Returns a subscription without a group that has 2,000 messages in hand: taken from its queue
    /// to be handled, and without a verdict.
    private func busySubscription(_ nats: NATS) async throws -> StreamSubscription {
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      var options = SubscribeOptions()
      options.inFlight = 40_000
      let subscription = try #require(
        try await stream.subscribe("test.a", options) { _ in Endless() } as? StreamSubscription)
      for position in 1...2_000 as ClosedRange<UInt64> {
        var message = RemoteMessage()
        message.position = position
        _ = subscription.inflow.append(Inflow.Item(message: message, reply: "a"), limit: .max)
        _ = subscription.inflow.take()
      }
      return subscription
    }

    /// A subscription without a group has its own consumer. If `drain(within:)` of the subscription
    /// did not delete the consumer, the server would keep it for minutes.
    @Test func aDrainEndsAfterTheMessagesInHandAreReturned() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let subscription = try await busySubscription(nats)
      await subscription.drain(within: .zero)
      #expect(subscription.state.withLock { $0.isForgotten })
      await nats.close()
    }

    @Test func aCloseAfterACancellationWaitsForItsMessages() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let subscription = try await busySubscription(nats)
      subscription.cancel()
      await nats.close()
      #expect(subscription.state.withLock { $0.isForgotten })
    }

    /// The server sends messages to a subscription until it knows that the subscription ends. The
    /// subscription returns these messages to the server. Otherwise the server would deliver them
    /// to another member only after 10 seconds.
    @Test func aMessageThatArrivesAfterTheEndHasBegunIsReturnedBeforeAClose() async throws {
      let server = try NATSServer()
      let proxy = try Proxy(to: server.port)
      let (nats, other) = (try await server.connect(through: proxy), try await server.connect())
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      var options = SubscribeOptions()
      options.group = "one"
      let subscription = try #require(
        try await stream.subscribe("test.a", options) { _ in Endless() } as? StreamSubscription)
      proxy.hold(until: "PING")  // libnats sends `PING` after it has asked for the end
      _ = try await other.stream("TEST", subjects: ["test.>"]).publish(RemoteMessage(), to: "test.a")
      try await eventually("expected a message on its way") { proxy.held.contains("$JS.ACK.TEST") }
      let returned = OneShot<UInt64?>()
      subscription.cancel { returned.set(subscription.state.withLock { $0.retreated.first }) }
      #expect(await returned.value == 1)
      await nats.close()
      await other.close()
    }

    /// No message arrives any more from a server that is away. So the end of the subscription does
    /// not wait for messages.
    @Test func anEndWaitsForNoMessagesOfALostConnection() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let subscription = try await busySubscription(nats)
      server.end()
      try await eventually("expected a lost connection") { !nats.engine.isConnected }
      let (steps, isOver) = (Guarded<[String]>([]), OneShot<Void>())
      let library = try #require(subscription.state.withLock { $0.library })
      library.end(delivered: { steps.withLock { $0.append("delivered") } })
      subscription.cancel {
        steps.withLock { $0.append("over") }
        isOver.set(())
      }
      await isOver.value
      #expect(steps.withLock { $0.first } == "over")
      await nats.close(within: .zero)
    }

    /// Two calls may end a subscription, for example `cancel` and `drain(within:)`. Each of them
    /// adds a closure, to be called when the subscription has reached a step of its end. At that
    /// step, a thread takes the first call's closure out, and then calls it. The second call may
    /// add its closure between these two. Nevertheless the second closure must be called after the
    /// first.
    @Test(arguments: [true, false]) func theStepsOfTwoEndsAreInOrder(areEnqueued: Bool) {
      var ending = SubscriptionEnding()
      let steps = Guarded<[Int]>([])
      func begin(_ number: Int) -> [@Sendable () -> Void] {
        let step: @Sendable () -> Void = { steps.withLock { $0.append(number) } }
        return areEnqueued ? ending.begin(step).due : ending.whenDelivered(step)
      }
      func take() -> [@Sendable () -> Void] { areEnqueued ? ending.enqueued() : ending.delivered() }
      #expect(begin(1).isEmpty)
      let first = take()
      for closure in begin(2) { closure() }
      for closure in first { closure() }
      for closure in take() { closure() }
      #expect(steps.withLock { $0 } == [1, 2])
      #expect(take().isEmpty && begin(3).count == 1)
    }

    /// When a subscription ends by `drain(within:)`, it returns its waiting messages to the server.
    /// The connection may be closed as soon as the drain has ended. If a return was not in the send
    /// queue by then, the close would drop the return.
    @Test func waitingMessagesThatAreReturnedDelayADrain() async throws {
      let inflow = Inflow(1)
      _ = inflow.append(Inflow.Item(message: RemoteMessage(), reply: "a"), limit: 4)
      let items = inflow.settleWaiting()
      #expect(items.count == 1 && inflow.count == 1 && inflow.end().isEmpty && inflow.count == 1)
      for item in items { inflow.finish(item) }
      #expect(inflow.count == 0)
    }

    /// With `inFlight` 1, the subscription returns a released message to the server, to be
    /// redelivered before all other messages. The subscription enqueues this return (`-NAK`) for
    /// sending, and a task awaits the server's confirmation. The return must be in the send queue
    /// before that task runs.
    @Test func aReturnInOrderIsEnqueuedAtOnce() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let subscription = try #require(
        try await stream.subscribe("test.a", SubscribeOptions()) { _ in Endless() } as? StreamSubscription)
      let before = nats.engine.pendingRequests.begin("a", until: .now, endsWhenLost: true).token
      let item = Inflow.Item(message: RemoteMessage(), reply: "b", consumer: subscription.config.name)
      subscription.giveBackInOrder([item])
      let after = nats.engine.pendingRequests.begin("a", until: .now, endsWhenLost: true).token
      #expect(after == before + 2)
      await nats.close()
    }
  }
#endif
