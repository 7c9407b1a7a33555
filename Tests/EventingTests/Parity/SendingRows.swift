import Eventing
import Testing

/// Tests of features 70 to 84 of AFFEvent, IKEvents and emitter-kit: sending.
@Suite(.fewAtATime) struct SendingRows {
  @Test("70: values are sent with and without waiting")
  func valuesAreSentWithAndWithoutWaiting() async {
    let (event, signal) = (Event<Int>(), Signal())
    let seen = Recorder<Int>()
    event.addHandler { seen.record($0) }
    signal.addHandler { seen.record(0) }
    event.post(1)
    await event.send(2)
    signal.post()
    await signal.send()
    #expect(seen.values == [1, 2, 0, 0])
  }

  @Test("71: any code that has the event may send")
  func anyCodeThatHasTheEventMaySend() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.addHandler { seen.record($0) }
    await onThread { event.post(1) }
    await Task.detached { event.post(2) }.value
    await MainActor.run { event.post(3) }
    #expect(seen.values == [1, 2, 3])
  }

  @Test("71: a source can only be listened to")
  func aSourceCanOnlyBeListenedTo() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let source: any EventSource<Int> = event.source  // has no `post`, and cannot be cast to the event
    source.addHandler { seen.record($0) }
    event.post(1)
    #expect(seen.values == [1])
    #expect(!(source is Event<Int>))
  }

  @Test("72: without handlers nothing happens, and the report says so")
  func withoutHandlersNothingHappensAndTheReportSaysSo() async {
    let event = Event<Int>()
    event.post(1)
    #expect(await event.send(2).reachedNobody)
    event.lock(event.addHandler { _ in })
    #expect(await event.send(3).reachedNobody)
    event.unlockAll()
    #expect(await !event.send(4).reachedNobody)
  }

  @Test("73: handlers are called in the order in which they were added")
  func handlersAreCalledInTheOrderInWhichTheyWereAdded() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    for number in 0..<1_000 { event.addHandler { _ in seen.record(number) } }
    event.addHandler(.priority(1)) { _ in seen.record(-1) }
    event.post(1)
    #expect(seen.values == [-1] + Array(0..<1_000))
  }

  @Test("74: a forward has its place among the handlers")
  func aForwardHasItsPlaceAmongTheHandlers() {
    let (event, next) = (Event<Int>(), Event<Int>())
    let seen = Recorder<String>()
    next.addHandler { _ in seen.record("next") }
    event.addHandler { _ in seen.record("before") }
    event.forward(to: next)
    event.addHandler { _ in seen.record("after") }
    event.post(1)
    #expect(seen.values == ["before", "next", "after"])
  }

  @Test("75: a nested send comes after the one that is being delivered")
  func aNestedSendComesAfterTheOneThatIsBeingDelivered() {
    let event = Event<Int>()
    let seen = Recorder<String>()
    event.addHandler { [weak event] number in
      seen.record("a\(number)")
      if number < 3 { event?.post(number + 1) }
    }
    event.addHandler { seen.record("b\($0)") }
    event.post(1)
    #expect(seen.values == ["a1", "b1", "a2", "b2", "a3", "b3"])
  }

  @Test("76: a target receives its own occurrences")
  func aTargetReceivesItsOwnOccurrences() async {
    let moved = KeyedEvent<Int, String>()
    let seen = Recorder<String>()
    moved[1].addHandler { seen.record("one \($0)") }
    moved[2].addHandler { seen.record("two \($0)") }
    moved.post("a", to: 1)
    #expect(await moved.send("b", to: 2).delivered == 1)
    #expect(await moved.submit("c", to: 3).report.reachedNobody)
    #expect(seen.values == ["one a", "two b"])
  }

  @Test("77: several targets are sent to each once")
  func severalTargetsAreSentToEachOnce() {
    let moved = KeyedEvent<Int, String>()
    let seen = Recorder<Int>()
    for key in 1...3 { moved[key].addHandler { _ in seen.record(key) } }
    moved.post("a", to: [3, 1, 3])
    #expect(seen.values == [3, 1])
  }

  @Test("77: several objects are sent to each once")
  func severalObjectsAreSentToEachOnce() {
    let didTouch = KeyedEvent<ObjectKey, Int>()
    let views = [Meter(), Meter()]
    for view in views { didTouch[view].addHandler { [weak view] in view?.read($0) } }
    didTouch.post(1, to: [views[0], views[1], views[0]].map(ObjectKey.init))
    #expect(views.map(\.readings.values) == [[1], [1]])
  }

  @Test("78: any string is a channel of its own")
  func anyStringIsAChannelOfItsOwn() {
    let messages = KeyedEvent<String, Int>()
    let seen = Recorder<String>()
    for key in ["0", "", "default"] { messages[key].addHandler { seen.record("\(key):\($0)") } }
    messages.untargeted.addHandler { seen.record("untargeted:\($0)") }
    messages.post(1, to: "0")
    messages.untargeted.post(2)
    messages.post(3, to: "")
    #expect(seen.values == ["0:1", "untargeted:2", ":3"])
  }

  @Test("78: an object is a target that is held weakly, and never taken for another")
  func anObjectIsATargetThatIsHeldWeaklyAndNeverTakenForAnother() async {
    let (didTouch, live) = (KeyedEvent<ObjectKey, Int>(), LiveCount())
    let calls = Counter()
    for _ in 0..<100 {
      let view = Meter(live)  // this view often gets the address of the last one, which is released
      #expect(await didTouch.send(0, to: view).reachedNobody)
      didTouch[view].addHandler { _ in calls.add() }
    }
    #expect(await eventually { live.alive == 0 })
    let (one, other) = (Lookalike(), Lookalike())
    didTouch[one].addHandler { _ in calls.add() }
    #expect(await didTouch.send(1, to: other).reachedNobody)
    #expect(calls.value == 0)
    withExtendedLifetime(one) {}
  }

  @Test("79: targeted and untargeted are apart")
  func targetedAndUntargetedAreApart() {
    let didTouch = KeyedEvent<String, Int>()
    let seen = Recorder<String>()
    didTouch["view"].addHandler { seen.record("view \($0)") }
    didTouch.untargeted.addHandler { seen.record("untargeted \($0)") }
    didTouch.anyKey.addHandler { key, touch in seen.record("any \(key) \(touch)") }
    didTouch.post(1, to: "view")
    didTouch.untargeted.post(2)
    didTouch.post(3, to: "other")
    #expect(seen.values == ["view 1", "any view 1", "untargeted 2", "any other 3"])
  }

  @Test("80: send waits for its handlers")
  func sendWaitsForItsHandlers() async {
    let event = Event<Int>()
    let (began, gate, order) = (Gate(), Gate(), Recorder<String>())
    event.addHandler { _ in
      began.open()
      await gate.opened()
      order.record("handler")
    }
    let sender = Task {
      await event.send(1)
      order.record("sender")
    }
    await began.opened()
    #expect(order.values == [])
    gate.open()
    await sender.value
    #expect(order.values == ["handler", "sender"])
  }

  @Test("81: post does not wait, and a ticket is awaited later")
  func postDoesNotWaitAndATicketIsAwaitedLater() async {
    let event = Event<Int>()
    let (gate, seen) = (Gate(), Recorder<Int>())
    event.addHandler { number in
      await gate.opened()
      seen.record(number)
    }
    event.post(1)
    let ticket = event.submit(2)
    #expect(seen.values == [])
    gate.open()
    #expect(await ticket.report.delivered == 1)
    #expect(seen.values == [1, 2])
  }

  @Test("82: a report counts the outcomes of a send")
  func aReportCountsTheOutcomesOfASend() async {
    let event = Event<Int>()
    event.addHandler { _ in }
    event.addHandler(on: .background) { _ in }
    event.lock(event.addHandler { _ in })
    let failing = event.addHandler(.named("fails")) { _ in throw Mishap() }
    let report = await event.send(1)
    #expect(report.description == "#1: 2 delivered, 1 skipped, 0 dropped, 0 deferred, 0 held, 1 failed")
    #expect(report.failures.map(\.handler) == [failing])
    let failure = #expect(throws: HandlerFailure.self) { try report.throwIfFailed() }
    #expect(failure?.error is Mishap)
  }

  @Test("83: an interceptor keeps an occurrence from the handlers after it")
  func anInterceptorKeepsAnOccurrenceFromTheHandlersAfterIt() async {
    let event = Event<Int>()
    let seen = Recorder<String>()
    event.addHandler { seen.record("before \($0)") }
    event.intercept { $0 < 0 ? .stop : .proceed }
    event.addHandler { seen.record("after \($0)") }
    event.addHandler(on: .background) { seen.record("lane \($0)") }
    #expect(await event.send(-1).skipped == 2)
    #expect(seen.values == ["before -1"])
    #expect(await event.send(1).delivered == 4)
  }

  @Test("84: an error of one handler stops no other")
  func anErrorOfOneHandlerStopsNoOther() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.addHandler { _ in throw Mishap() }
    event.addHandler { seen.record($0) }
    event.addHandler { _ async throws in throw Mishap() }
    event.addHandler { number async in seen.record(number) }
    let report = await event.send(1)
    #expect(seen.values == [1, 1])
    #expect(report.failures.count == 2)
  }
}
