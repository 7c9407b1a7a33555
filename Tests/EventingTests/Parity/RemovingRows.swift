import Dispatch
import Eventing
import Testing

/// Tests of features 45 to 56 of AFFEvent, IKEvents and emitter-kit: removing handlers.
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct RemovingRows {
  @Test func row045ATokenRemovesThatVeryHandler() {
    let event = Event<Int>()
    let seen = Recorder<String>()
    let tokens = ["a", "b", "c"].map { name in event.addHandler(.named("same")) { _ in seen.record(name) } }
    #expect(event.remove(tokens[1]))
    #expect(!event.remove(tokens[1]))
    event.post(1)
    #expect(seen.values == ["a", "c"])
  }

  @Test func row046ANameRemovesAllHandlersThatHaveIt() async {
    let event = Event<Int>()
    event.addHandler(.named("x")) { _ in }
    event.addHandler(.named("x"), on: .background) { _ in }
    event.addHandler(.named("y")) { _ in }
    #expect(event.removeAll(where: .named("x")) == 2)
    #expect(event.removeAll(where: .named("x")) == 0)
    #expect(await event.handlers().map(\.name) == ["y"])
  }

  @Test func row047SeveralHandlersOrNamesAreRemovedTogether() async {
    let event = Event<Int>()
    let tokens = ["a", "b", "x", "y", "z"].map { name in event.addHandler(.named(name)) { _ in } }
    #expect(event.removeAll(where: .oneOf([tokens[0], tokens[1]])) == 2)
    #expect(event.removeAll(where: .oneOf([tokens[0], tokens[2]])) == 1)
    #expect(event.removeAll(where: .named("x", "y")) == 1)
    #expect(await event.handlers().map(\.name) == ["z"])
  }

  @Test func row048AnOwnerIsKnownByIdentityNotByEquality() async {
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

  @Test func row049AKindOfHandlersIsRemovedAndLockedByItsTag() async {
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

  @Test func row050EverythingIsRemovedForwardsIncluded() {
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

  @Test func row051QueuedOccurrencesAreNotDeliveredAfterTheHandlerIsRemoved() async {
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

  @Test func row052AHandlerThatAnEarlierOneRemovesIsNotCalled() async {
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

  @Test func row053AHandlerMayRemoveItself() {
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

  @Test func row054RemovingTwiceOrSomethingUnknownDoesNothing() async {
    let (event, other) = (Event<Int>(), Event<Int>())
    let (token, kept) = (event.addHandler { _ in }, event.addHandler { _ in })
    #expect(event.remove(token))
    #expect(!event.remove(token))
    #expect(!other.remove(kept))
    #expect(event.removeAll(where: .named("nobody")) == 0)
    #expect(event.removeAll(where: .ownedBy(other)) == 0)
    #expect(event.contains(kept))
  }

  @Test func row055HandlersOfDeadOwnersArePrunedByASend() async {
    let (event, closures) = (Event<Int>(), LiveCount())
    addHandlerOfDeadOwner(to: event, closures)
    #expect(event.handlerCount == 0)
    #expect(closures.alive == 1)
    event.post(1)
    #expect(closures.alive == 0)
  }

  @Test func row055HandlersOfDeadOwnersArePrunedAsOthersAreAdded() {
    let (event, closures) = (Event<Int>(), LiveCount())
    for _ in 0..<1_000 { addHandlerOfDeadOwner(to: event, closures) }
    #expect(closures.alive < 100)
  }

  @Test func row056ABagThatGoesRemovesItsHandlersAtOnce() {
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
