import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of the ends of subscriptions, responders and the engine in memory, while other work comes
/// in.
@Suite(.timeLimit(.minutes(10))) struct MemoryEndTests {
  private struct Handled: BegunMessage {
    var knownVerdict: Verdict? { .done }
    var verdict: Verdict { get async { .done } }
  }

  /// Closes the engine while a subscription is being made. The engine compares the subject with
  /// many filters, so that the end usually comes in the middle.
  @Test func noSubscriptionOutlivesTheEngine() async throws {
    let subjects = (0..<2_000).map { "other.\($0)" } + ["numbers"]
    for _ in 0..<20 {
      let bus = InMemoryTransport(subjects: subjects)
      let isSubscribing = Guarded(false)
      let subscribing = Task(executorPreference: EventContext.executor) {
        isSubscribing.withLock { $0 = true }
        return try await bus.subscribe("numbers", SubscribeOptions()) { _ in Handled() }
      }
      while !isSubscribing.withLock({ $0 }) { await Task.yield() }
      await bus.close()
      let result = await subscribing.result
      #expect(bus.subscriptionCount == 0)
      if case .failure(let error) = result { #expect((error as? TransportError)?.code == .closed) }
    }
  }
}
