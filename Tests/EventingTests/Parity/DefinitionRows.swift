import Eventing
import Testing

/// Tests of features 1 to 10 of AFFEvent, IKEvents and emitter-kit: defining events.
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct DefinitionRows {
  @Test func row001AnEventIsAnObjectThatIsMadeByItsInitializer() async {
    let event: Event<Int> = Event()
    let value = await event.addingOne(to: 1)  // an event is an actor
    #expect(value == 2)
    #expect(await event.send(1).sequence == 1)
  }

  @Test func row002EachInstanceHasAnEventOfItsOwn() {
    let (first, second) = (Document(), Document())
    let seen = Recorder<String>()
    first.closed.addHandler { seen.record("first") }
    second.closed.addHandler { seen.record("second") }
    second.closed.post()
    #expect(seen.values == ["second"])
  }

  @Test func row003AStaticEventIsOneForTheClassAndItsSubclasses() async {
    #expect(Drawing.saved === Document.saved)
    let seen = Recorder<String>()
    await Document.saved.withHandler(Handler { title in seen.record(title) }) { Drawing.saved.post("sketch") }
    #expect(seen.values == ["sketch"])
  }

  @Test func row004AnEventOfAnOwnerIsMadeOnceHoweverManyAskForIt() async throws {
    let (bus, owner) = (EventBus(), Document())
    let found = Recorder<Event<String>?>()
    await onThreads(4) { _ in found.record(try? bus.event(.renamed, of: owner)) }
    let event = try bus.event(.renamed, of: owner)
    #expect(found.count == 4)
    #expect(found.values.allSatisfy { $0 === event })
  }

  @Test func row005AnEventHasANameForOccurrencesAndLogs() {
    let event = Event<Int>("progress")
    let names = Recorder<String?>()
    event.occurrences.addHandler { occurrence in names.record(occurrence.eventName) }
    event.post(1)
    #expect(event.name == "progress")
    #expect(names.values == ["progress"])
    #expect(event.description.contains("progress"))
    #expect(Event<Int>().name == nil)
  }

  @Test func row006AnOccurrenceKnowsItsSenderAndHoldsItWeakly() async {
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

  @Test func row007TheEventsOfAnOwnerAreListed() throws {
    let (bus, owner) = (EventBus(), Document())
    #expect(bus.events(of: owner).isEmpty)
    let (renamed, printed) = (try bus.event(.renamed, of: owner), try bus.event(.printed, of: owner))
    let events = bus.events(of: owner)
    #expect(events.map { ObjectIdentifier($0 as AnyObject) } == [ObjectIdentifier(renamed), ObjectIdentifier(printed)])
    #expect(bus.events(of: owner).map(\.name) == ["renamed", "printed"])
    #expect(bus.events(of: Document()).isEmpty)
  }

  @Test func row008AnEventOfAnOwnerIsRemovedOnce() throws {
    let (bus, owner) = (EventBus(), Document())
    let event = try bus.event(.renamed, of: owner)
    _ = try bus.event(.printed, of: owner)
    #expect(bus.removeEvent(.renamed, of: owner))
    #expect(!bus.removeEvent(.renamed, of: owner))
    #expect(bus.events(of: owner).map(\.name) == ["printed"])
    #expect(try bus.event(.renamed, of: owner) !== event)
  }

  @Test func row009AllEventsOfAnOwnerAreRemoved() throws {
    let (bus, owner) = (EventBus(), Document())
    _ = (try bus.event(.renamed, of: owner), try bus.event(.printed, of: owner))
    #expect(bus.removeEvents(of: owner) == 2)
    #expect(bus.removeEvents(of: owner) == 0)
    #expect(bus.events(of: owner).isEmpty)
  }

  @Test func row009TheEventsOfAnOwnerGoWithIt() async throws {
    let (bus, live, other) = (EventBus(), LiveCount(), Document())
    do {
      let (owner, canary) = (Document(), Canary(live))
      try bus.event(.renamed, of: owner).addHandler { _ in canary.sing() }
      withExtendedLifetime(owner) { #expect(live.alive == 1) }
    }
    #expect(await eventually { bus.events(of: other).isEmpty && live.alive == 0 })
  }

  @Test func row010TheEndOfAnEventReleasesItsHandlersAndCompletesItsTickets() async {
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

  @Test func row010AnEventIsFinishedOnPurpose() async {
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
