@testable import Eventing
import Testing

extension BusTests {
  private struct Placed: Sendable { var id = 1 }
  private final class View: Sendable {
    let seen = Recorder<String>()
  }

  @MainActor @Test func handlersOfATypeEndWithTheirOwner() async {
    let bus = EventBus()
    var view: View? = View()
    let seen = view!.seen
    bus.event(for: Placed.self).addHandler(owner: view!) { view, placed in view.seen.record("inline \(placed.id)") }
    bus.event(for: Placed.self).addHandler(owner: view!) { view, placed async in view.seen.record("async \(placed.id)")
    }
    bus.event(for: Placed.self).addHandler(on: .main, owner: view!) { view, placed in
      MainActor.preconditionIsolated()
      view.seen.record("main \(placed.id)")
    }
    bus.event(for: Placed.self).addHandler(on: .main, owner: view!) { view, placed async in
      view.seen.record("main async \(placed.id)")
    }
    await bus.send(Placed())
    #expect(Set(seen.values) == ["inline 1", "async 1", "main 1", "main async 1"])
    view = nil
    let report = await bus.send(Placed(id: 2))
    #expect(seen.count == 4 && report.reachedNobody)
  }

  @Test func aTokenIsRemovedFromWhateverEventOfTheBus() throws {
    let (bus, owner, calls) = (EventBus(), View(), Counter())
    let token = bus.event(for: Placed.self).addHandler { _ in calls.add() }
    let owned = try bus.event(EventKey<Int>("n"), of: owner).addHandler { _ in calls.add() }
    let foreign = Event<Int>().addHandler { _ in }
    #expect(!bus.remove(foreign))
    #expect(bus.remove(token) && !bus.remove(token) && bus.remove(owned))
    bus.post(Placed())
    try bus.event(EventKey<Int>("n"), of: owner).post(1)
    #expect(calls.value == 0)
  }

  // MARK: Handlers of all events

  /// Checks that posts of another payload type are enough for the bus to release the handlers of a
  /// released owner. After the owner's release, the test only posts `Int` payloads: it makes no
  /// event, and sends no `Placed`.
  @Test func usesOfTheBusReleaseTheHandlersOfAllEventsWhoseOwnerIsGone() {
    let (bus, live) = (EventBus(), LiveCount())
    let event = bus.event(for: Int.self)
    var view: View? = View()
    bus.all(as: Placed.self).addHandler { _ in }
    for _ in 0..<8 {
      let canary = Canary(live)
      bus.all(as: Placed.self).addHandler(owner: view!) { _, _ in canary.sing() }
    }
    for _ in 0..<20 { bus.post(1) }
    #expect(live.alive == 8 && bus.busHandlers.count == 9 && event.handlerCount == 9)
    view = nil
    for _ in 0..<20 { bus.post(1) }
    #expect(live.alive == 0 && bus.busHandlers.count == 1 && event.handlerCount == 1)
  }

  @Test func addingHandlersOfAllEventsReleasesThoseWhoseOwnerIsGone() {
    let (bus, live) = (EventBus(), LiveCount())
    for _ in 0..<1_000 {
      let (view, canary) = (View(), Canary(live))
      bus.all(as: Placed.self).addHandler(owner: view) { _, _ in canary.sing() }
    }
    #expect(live.alive < 10 && bus.busHandlers.count < 10)
  }

  /// Checks an owner at the address of a released one. At each use of the bus, a sweep checks a few
  /// owners, and usually finds the ones that are gone. Here the new owner gets an event before a
  /// sweep has checked the old owner. So the bus must remove the old owner's event when it makes
  /// the new one.
  @Test func anEventWhoseOwnersAddressIsUsedAgainLosesTheHandlersOfAllEvents() throws {
    let (bus, others) = (EventBus(), (0..<20).map { _ in Owner() })
    for other in others { _ = try bus.event(Self.number, of: other) }
    bus.all(as: Int.self).addHandler { _ in }
    var reused = 0
    for _ in 0..<500 where reused < 5 {
      var owner: Owner? = Owner()
      let address = ObjectIdentifier(owner!)
      let old = try bus.event(Self.number, of: owner!)
      owner = nil
      let newer = (0..<100).map { _ in Owner() }
      guard let later = newer.first(where: { ObjectIdentifier($0) == address }) else { continue }
      reused += 1
      #expect(try bus.event(Self.number, of: later) !== old)
      #expect(old.handlerCount == 0)
      withExtendedLifetime(newer) {}
    }
    #expect(reused > 0, "an address was used again")
    withExtendedLifetime(others) {}
  }
}
