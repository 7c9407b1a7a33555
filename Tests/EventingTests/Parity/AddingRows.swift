import Eventing
import Testing

/// Tests of features 21 to 35 of AFFEvent, IKEvents and emitter-kit: adding handlers.
@Suite(.fewAtATime) struct AddingRows {
  @Test("21: a closure may wait and may throw")
  func aClosureMayWaitAndMayThrow() async {
    let event = Event<Int>()
    event.addHandler { _ in }
    event.addHandler { _ in throw Mishap(number: 1) }
    event.addHandler { _ in await Task.yield() }
    event.addHandler { _ in
      await Task.yield()
      throw Mishap(number: 2)
    }
    let report = await event.send(1)
    #expect(report.delivered == 2)
    #expect(report.failures.map { $0.error as? Mishap } == [Mishap(number: 1), Mishap(number: 2)])
  }

  @Test("22: a method is a handler and does not keep its owner")
  func aMethodIsAHandlerAndDoesNotKeepItsOwner() async {
    let (event, live) = (Event<Int>(), LiveCount())
    do {
      let meter = Meter(live)
      event.addHandler(owner: meter) { $0.read($1) }
      event.post(1)
      #expect(meter.readings.values == [1])
    }
    #expect(await eventually { live.alive == 0 })
    #expect(await event.send(2).reachedNobody)
  }

  @Test("22: a handler runs on an actor")
  func aHandlerRunsOnAnActor() async {
    let (event, account) = (Event<Int>(), Account())
    event.addHandler(isolatedTo: account) { account, amount in account.total += amount }
    await event.send(3)
    #expect(await account.total == 3)
  }

  @Test("23: extra arguments are bound to a method")
  func extraArgumentsAreBoundToAMethod() async {
    let (event, meter) = (Event<Int>(), Meter())
    event.addHandler(owner: meter) { $0.note($1, 3, "volts") }
    event.addHandler(on: .background, owner: meter) { $0.note($1, 4, "amperes") }
    event.addHandler(owner: meter) { await $0.noteLater($1, 5, "ohms") }
    event.addHandler(on: .main, owner: meter) { $0.noteOnMain($1, 6, "watts") }
    await event.send(2)
    #expect(meter.notes.values.sorted() == ["10 ohms", "12 watts", "6 volts", "8 amperes"])
  }

  @Test("23: extra arguments are captured by a closure")
  func extraArgumentsAreCapturedByAClosure() {
    let event = Event<Int>()
    let (notes, factor, unit) = (Recorder<String>(), 3, "volts")
    event.addHandler { value in notes.record("\(value * factor) \(unit)") }
    event.post(2)
    #expect(notes.values == ["6 volts"])
  }

  @Test("24: an anonymous handler has a token like every other")
  func anAnonymousHandlerHasATokenLikeEveryOther() async {
    let event = Event<Int>()
    let token = event.addHandler { _ in }
    #expect(await event.handlers().map(\.name) == [nil])
    #expect(await event.handlers().map(\.id) == [token.id])
    #expect(event.remove(token))
  }

  @Test("25: any handler may have a name")
  func anyHandlerMayHaveAName() async {
    let (event, meter) = (Event<Int>(), Meter())
    event.addHandler(.named("closure")) { _ in }
    event.addHandler(.named("queue"), on: .background) { _ in }
    event.addHandler(.named("async")) { _ async in }
    event.addHandler(.named("main"), on: .main) { _ in }
    event.addHandler(.named("owner"), owner: meter) { _, _ in }
    event.addHandler(.named("method"), owner: meter) { $0.read($1) }
    event.once(.named("once")) { _ in }
    #expect(await event.handlers().map(\.name) == ["closure", "queue", "async", "main", "owner", "method", "once"])
    withExtendedLifetime(meter) {}
  }

  @Test("26: handlers may share a name, which then means all of them")
  func handlersMayShareANameThatThenMeansAllOfThem() async {
    let event = Event<Int>()
    for _ in 0..<3 { event.addHandler(.named("x")) { _ in } }
    event.addHandler(.named("y")) { _ in }
    #expect(event.lockAll(where: .named("x")) == 3)
    #expect(await event.send(1).delivered == 1)
    #expect(event.unlockAll(where: .named("x")) == 3)
    #expect(event.removeAll(where: .named("x")) == 3)
    #expect(event.handlerCount == 1)
  }

