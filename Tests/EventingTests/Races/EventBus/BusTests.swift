import Eventing
import Testing

/// Tests of events that a bus finds by their payload type, or by an owner and a key.
@Suite(.fewAtATime) struct BusTests {
  private struct Placed: Sendable { let id: Int }

  @Test func aPostFindsTheEventOfItsType() async {
    let bus = EventBus()
    let seen = Recorder<String>()
    bus.event(for: Placed.self).addHandler { seen.record("\($0.id)") }
    bus.event(for: String.self).addHandler { seen.record($0) }
    bus.post(Placed(id: 1))
    #expect(await bus.send("x").delivered == 1)
    #expect(await bus.event(for: Double.self).submit(3.5).report.reachedNobody)
    #expect(seen.values == ["1", "x"])
  }

  @Test func anEventOfAnOwnerIsMadeOnceHoweverManyAskForIt() async throws {
    let bus = EventBus()
    let (owner, events) = (Plain(), Recorder<ObjectIdentifier>())
    let key = EventKey<Int>("changed")
    await onThreads(4) { _ in
      for _ in 0..<500 {
        if let event = try? bus.event(key, of: owner) { events.record(ObjectIdentifier(event)) }
        events.record(ObjectIdentifier(bus.event(for: Placed.self)))
      }
    }
    #expect(events.count == 4_000)
    #expect(Set(events.values).count == 2)
    #expect(bus.events(of: owner).map(\.name) == ["changed"])
    #expect(bus.events(of: owner).map(\.name) == ["changed"])
  }

  @Test func aKeyWithAnotherPayloadIsRefusedWithBothTypes() throws {
    let (bus, owner) = (EventBus(), Plain())
    _ = try bus.event(EventKey<Int>("changed"), of: owner)
    let error = #expect(throws: EventingError.self) { _ = try bus.event(EventKey<String>("changed"), of: owner) }
    #expect(error == .payloadMismatch)
    #expect(error?.description == "expected an event of String named \"changed\"; there is an event of Int")
  }

  @Test func theEventsOfAnOwnerGoWithItAndNoLaterObjectFindsThem() throws {
    let bus = EventBus()
    let (seen, closures) = (Recorder<Int>(), LiveCount())
    let key = EventKey<Int>("changed")
    for round in 0..<1_000 {
      let owner = Plain()
      #expect(bus.events(of: owner).isEmpty)
      let canary = Canary(closures)
      try bus.event(key, of: owner).addHandler { _ in
        canary.sing()
        seen.record(round)
      }
      try bus.event(key, of: owner).post(0)
    }
    #expect(seen.values == Array(0..<1_000))
    #expect(closures.alive < 100)
    for _ in 0..<200 { _ = bus.event(for: Int.self) }
    #expect(closures.alive == 0)
  }

  @Test func eventsAreRemovedOneByOneOrAllOfAnOwner() throws {
    let (bus, owner, other) = (EventBus(), Plain(), Plain())
    for name in ["a", "b", "c"] { _ = try bus.event(EventKey<Int>(name), of: owner) }
    _ = try bus.event(EventKey<Int>("a"), of: other)
    #expect(bus.removeEvent(EventKey<Int>("b"), of: owner))
    #expect(!bus.removeEvent(EventKey<Int>("b"), of: owner))
    #expect(bus.events(of: owner).map(\.name) == ["a", "c"])
    #expect(bus.removeEvents(of: owner) == 2)
    #expect(bus.removeEvents(of: owner) == 0)
    #expect(bus.events(of: other).map(\.name) == ["a"])
  }

  @Test func finishEndsAllEventsAndQuiesceWaitsForThem() async throws {
    let (bus, owner) = (EventBus(), Plain())
    let (gate, began, seen) = (Gate(), Gate(), Recorder<Int>())
    try bus.event(EventKey<Int>("a"), of: owner).addHandler { number async in
      began.open()
      await gate.opened()
      seen.record(number)
    }
    try bus.event(EventKey<Int>("a"), of: owner).post(1)
    await began.opened()
    let quiescing = Task {
      await bus.quiesce()
      return seen.values
    }
    gate.open()
    #expect(await quiescing.value == [1])
    let event = bus.event(for: Int.self)
    event.addHandler { seen.record($0) }
    bus.finish()
    event.post(2)
    #expect(seen.values == [1])
    #expect(bus.event(for: Int.self) !== event)
  }
}
