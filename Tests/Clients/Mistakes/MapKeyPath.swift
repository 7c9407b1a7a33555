// swift-format-ignore-file
// A payload of the module's isolation, and a key path of it. `{ order in order.id }` compiles, too.
// error in: OnMain OnMainApproachable
// warning in: Swift5OnMainApproachable
import Eventing

#if MENDED
  nonisolated struct Order: Sendable { var id: Int }
#else
  struct Order: Sendable { var id: Int }
#endif

func ids(of orders: Event<Order>) {
  orders.map(\.id).addHandler { id in print(id) }  // converting non-Sendable function value to '@Sendable (Order) -> Int' may introduce data races
}
