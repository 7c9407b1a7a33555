import Dispatch
import Eventing
import Testing

/// Tests of features 36 to 44 of AFFEvent, IKEvents and emitter-kit: handlers that are called once.
@Suite(.fewAtATime) struct OneTimeRows {
  @Test("36: a once closure is called once")
  func aOnceClosureIsCalledOnce() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.once { seen.record($0) }
    event.addHandler(.once) { seen.record(10 * $0) }
    event.addHandler(.once) { seen.record(100 * $0) }
    for number in 1...3 { event.post(number) }
    #expect(seen.values == [1, 10, 100])
    #expect(event.handlerCount == 0)
  }

  @Test("37: a once method is called once")
  func aOnceMethodIsCalledOnce() {
    let (event, meter) = (Event<Int>(), Meter())
    event.addHandler(.once, owner: meter) { $0.read($1) }
    for number in 1...3 { event.post(number) }
    #expect(meter.readings.values == [1])
  }

  @Test("38: a once handler runs on its delivery")
  func aOnceHandlerRunsOnItsDelivery() async {
    let event = Event<Int>()
    let seen = Recorder<String>()
    event.once(on: .background) { _ in seen.record("background") }
    event.once(on: .queue(DispatchQueue(label: "own"))) { _ in seen.record("queue") }
    event.once(on: .main) { _ in seen.record("main") }
    event.once { _ async in seen.record("async") }
    event.once(on: .task) { _ in seen.record("task") }
    for number in 1...3 { await event.send(number) }
    #expect(seen.values.sorted() == ["async", "background", "main", "queue", "task"])
  }

  @Test("39: a once handler may have an owner")
  func aOnceHandlerMayHaveAnOwner() async {
    let (event, meter) = (Event<Int>(), Meter())
    event.addHandler(.once, owner: meter) { meter, value in meter.read(value) }
    event.addHandler(.once, on: .background, owner: meter) { meter, value in meter.read(value) }
    for number in 1...3 { await event.send(number) }
    #expect(meter.readings.values == [1, 1])
  }

  @Test("39: a once handler may have a target")
  func aOnceHandlerMayHaveATarget() {
    let (didTouch, view) = (KeyedEvent<ObjectKey, Int>(), Meter())
    didTouch[view].once { [weak view] touch in view?.read(touch) }
    for number in 1...3 { didTouch.post(number, to: view) }
    #expect(view.readings.values == [1])
  }

  @Test("40: a once handler that posts is not called again")
  func aOnceHandlerThatPostsIsNotCalledAgain() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.once { [weak event] number in
      seen.record(number)
      event?.post(number + 1)
    }
    event.post(1)
    #expect(seen.values == [1])
  }

  @Test("41: a once handler is called once under concurrent sends")
  func aOnceHandlerIsCalledOnceUnderConcurrentSends()
    async
  {
    let event = Event<Int>()
    for _ in 0..<100 {
      let (inline, background) = (Counter(), Counter())
      event.once { _ in inline.add() }
      event.once(on: .background) { _ in background.add() }
      await onThreads(4) { _ in event.post(1) }
      await event.quiesce()
      #expect(inline.value == 1)
      #expect(background.value == 1)
    }
  }

  @Test("42: a locked once handler is not used up")
  func lockedOnceIsNotUsedUp() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let token = event.once { seen.record($0) }
    event.lock(token)
    #expect(await event.send(1).skipped == 1)
    event.unlock(token)
    event.post(2)
    event.post(3)
    #expect(seen.values == [2])
  }

  @Test("43: a once handler is kept until it is called, and released then")
  func aOnceHandlerIsKeptUntilItIsCalledAndReleasedThen() async {
    let (event, live) = (Event<Int>(), LiveCount())
    event.once { [canary = Canary(live)] _ in canary.sing() }
    event.lock()
    event.post(1)
    #expect(live.alive == 1)
    event.unlock()
    event.post(2)
    #expect(live.alive == 0)
  }

  @Test("43: a once handler goes with its owner")
  func aOnceHandlerGoesWithItsOwner() async {
    let (event, live) = (Event<Int>(), LiveCount())
    do {
      let meter = Meter(live)
      event.addHandler(.once, owner: meter) { _, _ in }
      withExtendedLifetime(meter) { #expect(event.handlerCount == 1) }
    }
    #expect(await eventually { live.alive == 0 })
    #expect(event.handlerCount == 0)
    #expect(await event.send(1).delivered == 0)
  }

  /// A deliberate difference from AFFEvent, IKEvents and emitter-kit: a once handler that is used
  /// up stays used up. Its `Handler` value can be added again.
  @Test("44: a used once handler is gone, and added again as a value")
  func aUsedOnceHandlerIsGoneAndAddedAgainAsAValue() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let handler = Handler<Int>(.once) { seen.record($0) }
    let used = event.add(handler)
    event.post(1)
    #expect(!event.unlock(used))
    event.post(2)
    event.add(handler)
    event.post(3)
    #expect(seen.values == [1, 3])
  }
}
