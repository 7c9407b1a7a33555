import Eventing
import Observation
import SwiftUI
import SwiftUIBridge

enum WithSwiftUI {
  nonisolated struct Order: Sendable { var id = 1 }
  nonisolated final class Shop: Sendable {
    let placed = Event<Order>("placed")
    let progress = Event<Double>("progress")
  }
  nonisolated struct Player { let volume = Observed(0.5) }
  nonisolated struct Engine {
    func apply(_ volume: Double) { Log.shared.write("volume \(volume)") }
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

  struct OrdersView: View {
    let shop: Shop
    @State private var count = 0

    var body: some View {
      Text("\(count) orders").onEvent(shop.placed) { order in count += 1 }
    }
  }

  struct VolumeView: View {
    let volume: Observed<Double>

    var body: some View {
      Slider(value: volume.binding)
    }
  }
}

// swift-format-ignore
nonisolated func withSwiftUI() async {
  typealias Shop = WithSwiftUI.Shop
  typealias OrderList = WithSwiftUI.OrderList
  typealias Order = WithSwiftUI.Order
  let (player, engine) = (WithSwiftUI.Player(), WithSwiftUI.Engine())

  let shop = Shop()
  let list = await OrderList(shop)
  await shop.placed.send(Order(id: 1))          // all handlers of placed have finished, also that of OrderList
  let shown = await list.orders.map(\.id)       // [1]

  expect(shown, [1])
  player.volume.newValues.addHandler { volume in engine.apply(volume) }
  player.volume.value = 0.7
  expect(Log.shared.take(), ["volume 0.7"])
  withExtendedLifetime(list) {}
}
