import Combine
import CombineBridge
import Eventing
import Testing

/// Tests of the publisher of an event. The module `Combine` is OpenCombine here.
@Suite(.timeLimit(.minutes(5))) struct PublisherTests {
  @Test func oneSubscriptionIsOneHandlerWhichCancellingRemoves() {
    let event = Event<Int>()
    let publisher = event.publisher
    #expect(event.handlerCount == 0)
    let (one, two) = (Demanding<Int>(.unlimited), Demanding<Int>(.unlimited))
    publisher.subscribe(one)
    publisher.subscribe(two)
    #expect(event.handlerCount == 2)
    event.post(1)
    one.cancel()
    one.cancel()
    #expect(event.handlerCount == 1)
    event.post(2)
    two.cancel()
    #expect(event.handlerCount == 0)
    #expect(one.values == [1])
    #expect(two.values == [1, 2])
    #expect(one.completions + two.completions == 0)
  }

  @Test(arguments: [0, 1, 3]) func valuesWithoutDemandAreDropped(_ demand: Int) {
    let (event, subscriber) = (Event<Int>(), Demanding<Int>(.max(demand)))
    event.publisher.subscribe(subscriber)
    for value in 1...5 { event.post(value) }
    #expect(subscriber.values == Array((1...5).prefix(demand)))
    subscriber.request(.max(1))
    #expect(subscriber.values.count == demand)
    event.post(6)
    event.post(7)
    #expect(subscriber.values == Array((1...5).prefix(demand)) + [6])
  }

  @Test func demandThatReceiveReturnsIsAdded() {
    let event = Event<Int>()
    let subscriber = Demanding<Int>(.max(1)) { _, value in value < 3 ? .max(1) : .none }
    event.publisher.subscribe(subscriber)
    for value in 1...5 { event.post(value) }
    #expect(subscriber.values == [1, 2, 3])
  }

  @Test func demandMayBeRequestedInsideReceive() {
    let event = Event<Int>()
    let subscriber = Demanding<Int>(.max(1)) { subscriber, value in
      if value == 1 { subscriber.request(.max(2)) }
      return .none
    }
    event.publisher.subscribe(subscriber)
    for value in 1...5 { event.post(value) }
    #expect(subscriber.values == [1, 2, 3])
    #expect(subscriber.faults == [])
  }

  @Test func cancellingInsideReceiveEndsIt() {
    let event = Event<Int>()
    let subscriber = Demanding<Int>(.unlimited) { subscriber, value in
      if value == 2 { subscriber.cancel() }
      return .unlimited
    }
    event.publisher.subscribe(subscriber)
    for value in 1...5 { event.post(value) }
    event.finish()
    #expect(subscriber.values == [1, 2])
    #expect(subscriber.completions == 0)
    #expect(event.handlerCount == 0)
  }

  @Test func aSubscriberThatCancelsWhenItSubscribesAddsNoHandler() {
    final class Refusing: Subscriber {
      func receive(subscription: any Subscription) { subscription.cancel() }
      func receive(_ input: Int) -> Subscribers.Demand { .none }
      func receive(completion: Subscribers.Completion<Never>) {}
    }
    let event = Event<Int>()
    event.publisher.subscribe(Refusing())
    #expect(event.handlerCount == 0)
  }

  @Test func aPostInsideReceiveComesAfterIt() {
    let event = Event<Int>()
    let subscriber = Demanding<Int>(.unlimited) { _, value in
      if value < 100 { event.post(value + 1) }
      return .none
    }
    event.publisher.subscribe(subscriber)
    event.post(0)
    #expect(subscriber.values == Array(0...100))
    #expect(subscriber.faults == [])
  }

  @Test func thePublisherCompletesOnceWhenTheEventFinishes() {
    let (event, subscriber) = (Event<Int>(), Demanding<Int>(.unlimited))
    event.publisher.subscribe(subscriber)
    event.post(1)
    event.finish()
    event.finish()
    event.post(2)
    #expect(subscriber.values == [1])
    #expect(subscriber.completions == 1)
    // A publisher's completion (`.finished`) needs no demand. After the event has finished, a new
    // subscriber receives the completion at once.
    let late = Demanding<Int>(.none)
    event.publisher.subscribe(late)
    #expect(late.completions == 1)
  }

  @Test func finishingInsideReceiveCompletesAfterTheValue() {
    let event = Event<Int>()
    let subscriber = Demanding<Int>(.unlimited) { _, value in
      if value == 1 { event.finish() }
      return .none
    }
    event.publisher.subscribe(subscriber)
    event.post(1)
    #expect(subscriber.values == [1])
    #expect(subscriber.completions == 1)
    #expect(subscriber.faults == [])
  }

  @Test func thePublisherCompletesWhenTheEventIsReleased() async {
    let subscriber = Demanding<Int>(.unlimited)
    do {
      let event = Event<Int>()
      event.publisher.subscribe(subscriber)
      event.post(1)
    }
    #expect(await eventually { subscriber.completions == 1 })
    #expect(subscriber.values == [1])
  }

  @Test func theOperatorsOfCombineApply() {
    let (event, seen) = (Event<Int>(), ConditionLock<[String]>([]))
    @Sendable func see(_ text: String) { seen.withLock { $0.append(text) } }
    let cancellable = event.publisher.filter { $0 > 1 }.map { "\($0)" }.sink { see($0) }
    for value in 1...3 { event.post(value) }
    cancellable.cancel()
    event.post(4)
    #expect(seen.withLock { $0 } == ["2", "3"])
    // A view of an event is a publisher, too.
    let evens = event.filter { $0.isMultiple(of: 2) }.publisher.sink { see("even \($0)") }
    event.post(5)
    event.post(6)
    #expect(seen.withLock { $0 } == ["2", "3", "even 6"])
    evens.cancel()
  }

  // MARK: Threads

  @Test func aValueOfEachThreadArrivesOnceAndNoCallsOverlap() async {
    let (event, subscriber) = (Event<Int>(), Demanding<Int>(.unlimited))
    event.publisher.subscribe(subscriber)
    await concurrently(4) { index in for number in 0..<500 { event.post(index * 500 + number) } }
    await event.quiesce()
    #expect(subscriber.values.sorted() == Array(0..<2_000))
    for index in 0..<4 {
      let own = subscriber.values.filter { $0 / 500 == index }
      #expect(own == own.sorted())
    }
    #expect(subscriber.faults == [])
  }

  /// Checks that as many values arrive as all threads together have requested.
  @Test func demandFromSeveralThreadsIsHonoured() async {
    let (event, subscriber) = (Event<Int>(), Demanding<Int>(.none))
    event.publisher.subscribe(subscriber)
    await concurrently(4) { index in
      for number in 0..<300 {
        if index < 2 { subscriber.request(.max(1)) } else { event.post(number) }
      }
    }
    await event.quiesce()
    let before = subscriber.values.count
    #expect(before <= 600)
    for number in 0..<700 { event.post(number) }
    await event.quiesce()
    #expect(subscriber.values.count == 600)
    #expect(subscriber.faults == [])
  }

  @Test func cancellingWhileThreadsPostLeavesNothing() async {
    for _ in 0..<100 {
      let (event, subscriber) = (Event<Int>(), Demanding<Int>(.unlimited))
      event.publisher.subscribe(subscriber)
      await concurrently(3) { index in
        if index == 0 { subscriber.cancel() } else { for number in 0..<20 { event.post(number) } }
      }
      await event.quiesce()
      let count = subscriber.values.count
      event.post(0)
      #expect(subscriber.values.count == count)
      #expect(event.handlerCount == 0)
      #expect(subscriber.faults == [])
    }
  }

  @Test func finishingAndCancellingAtOnceCompletesOnceAtMost() async {
    for _ in 0..<100 {
      let (event, subscriber) = (Event<Int>(), Demanding<Int>(.unlimited))
      event.publisher.subscribe(subscriber)
      await concurrently(3) { index in
        switch index {
        case 0: event.finish()
        case 1: subscriber.cancel()
        default: event.post(1)
        }
      }
      await event.quiesce()
      #expect(subscriber.completions <= 1)
      #expect(subscriber.faults == [])
    }
  }

  @Test func subscribingWhileTheEventFinishesCompletes() async {
    for _ in 0..<100 {
      let event = Event<Int>()
      let subscriber = Demanding<Int>(.unlimited)
      await concurrently(2) { index in
        if index == 0 { event.finish() } else { event.publisher.subscribe(subscriber) }
      }
      #expect(await eventually { subscriber.completions == 1 })
      #expect(subscriber.faults == [])
    }
  }

  @Test func nothingLeaks() async {
    let live = LiveCount()
    do {
      let event = Event<Canary>()
      let cancelled = Demanding<Canary>(.unlimited)
      let canary = Canary(live)
      let subscriber = Demanding<Canary>(.unlimited) { _, value in
        canary.sing()
        value.sing()
        return .none
      }
      event.publisher.subscribe(cancelled)
      event.publisher.subscribe(subscriber)
      event.post(Canary(live))
      cancelled.cancel()
      for subscriber in [subscriber, cancelled] { subscriber.drop() }
    }
    #expect(await eventually { live.alive == 0 })
  }
}
