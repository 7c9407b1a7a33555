import Eventing
import Testing

/// Tests of features 1 to 10 of AFFEvent, IKEvents and emitter-kit: defining events.
@Suite(.fewAtATime) struct DefinitionRows {
  @Test("1: an event is an object that is made by its initializer")
  func anEventIsAnObjectThatIsMadeByItsInitializer()
    async
  {
    let event: Event<Int> = Event()
    let value = await event.addingOne(to: 1)  // an event is an actor
    #expect(value == 2)
    #expect(await event.send(1).sequence == 1)
  }

  @Test("2: each instance has an event of its own")
  func eachInstanceHasAnEventOfItsOwn() {
    let (first, second) = (Document(), Document())
    let seen = Recorder<String>()
    first.closed.addHandler { seen.record("first") }
    second.closed.addHandler { seen.record("second") }
    second.closed.post()
    #expect(seen.values == ["second"])
  }

  @Test("3: a static event is one for the class and its subclasses")
  func aStaticEventIsOneForTheClassAndItsSubclasses()
    async
  {
    #expect(Drawing.saved === Document.saved)
    let seen = Recorder<String>()
    await Document.saved.withHandler(Handler { title in seen.record(title) }) { Drawing.saved.post("sketch") }
    #expect(seen.values == ["sketch"])
  }

  @Test("4: an event of an owner is made once, however many ask for it")
  func anEventOfAnOwnerIsMadeOnceHoweverManyAskForIt() async throws {
    let (bus, owner) = (EventBus(), Document())
    let found = Recorder<Event<String>?>()
    await onThreads(4) { _ in found.record(try? bus.event(.renamed, of: owner)) }
    let event = try bus.event(.renamed, of: owner)
    #expect(found.count == 4)
    #expect(found.values.allSatisfy { $0 === event })
  }

  @Test("5: an event has a name for occurrences and logs")
  func anEventHasANameForOccurrencesAndLogs() {
    let event = Event<Int>("progress")
    let names = Recorder<String?>()
    event.occurrences.addHandler { occurrence in names.record(occurrence.eventName) }
    event.post(1)
    #expect(event.name == "progress")
    #expect(names.values == ["progress"])
    #expect(event.description.contains("progress"))
    #expect(Event<Int>().name == nil)
  }

  @Test("6: an occurrence knows its sender and holds it weakly")
  func anOccurrenceKnowsItsSenderAndHoldsItWeakly() async {
    let event = Event<Int>()
    let (seen, live) = (Recorder<EventOccurrence<Int>>(), LiveCount())
    event.occurrences.addHandler { occurrence in seen.record(occurrence) }
    do {
      let sender = Meter(live)
      event.post(1, from: sender)
      await event.send(2, from: sender)
      event.post(3)
      #expect(seen.values.map { $0.sender === sender } == [true, true, false])
    }
    #expect(await eventually { live.alive == 0 })
    let later = Meter()  // possibly at the address of the released sender
    #expect(seen.values.allSatisfy { $0.sender == nil })
    withExtendedLifetime(later) {}
  }

  @Test("7: the events of an owner are listed")
  func theEventsOfAnOwnerAreListed() throws {
    let (bus, owner) = (EventBus(), Document())
    #expect(bus.events(of: owner).isEmpty)
    let (renamed, printed) = (try bus.event(.renamed, of: owner), try bus.event(.printed, of: owner))
    let events = bus.events(of: owner)
    #expect(events.map { ObjectIdentifier($0 as AnyObject) } == [ObjectIdentifier(renamed), ObjectIdentifier(printed)])
    #expect(bus.events(of: owner).map(\.name) == ["renamed", "printed"])
    #expect(bus.events(of: Document()).isEmpty)
  }

  @Test("8: an event of an owner is removed once")
  func anEventOfAnOwnerIsRemovedOnce() throws {
    let (bus, owner) = (EventBus(), Document())
    let event = try bus.event(.renamed, of: owner)
    _ = try bus.event(.printed, of: owner)
    #expect(bus.removeEvent(.renamed, of: owner))
    #expect(!bus.removeEvent(.renamed, of: owner))
    #expect(bus.events(of: owner).map(\.name) == ["printed"])
    #expect(try bus.event(.renamed, of: owner) !== event)
  }

  @Test("9: all events of an owner are removed")
  func allEventsOfAnOwnerAreRemoved() throws {
    let (bus, owner) = (EventBus(), Document())
    _ = (try bus.event(.renamed, of: owner), try bus.event(.printed, of: owner))
    #expect(bus.removeEvents(of: owner) == 2)
    #expect(bus.removeEvents(of: owner) == 0)
    #expect(bus.events(of: owner).isEmpty)
  }

  @Test("9: the events of an owner go with it")
  func theEventsOfAnOwnerGoWithIt() async throws {
    let (bus, live, other) = (EventBus(), LiveCount(), Document())
    do {
      let (owner, canary) = (Document(), Canary(live))
      try bus.event(.renamed, of: owner).addHandler { _ in canary.sing() }
      withExtendedLifetime(owner) { #expect(live.alive == 1) }
    }
    #expect(await eventually { bus.events(of: other).isEmpty && live.alive == 0 })
  }

  @Test("10: the end of an event releases its handlers and completes its tickets")
  func theEndOfAnEventReleasesItsHandlersAndCompletesItsTickets() async {
    let live = LiveCount()
    let ticket: SendTicket
    do {
      let (event, canary) = (Event<Int>(), Canary(live))
      event.addHandler { _ async in canary.sing() }
      ticket = event.submit(1)
    }
    #expect(await ticket.report.delivered == 1)
    #expect(await eventually { live.alive == 0 })
  }

  @Test("10: an event is finished on purpose")
  func anEventIsFinishedOnPurpose() async {
    let (event, live) = (Event<Int>(), LiveCount())
    let token = event.addHandler { [canary = Canary(live)] _ in canary.sing() }
    event.finish()
    #expect(await eventually { live.alive == 0 })
    #expect(!event.contains(token))
    #expect(await event.send(1).reachedNobody)
    #expect(!event.contains(event.addHandler { _ in }))
  }
}

private class Document: @unchecked Sendable {
  static let saved = Event<String>("saved")
  let closed = Signal()
}

private final class Drawing: Document, @unchecked Sendable {}

extension EventKey where Payload == String {
  fileprivate static let renamed = EventKey("renamed")
}

extension EventKey where Payload == Int {
  fileprivate static let printed = EventKey("printed")
}

extension Event {
  fileprivate func addingOne(to number: Int) -> Int { number + 1 }
}
