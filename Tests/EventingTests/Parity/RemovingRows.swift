import Dispatch
import Eventing
import Testing

/// Tests of features 45 to 56 of AFFEvent, IKEvents and emitter-kit: removing handlers.
@Suite(.fewAtATime) struct RemovingRows {
  @Test("45: a token removes that very handler")
  func aTokenRemovesThatVeryHandler() {
    let event = Event<Int>()
    let seen = Recorder<String>()
    let tokens = ["a", "b", "c"].map { name in event.addHandler(.named("same")) { _ in seen.record(name) } }
    #expect(event.remove(tokens[1]))
    #expect(!event.remove(tokens[1]))
    event.post(1)
    #expect(seen.values == ["a", "c"])
  }

  @Test("46: a name removes all handlers that have it")
  func aNameRemovesAllHandlersThatHaveIt() async {
    let event = Event<Int>()
    event.addHandler(.named("x")) { _ in }
    event.addHandler(.named("x"), on: .background) { _ in }
    event.addHandler(.named("y")) { _ in }
    #expect(event.removeAll(where: .named("x")) == 2)
    #expect(event.removeAll(where: .named("x")) == 0)
    #expect(await event.handlers().map(\.name) == ["y"])
  }

  @Test("47: several handlers or names are removed together")
  func severalHandlersOrNamesAreRemovedTogether() async {
    let event = Event<Int>()
    let tokens = ["a", "b", "x", "y", "z"].map { name in event.addHandler(.named(name)) { _ in } }
    #expect(event.removeAll(where: .oneOf([tokens[0], tokens[1]])) == 2)
    #expect(event.removeAll(where: .oneOf([tokens[0], tokens[2]])) == 1)
    #expect(event.removeAll(where: .named("x", "y")) == 1)
    #expect(await event.handlers().map(\.name) == ["z"])
  }

  @Test("48: an owner is known by identity, not by equality")
  func anOwnerIsKnownByIdentityNotByEquality() async {
    let event = Event<Int>()
    let (one, other) = (Lookalike(), Lookalike())
    #expect(one == other)
    event.addHandler(owner: one) { _, _ in }
    event.addHandler(on: .background, owner: one) { _, _ in }
    let kept = event.addHandler(owner: other) { _, _ in }
    #expect(event.removeAll(where: .ownedBy(one)) == 2)
    #expect(event.contains(kept))
    withExtendedLifetime((one, other)) {}
  }

  @Test("49: a kind of handlers is removed and locked by its tag")
  func aKindOfHandlersIsRemovedAndLockedByItsTag()
    async
  {
    let (event, meter) = (Event<Int>(), Meter())
    event.add(Handler(.tagged("closures")) { _ in }, Handler(.tagged("closures", "io")) { _ in })
    event.addHandler(.tagged("methods"), owner: meter) { $0.read($1) }
    #expect(event.lockAll(where: .tagged("closures")) == 2)
    #expect(await event.send(1).delivered == 1)
    #expect(event.removeAll(where: .tagged("closures")) == 2)
    #expect(event.removeAll(where: .tagged("methods")) == 1)
    #expect(event.handlerCount == 0)
    #expect(meter.readings.values == [1])
  }

  @Test("50: everything is removed, forwards included")
  func everythingIsRemovedForwardsIncluded() {
    let (event, next) = (Event<Int>(), Event<Int>())
    let seen = Recorder<Int>()
    next.addHandler { seen.record($0) }
    event.addHandler { seen.record($0) }
    event.forward(to: next)
    #expect(event.removeAll() == 2)
    event.post(1)
    #expect(seen.values == [])
    #expect(next.handlerCount == 1)
  }

  @Test("51: queued occurrences are not delivered after the handler is removed")
  func queuedOccurrencesAreNotDeliveredAfterTheHandlerIsRemoved() async {
    let (event, queue) = (Event<Int>(), DispatchQueue(label: "held"))
    let seen = Recorder<Int>()
    let token = event.addHandler(on: .queue(queue)) { seen.record($0) }
    queue.suspend()
    let ticket = event.submit(1)
    event.remove(token)
    queue.resume()
    #expect(await ticket.report.skipped == 1)
    #expect(seen.values == [])
  }

  @Test("52: a handler that an earlier one removes is not called")
  func aHandlerThatAnEarlierOneRemovesIsNotCalled()
    async
  {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.addHandler(.priority(1)) { [weak event] _ in event?.removeAll(where: .named("later")) }
    event.addHandler(.named("later")) { seen.record($0) }
    event.addHandler(.named("later"), on: .background) { seen.record($0) }
    let report = await event.send(1)
    #expect(report.delivered == 1)
    #expect(report.skipped == 0)
    #expect(seen.values == [])
  }

  @Test("53: a handler may remove itself")
  func aHandlerMayRemoveItself() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.addHandler(.named("itself")) { [weak event] number in
      seen.record(number)
      if number == 2 { event?.removeAll(where: .named("itself")) }
    }
    for number in 1...3 { event.post(number) }
    #expect(seen.values == [1, 2])
    #expect(event.handlerCount == 0)
  }

  @Test("54: removing twice or something unknown does nothing")
  func removingTwiceOrSomethingUnknownDoesNothing() async {
    let (event, other) = (Event<Int>(), Event<Int>())
    let (token, kept) = (event.addHandler { _ in }, event.addHandler { _ in })
    #expect(event.remove(token))
    #expect(!event.remove(token))
    #expect(!other.remove(kept))
    #expect(event.removeAll(where: .named("nobody")) == 0)
    #expect(event.removeAll(where: .ownedBy(other)) == 0)
    #expect(event.contains(kept))
  }

  @Test("55: handlers of dead owners are pruned by a send")
  func handlersOfDeadOwnersArePrunedByASend() async {
    let (event, closures) = (Event<Int>(), LiveCount())
    addHandlerOfDeadOwner(to: event, closures)
    #expect(event.handlerCount == 0)
    #expect(closures.alive == 1)
    event.post(1)
    #expect(closures.alive == 0)
  }

  @Test("55: handlers of dead owners are pruned as others are added")
  func handlersOfDeadOwnersArePrunedAsOthersAreAdded() {
    let (event, closures) = (Event<Int>(), LiveCount())
    for _ in 0..<1_000 { addHandlerOfDeadOwner(to: event, closures) }
    #expect(closures.alive < 100)
  }

  @Test("56: a bag that goes removes its handlers at once")
  func aBagThatGoesRemovesItsHandlersAtOnce() {
    let (event, live) = (Event<Int>(), LiveCount())
    do {
      let bag = HandlerBag()
      event.addHandler { [canary = Canary(live)] _ in canary.sing() }.store(in: bag)
      withExtendedLifetime(bag) { #expect(event.handlerCount == 1) }
    }
    #expect(event.handlerCount == 0)
    #expect(live.alive == 0)
  }

  private func addHandlerOfDeadOwner(to event: Event<Int>, _ closures: LiveCount) {
    let canary = Canary(closures)
    event.addHandler(owner: Meter()) { _, _ in canary.sing() }
  }
}
