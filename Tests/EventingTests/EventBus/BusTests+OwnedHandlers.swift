import Eventing
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
    bus.addHandler(for: Placed.self, owner: view!) { view, placed in view.seen.record("inline \(placed.id)") }
    bus.addHandler(for: Placed.self, owner: view!) { view, placed async in view.seen.record("async \(placed.id)") }
    bus.addHandler(for: Placed.self, on: .main, owner: view!) { view, placed in
      MainActor.preconditionIsolated()
      view.seen.record("main \(placed.id)")
    }
    bus.addHandler(for: Placed.self, on: .main, owner: view!) { view, placed async in
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
    let token = bus.addHandler(for: Placed.self) { _ in calls.add() }
    let owned = try bus.event(EventKey<Int>("n"), of: owner).addHandler { _ in calls.add() }
    let foreign = Event<Int>().addHandler { _ in }
    #expect(!bus.remove(foreign))
    #expect(bus.remove(token) && !bus.remove(token) && bus.remove(owned))
    bus.post(Placed())
    try bus.event(EventKey<Int>("n"), of: owner).post(1)
    #expect(calls.value == 0)
  }
}
