@testable import CombineBridge
import Eventing
import Testing

/// Tests of the subscription behind the publishers. OpenCombine replaces Combine.
///
/// The subscriptions of these tests keep the latest value. Nothing else retains it, because the
/// event does not replay.
@Suite(.timeLimit(.minutes(5))) struct SubscriptionTests {
  /// Subscribes to an event.
  private func subscribe<Payload>(_ subscriber: Demanding<Payload>, to event: Event<Payload>) {
    let subscription = EventSubscription(subscriber, keepsLatest: true)
    subscriber.receive(subscription: subscription)
    subscription.begin { event.addHandler(on: .inline, perform: $0) }
  }

  /// Checks the value that a subscription keeps. When the event finishes, the subscription
  /// completes (`.finished`) and drops the value. The subscription must unlock its mutex before it
  /// releases the value: the value's `deinit` cancels the subscription, and the cancelling takes
  /// that mutex.
  @Test func aValueThatTheCompletionDropsMayCancelInItsDeinit() {
    let (event, live, subscriber) = (Event<Canary>(), LiveCount(), Demanding<Canary>(.none))
    subscribe(subscriber, to: event)
    event.post(Canary(live) { subscriber.cancel() })
    #expect(live.alive == 1)
    event.finish()
    #expect(live.alive == 0)
    #expect(subscriber.completions == 1)
    #expect(subscriber.values.isEmpty)
  }

  /// Checks values that arrive while the subscriber is called with the first one.
  @Test(arguments: [0, 1, 62, 63, 64, 65, 127, 1_000])
  func valuesThatWaitForACallArriveInOrder(_ count: Int) {
    let (event, live, numbers) = (Event<(Int, Canary)>(), LiveCount(), ConditionLock<[Int]>([]))
    let subscriber = Demanding<(Int, Canary)>(.none) { subscriber, value in
      numbers.withLock { $0.append(value.0) }
      // `subscriber.request` below calls this closure, so no handler of the event is running. So
      // each of these posts calls the subscription's handler at once. That handler enqueues the
      // value, because the subscriber is still being called.
      if value.0 == 0 { for number in 0..<count { event.post((number + 1, Canary(live))) } }
      // The subscriber is being called with this value, and the later values wait in the
      // subscription.
      subscriber.forget()
      #expect(live.alive == count - value.0 + 1)
      return .none
    }
    subscribe(subscriber, to: event)
    event.post((0, Canary(live)))
    subscriber.request(.unlimited)
    #expect(numbers.withLock { $0 } == Array(0...count))
    #expect(subscriber.faults == [])
    #expect(live.alive == 0)
    subscriber.drop()
  }
}
