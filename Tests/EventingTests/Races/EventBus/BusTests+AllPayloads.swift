import Testing

#if DEBUG
  @testable import Eventing
#else
  import Eventing
#endif

/// Tests of guarantee H15 of PROOF.md: handlers that a bus adds to all its events whose payloads
/// have one type, such as a protocol.
extension BusTests {
  protocol Auditable: Sendable { var entry: String { get } }
  private struct Placed: Auditable {
    var id = 1
    var entry: String { "placed \(id)" }
  }
  private enum Paid: Auditable {
    case cash
    var entry: String { "paid" }
  }
  private class Message: @unchecked Sendable {}
  private final class Letter: Message, Auditable, @unchecked Sendable { var entry: String { "letter" } }
  final class Owner: Sendable {}
  static let number = EventKey<Int>("number")

  @Test func everyPayloadOfATypeArrivesOfEventsBeforeAndAfter() async throws {
    let (bus, owner, seen) = (EventBus(), Owner(), Recorder<String>())
    _ = bus.event(for: Placed.self)
    let owned = try bus.event(EventKey<Placed>("owned"), of: owner)
    bus.all(as: (any Auditable).self).addHandler { seen.record($0.entry) }
    bus.all(as: Message.self).addHandler(.priority(-1)) { _ in seen.record("message") }
    bus.post(Placed())
    owned.post(Placed(id: 2))
    bus.post(Paid.cash)
    try bus.event(EventKey<Paid?>("later"), of: owner).post(.cash)
    let report = await bus.send(5)
    #expect(report.reachedNobody && report.skipped == 2)
    bus.post(Letter() as Message)
    bus.post(Message())
    bus.post(Letter() as any Auditable)
    #expect(
      seen.values == [
        "placed 1", "placed 2", "paid", "paid", "letter", "message", "message", "letter", "message",
      ])
  }

  @MainActor @Test func itHasEveryFormAndEndsWithItsOwner() async {
    let (bus, seen) = (EventBus(), Recorder<String>())
    var owner: Owner? = Owner()
    bus.all(as: Placed.self).addHandler { seen.record("inline \($0.id)") }
    bus.all(as: Placed.self).addHandler { placed async in seen.record("async \(placed.id)") }
    bus.all(as: Placed.self).addHandler(on: .main) { placed in
      MainActor.preconditionIsolated()
      seen.record("main \(placed.id)")
    }
    bus.all(as: Placed.self).addHandler(on: .main) { placed async in
      MainActor.preconditionIsolated()
      seen.record("main async \(placed.id)")
    }
    let unowned = ["inline", "async", "main", "main async"]
    bus.all(as: Placed.self).addHandler(owner: owner!) { _, placed in seen.record("owned inline \(placed.id)") }
    bus.all(as: Placed.self).addHandler(owner: owner!) { _, placed async in seen.record("owned async \(placed.id)") }
    bus.all(as: Placed.self).addHandler(on: .main, owner: owner!) { _, placed in
      MainActor.preconditionIsolated()
      seen.record("owned main \(placed.id)")
    }
    bus.all(as: Placed.self).addHandler(on: .main, owner: owner!) { _, placed async in
      MainActor.preconditionIsolated()
      seen.record("owned main async \(placed.id)")
    }
    #expect(await bus.send(Placed()).delivered == 8)
    #expect(Set(seen.values) == Set((unowned + unowned.map { "owned \($0)" }).map { "\($0) 1" }))
    seen.removeAll()
    weak let released = owner
    owner = nil
    // A poll of another test may keep the owner of a main handler until the next block there.
    #expect(await eventually { released == nil })
    #expect(await bus.send(Placed(id: 2)).delivered == 4)
    #expect(Set(seen.values) == Set(unowned.map { "\($0) 2" }))
    #expect(await bus.send("later").skipped == 4)
  }

  @Test func itIsAHandlerOfEachEvent() async {
    struct Problem: Error {}
    let (bus, seen) = (EventBus(), Recorder<String>())
    let event = bus.event(for: Placed.self)
    event.addHandler { _ in seen.record("own") }
    bus.all(as: Placed.self).addHandler(.named("audit"), .priority(1)) { placed in
      seen.record("all")
      throw Problem()
    }
    let failures = Recorder<String?>()
    event.failures.addHandler { failures.record($0.handler.name) }
    let report = await event.send(Placed())
    #expect(report.delivered == 1 && report.failures.count == 1 && failures.values == ["audit"])
    #expect(seen.values == ["all", "own"])
    #expect(await event.handlers().map(\.name) == ["audit", nil])
    event.lockAll(where: .named("audit"))
    #expect(await event.send(Placed()).skipped == 1)
    #expect(event.removeAll(where: .named("audit")) == 1)
    bus.event(for: Paid.self).post(.cash)
    #expect(event.handlerCount == 1 && bus.event(for: Paid.self).handlerCount == 1)
  }

  @Test func oneTokenRemovesItEverywhere() async throws {
    let (bus, owner, seen, live) = (EventBus(), Owner(), Recorder<Int>(), LiveCount())
    let tokens = (1...2).map { factor in
      let canary = Canary(live)
      return bus.all(as: Int.self).addHandler(.named("sum")) {
        canary.sing()
        seen.record(factor * $0)
      }
    }
    let event = try bus.event(Self.number, of: owner)
    event.post(1)
    bus.post(2)
    #expect(tokens[0].name == "sum" && !EventBus().remove(tokens[0]))
    #expect(bus.remove(tokens[0]) && !bus.remove(tokens[0]))
    event.post(3)
    bus.post(4)
    #expect(seen.values == [1, 2, 2, 4, 6, 8] && live.alive == 1)
    let bag = HandlerBag()
    tokens[1].store(in: bag)
    #expect(bag.count == 1 && bag.removeAll() == 1)
    event.post(5)
    bus.post(6)
    bus.post("new")
    #expect(seen.count == 6 && live.alive == 0 && event.handlerCount == 0)
    #expect(bus.event(for: String.self).handlerCount == 0)
  }

  @Test func aRemovalHoldsOnReturnForQueuedCallsToo() async {
    let (bus, began, gate, seen) = (EventBus(), Gate(), Gate(), Recorder<Int>())
    let token = bus.all(as: Int.self).addHandler { number async in
      seen.record(number)
      began.open()
      await gate.opened()
    }
    bus.post(1)
    bus.post(2)
    await began.opened()
    #expect(bus.remove(token))
    gate.open()
    await bus.quiesce()
    #expect(seen.values == [1])
  }

  @Test func finishEndsItAfterTheCallsForWhatWasSent() async {
    let (bus, began, gate, seen, live) = (EventBus(), Gate(), Gate(), Recorder<Int>(), LiveCount())
    do {
      let canary = Canary(live)
      bus.all(as: Int.self).addHandler { number async in
        canary.sing()
        seen.record(number)
        began.open()
        await gate.opened()
      }
    }
    let event = bus.event(for: Int.self)
    event.post(1)
    event.post(2)
    await began.opened()
    bus.finish()
    bus.post(3)
    gate.open()
    await event.quiesce()
    #expect(seen.values == [1, 2])
    #expect(await eventually { live.alive == 0 })
    #expect(bus.event(for: Int.self).handlerCount == 0)
  }

  @Test func anEventThatLeavesTheBusLosesIt() throws {
    let (bus, owner, seen, live) = (EventBus(), Owner(), Recorder<Int>(), LiveCount())
    let canary = Canary(live)
    bus.all(as: Int.self).addHandler { [canary] number in
      canary.sing()
      seen.record(number)
    }
    let (event, other) = (try bus.event(Self.number, of: owner), try bus.event(EventKey<Int>("other"), of: owner))
    bus.removeEvent(Self.number, of: owner)
    event.post(1)
    other.post(2)
    bus.removeEvents(of: owner)
    other.post(3)
    #expect(seen.values == [2] && event.handlerCount == 0 && other.handlerCount == 0)
    withExtendedLifetime(canary) {}
  }

  @Test func itOutlivesTheBusInEventsThatAreHeld() {
    let (seen, bag) = (Recorder<Int>(), HandlerBag())
    var bus: EventBus? = EventBus()
    bus?.all(as: Int.self).addHandler { seen.record($0) }.store(in: bag)
    let event = bus!.event(for: Int.self)
    bus = nil
    event.post(1)
    bag.removeAll()
    event.post(2)
    #expect(seen.values == [1] && event.handlerCount == 0)
  }

  /// A handler of another type, on a lane, makes dead letters with the payloads of each event, that
  /// of a protocol included.
  @Test func aHandlerOfAProtocolMakesDeadLetters() async {
    struct Problem: Error {}
    let (bus, letters) = (EventBus(), Recorder<String>())
    bus.all(as: (any Auditable).self).addHandler { _ async throws in throw Problem() }
    bus.event(for: Placed.self).deadLetters.addHandler { letters.record("\($0.payload.id)") }
    bus.event(for: Message.self).deadLetters.addHandler { letters.record("\(type(of: $0.payload))") }
    bus.event(for: (any Auditable).self).deadLetters.addHandler { letters.record($0.payload.entry) }
    bus.post(Placed(id: 7))
    bus.post(Letter() as Message)
    bus.event(for: (any Auditable).self).post(Placed(id: 8))
    await bus.quiesce()
    #expect(letters.values.sorted() == ["7", "Letter", "placed 8"])
  }

  /// The end of a handler of all events costs the same however many there are, and the others stay
  /// in their order.
  @Test func theEndOfOneOfManyHandlersLooksAtNoOther() {
    let (bus, count, seen) = (EventBus(), 1_000, Recorder<Int>())
    let tokens = (0..<count).map { number in bus.all(as: Int.self).addHandler { _ in seen.record(number) } }
    for (number, token) in tokens.enumerated() where number % 100 != 0 {
      #expect(bus.remove(token) && !bus.remove(token))
    }
    #if DEBUG
      let moved = bus.mutex.withLock { unsafe bus.everywhere.movedCount }
      #expect(moved > 0 && moved <= 2 * count)
    #endif
    bus.post(1)
    #expect(seen.values == [0, 100, 200, 300, 400, 500, 600, 700, 800, 900])
  }
}