  @Test("27: a handler that is added twice is called twice")
  func aHandlerThatIsAddedTwiceIsCalledTwice() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let handler = Handler<Int> { seen.record($0) }
    let (first, second) = (event.add(handler), event.add(handler))
    event.post(1)
    #expect(event.remove(first))
    event.post(2)
    #expect(seen.values == [1, 1, 2])
    #expect(event.contains(second))
  }

  @Test("28: handlers are values with chained modifiers, and added as a group")
  func handlersAreValuesWithChainedModifiersAndAddedAsAGroup() async {
    let event = Event<Int>()
    let audit = Handler<Int>(.named("audit"), .tagged("io"), .priority(2), on: .background(.utility)) { _ in }
    let tokens = event.add(audit, Handler(.once, .named("first")) { _ in }, audit.with(.named("again")))
    let handlers = await event.handlers()
    #expect(handlers.map(\.name) == ["audit", "again", "first"])
    #expect(handlers.map(\.isOnce) == [false, false, true])
    #expect(handlers.map(\.tags) == [["io"], ["io"], []])
    #expect(handlers.map(\.id) == [tokens[0].id, tokens[2].id, tokens[1].id])
  }

  @Test("28: every handler of a group sees an occurrence or none")
  func everyHandlerOfAGroupSeesAnOccurrenceOrNone()
    async
  {
    let event = Event<Int>()
    let isOver = Gate()
    let posting = startThread { while !isOver.isOpen { event.post(1) } }
    for _ in 0..<200 {
      let calls = [Recorder<UInt64>(), Recorder<UInt64>()]
      let tokens = event.occurrences.add(contentsOf: calls.map { calls in Handler { calls.record($0.sequence) } })
      await event.send(0)
      #expect(calls[0].count > 0)
      #expect(calls[0].values.first == calls[1].values.first)
      event.removeAll(where: .oneOf(tokens))
    }
    isOver.open()
    await posting.opened()
  }

  @Test("29: every add returns a token of its own")
  func everyAddReturnsATokenOfItsOwn() async {
    let (event, meter) = (Event<Int>(), Meter())
    var tokens = [
      event.addHandler { _ in }, event.once { _ in }, event.addHandler(owner: meter) { $0.read($1) },
      event.intercept { _ in .proceed },
    ]
    tokens += event.add(Handler { _ in }, Handler { _ in }) + [event.forward(to: event)]
    #expect(Set(tokens).count == 7)
    #expect(tokens.allSatisfy { event.contains($0) })
    withExtendedLifetime(meter) {}
  }

  @Test("30: a token need not be kept")
  func aTokenNeedNotBeKept() async {
    let event = Event<Int>()
    event.addHandler { _ in }
    #expect(await event.send(1).delivered == 1)
  }

  @Test("30: a scoped lifetime is said explicitly")
  func aScopedLifetimeIsSaidExplicitly() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    await event.withHandler(Handler { seen.record($0) }) { event.post(1) }
    do {
      let bag = HandlerBag()
      event.addHandler { seen.record($0) }.store(in: bag)
      withExtendedLifetime(bag) { event.post(2) }
    }
    event.post(3)
    #expect(seen.values == [1, 2])
  }

  @Test("31: a handler ends with its owner")
  func aHandlerEndsWithItsOwner() async {
    let (event, live) = (Event<Int>(), LiveCount())
    do {
      let meter = Meter(live)
      event.addHandler(owner: meter) { meter, value in meter.read(value) }
      event.addHandler(owner: meter) { _, _ in }
      #expect(await event.send(1).delivered == 2)
      #expect(meter.readings.values == [1])
    }
    #expect(await eventually { live.alive == 0 })
    #expect(await event.send(2).delivered == 0)
  }

  @Test("32: a bag holds tokens of events of any payload")
  func aBagHoldsTokensOfEventsOfAnyPayload() {
    let (numbers, words, moved) = (Event<Int>(), Event<String>(), KeyedEvent<Int, Double>())
    let bag = HandlerBag()
    numbers.addHandler { _ in }.store(in: bag)
    words.addHandler { _ in }.store(in: bag)
    moved[1].addHandler { _ in }.store(in: bag)
    #expect(bag.removeAll() == 3)
    #expect(numbers.handlerCount + words.handlerCount + moved.handlerCount == 0)
  }

  /// This library needs no warning about a dropped token, because dropping a token has no effect.
  @Test("33: dropping a token changes nothing")
  func droppingATokenChangesNothing() async {
    let event = Event<Int>()
    var token: HandlerToken? = event.addHandler(.named("kept")) { _ in }
    #expect(token.map(event.contains) == true)
    token = nil
    #expect(event.contains(where: .named("kept")))
    #expect(await event.send(1).delivered == 1)
  }

  @Test("34: a handler that is added during a send is called from the next on")
  func aHandlerThatIsAddedDuringASendIsCalledFromTheNextOn() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.once { [weak event] _ in event?.addHandler { seen.record($0) } }
    for number in 1...3 { event.post(number) }
    #expect(seen.values == [2, 3])
  }

  /// The types exclude a handler that is `nil`: an optional closure must be unwrapped first.
  @Test("35: there is no nil handler", arguments: [true, false])
  func thereIsNoNilHandler(isThere: Bool) {
    let event = Event<Int>()
    let nothing: @Sendable (Int) -> Void = { _ in }
    let body = isThere ? nothing : nil
    let token: HandlerToken? = body.map { body in event.addHandler(perform: body) }
    #expect((token != nil) == isThere)
    #expect(event.handlerCount == (isThere ? 1 : 0))
  }
}

private actor Account { var total = 0 }
