import Eventing
import Observation
import Testing

/// Runs the examples of the guide "With SwiftUI" that have no view.
@Suite(.fewAtATime) struct WithSwiftUIGuideTests {
  struct Order: Sendable { var id = 1 }
  final class Shop: Sendable {
    let placed = Event<Order>("placed")
    let progress = Event<Double>("progress")
  }
  struct Player { let volume = Observed(0.5) }
  struct Engine {
    let applied = Recorder<Double>()
    func apply(_ volume: Double) { applied.record(volume) }
  }

  @MainActor @Observable final class OrderList {
    var orders: [Order] = []
    var fraction = 0.0

    init(_ shop: Shop) {
      shop.placed.addHandler(on: .main, owner: self) { list, order in list.orders.append(order) }
      shop.progress.addHandler(.throttled(every: .milliseconds(100)), on: .main, owner: self) { list, fraction in
        list.fraction = fraction
      }
    }
  }

  // swift-format-ignore
  @Test func aModelListens() async {
    let shop = Shop()
    let list = await OrderList(shop)
    await shop.placed.send(Order(id: 1))          // all handlers of placed have finished, also that of OrderList
    let shown = await list.orders.map(\.id)       // [1]

    #expect(shown == [1])
    await shop.progress.send(0.5)
    #expect(await list.fraction == 0.5)
    withExtendedLifetime(list) {}
  }

  @Test func valuesHaveHandlers() {
    let (player, engine) = (Player(), Engine())

    player.volume.newValues.addHandler { volume in engine.apply(volume) }

    player.volume.value = 0.7
    #expect(engine.applied.values == [0.7])
  }

  @Test func everyLineIsRunHere() throws {
    try GuideCheck.run("WithSwiftUI.md", "WithSwiftUIGuideTests", examples: 5)
  }
}
