#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// A verdict is on its way before anything follows from it.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct VerdictTests {
    /// A subscription whose verdicts go to a closure.
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
      func giveBack(_ items: [Inflow.Item]) {}
      func endDelivery(_ next: @escaping @Sendable () -> Void) { next() }
      func forget() {}
      func tick(_ now: ContinuousClock.Instant) {}
      func reconnected() {}
      func drain(within limit: Duration) async { await inflow.drain(within: limit) }
    }

    private struct Handled: BegunMessage {
      var knownVerdict: Verdict? { .done }
      var verdict: Verdict { get async { .done } }
    }

    /// A close follows a drain. If the drain ended first, the close would drop the verdict.
    @Test func aDrainEndsAfterTheVerdictIsOnItsWay() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let counts = Guarded<[Int]>([])
      let returned = Guarded(0)
      let subscription = Subscription(nats.engine) { inflow in
        let before = inflow.count
        let items = inflow.end()  // returns no message that has a verdict
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
  }
#endif
