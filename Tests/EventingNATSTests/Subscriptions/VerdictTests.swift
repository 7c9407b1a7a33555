#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// A verdict is in the send queue before `drain(within:)` of its subscription returns. A
  /// *heartbeat* tells the server that a message is still being handled; none is sent after the
  /// verdict on that message.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct VerdictTests {
    /// A subscription that calls a closure for each verdict.
    private final class Subscription: InflowSubscription {
      let inflow = Inflow(4)
      let options = SubscribeOptions()
      let begin: @Sendable (RemoteMessage) -> any BegunMessage = { _ in Handled() }
      let engine: Engine
      let filter = "a"
      let streamName: String? = nil
      let applied: @Sendable (Inflow) -> Void

      init(_ engine: Engine, _ applied: @escaping @Sendable (Inflow) -> Void) {
        self.engine = engine
        self.applied = applied
      }

      func apply(_ verdict: Verdict, to item: Inflow.Item) { applied(inflow) }
      func lookedReady(_ isReady: Bool) {}
      func endDelivery(returning items: [Inflow.Item], _ next: @escaping @Sendable () -> Void) { next() }
      func tick(_ now: ContinuousClock.Instant) {}
      func reconnected() {}
      func drain(within limit: Duration) async { await inflow.drain(within: limit) }
    }

    private struct Handled: BegunMessage {
      var knownVerdict: Verdict? { .done }
      var verdict: Verdict { get async { .done } }
    }

    /// The connection may be closed as soon as `drain(within:)` has returned. If the verdict was
    /// not in the send queue by then, the close would drop the verdict.
    @Test func aDrainEndsAfterTheVerdictIsOnItsWay() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let counts = Guarded<[Int]>([])
      let returned = Guarded(0)
      let subscription = Subscription(nats.engine) { inflow in
        let before = inflow.count
        let items = inflow.end()  // `end()` does not return messages that have a verdict
        let after = inflow.count
        returned.withLock { $0 += items.count }
        counts.withLock { $0 += [before, after] }
      }
      _ = subscription.inflow.append(Inflow.Item(message: RemoteMessage(), reply: nil), limit: 4)
      subscription.wake()
      await subscription.drain(within: .seconds(30))
      #expect(counts.withLock { $0 } == [1, 1] && returned.withLock { $0 } == 0)
      #expect(subscription.inflow.count == 0)
      await nats.close()
    }

    private struct Failing: BegunMessage {
      let isOver: Guarded<Bool>
      var verdict: Verdict {
        get async {
          while !isOver.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(5)) }
          return .retry(after: .seconds(600))
        }
      }
    }

    /// The test asks for a heartbeat for a message that already has a verdict, and expects that
    /// none is sent. A heartbeat after the verdict would make the server forget the retry's delay
    /// of 600 s, and redeliver the message after 10 s.
    @Test func noHeartbeatFollowsAVerdict() async throws {
      let server = try NATSServer()
      let (nats, other) = (try await server.connect(), try await server.connect())
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let received = Guarded<[String]>([])
      let verdicts = try await onOwnThread {
        try other.engine.connection.subscribe("$JS.ACK.>", group: nil, limit: nil) { arrival in
          received.withLock { $0.append(String(decoding: arrival.body, as: UTF8.self)) }
        }
      }
      let (begun, isOver) = (Guarded(0), Guarded(false))
      var options = SubscribeOptions()
      options.group = "one"
      let made = try await stream.subscribe("test.a", options) { _ in
        begun.withLock { $0 += 1 }
        return Failing(isOver: isOver)
      }
      let subscription = try #require(made as? StreamSubscription)
      _ = try await stream.publish(RemoteMessage(), to: "test.a")
      try await eventually("expected a begun message") { begun.withLock { $0 } == 1 }
      let items = subscription.inflow.items
      subscription.beat(items)
      try await eventually("expected a heartbeat") { received.withLock { $0.contains("+WPI") } }
      isOver.withLock { $0 = true }
      try await eventually("expected a verdict") { received.withLock { $0.contains { $0.hasPrefix("-NAK") } } }
      subscription.beat(items)
      nats.engine.sendQueue.send(Outgoing(subject: "$JS.ACK.end", body: Array("end".utf8)))
      try await eventually("expected the end") { received.withLock { $0.last == "end" } }
      #expect(received.withLock { $0.drop { $0 == "+WPI" } } == [#"-NAK {"delay":600000000000}"#, "end"])
      verdicts.end()
      await nats.close()
      await other.close()
    }
  }
#endif
