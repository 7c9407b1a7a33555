import Combine
import CombineBridge
import Eventing
import Foundation
import Testing

/// Tests of the publisher of an observed value, and of forwards from publishers to events.
@Suite(.timeLimit(.minutes(5))) struct ObservedPublisherTests {
  @Test func theCurrentValueComesFirst() {
    let (value, subscriber) = (Observed(1), Demanding<Int>(.unlimited))
    value.publisher.subscribe(subscriber)
    value.value = 2
    value.value = 3
    #expect(subscriber.values == [1, 2, 3])
    subscriber.cancel()
    value.value = 4
    #expect(subscriber.values == [1, 2, 3])
    #expect(value.handlerCount == 0)
  }

  @Test func theLatestValueWaitsForDemand() {
    let (value, subscriber) = (Observed(1), Demanding<Int>(.none))
    value.publisher.subscribe(subscriber)
    value.value = 2
    value.value = 3
    #expect(subscriber.values == [])
    subscriber.request(.max(1))
    #expect(subscriber.values == [3])
    subscriber.request(.max(1))
    #expect(subscriber.values == [3])
    value.value = 4
    value.value = 5
    #expect(subscriber.values == [3, 4])
    subscriber.request(.unlimited)
    #expect(subscriber.values == [3, 4, 5])
  }

  @Test func demandThatIsRequestedInsideReceiveBringsTheLatestValueAfterIt() {
    let value = Observed(1)
    let subscriber = Demanding<Int>(.max(1)) { subscriber, seen in
      if seen == 1 {
        value.value = 2
        value.value = 3
        subscriber.request(.max(1))
      }
      return .none
    }
    value.publisher.subscribe(subscriber)
    #expect(subscriber.values.first == 1)
    #expect(subscriber.values.count == 2)
    #expect(subscriber.faults == [])
    subscriber.request(.max(1))
    #expect(subscriber.values.last == 3)
  }

  /// Checks that calls of `receive` do not overlap. While one thread is inside `receive`, a second
  /// thread requests another value. The second thread must not call `receive`. The first thread
  /// delivers the value after its call has returned.
  @Test func aRequestOnAnotherThreadDoesNotOverlapWithReceive() async {
    let (value, isInside, mayLeave, hasLeft) = (Observed(1), Gate(), Gate(), Gate())
    let subscriber = Demanding<Int>(.none) { _, seen in
      if seen == 1 {
        isInside.open()
        mayLeave.wait()
      }
      return .none
    }
    value.publisher.subscribe(subscriber)
    Thread.detachNewThread {
      subscriber.request(.max(1))
      hasLeft.open()
    }
    await isInside.opened()
    value.value = 2
    subscriber.request(.max(1))
    #expect(subscriber.values == [1])
    mayLeave.open()
    await hasLeft.opened()
    #expect(subscriber.values == [1, 2])
    #expect(subscriber.faults == [])
  }

  @Test func theLastValueArrivesWhicheverThreadSetsAndRequests() async {
    for _ in 0..<50 {
      let (value, subscriber) = (Observed(0), Demanding<Int>(.none))
      value.publisher.subscribe(subscriber)
      await concurrently(4) { index in
        for _ in 0..<50 { if index < 2 { subscriber.request(.max(1)) } else { value.update { $0 += 1 } } }
      }
      subscriber.request(.max(1))
      await value.quiesce()
      #expect(subscriber.values.last == 100)
      #expect(subscriber.values == subscriber.values.sorted())
      #expect(subscriber.values.count <= 101)
      #expect(subscriber.faults == [])
    }
  }

  @Test func aValueThatEndsCompletesItsPublisher() async {
    let subscriber = Demanding<Int>(.unlimited)
    do {
      let value = Observed(1)
      value.publisher.subscribe(subscriber)
      value.value = 2
    }
    #expect(await eventually { subscriber.completions == 1 })
    #expect(subscriber.values == [1, 2])
  }

  // MARK: Forwards

  @Test func aPublisherIsForwardedUntilItsCancellableIsReleased() {
    let (subject, event, seen) = (PassthroughSubject<Int, Never>(), Event<Int>(), ConditionLock<[Int]>([]))
    event.addHandler { value in seen.withLock { $0.append(value) } }
    var forward: AnyCancellable? = subject.forward(to: event)
    subject.send(1)
    withExtendedLifetime(forward) {}
    forward = nil
    subject.send(2)
    forward = subject.map { $0 * 10 }.forward(to: event)
    subject.send(3)
    subject.send(completion: .finished)
    event.post(4)
    #expect(seen.withLock { $0 } == [1, 30, 4])
    withExtendedLifetime(forward) {}
  }

  @Test func aForwardRetainsItsEventOnlyIfAsked() async {
    let (subject, live) = (PassthroughSubject<Int, Never>(), LiveCount())
    func event() -> Event<Int> {
      let (event, canary) = (Event<Int>(), Canary(live))
      event.addHandler { _ in canary.sing() }
      return event
    }
    let weakly = subject.forward(to: event())
    #expect(await eventually { live.alive == 0 })
    let strongly = subject.forward(to: event(), strongly: true)
    subject.send(1)
    #expect(live.alive == 1)
    strongly.cancel()
    #expect(await eventually { live.alive == 0 })
    weakly.cancel()
  }

  @Test func eventsAndPublishersGoRoundOnce() {
    let (first, second, seen) = (Event<Int>(), Event<Int>(), ConditionLock<[Int]>([]))
    second.addHandler { value in seen.withLock { $0.append(value) } }
    let forward = first.publisher.removeDuplicates().forward(to: second)
    for value in [1, 1, 2, 2, 1] { first.post(value) }
    #expect(seen.withLock { $0 } == [1, 2, 1])
    forward.cancel()
  }
}
