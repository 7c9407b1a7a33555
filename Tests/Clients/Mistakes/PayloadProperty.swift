// swift-format-ignore-file
// A property of the payload that is computed, so that it has the isolation of its type.
// error in: OnMain OnMainApproachable
// warning in: Swift5OnMainApproachable
import Eventing

#if MENDED
  nonisolated struct Order: Sendable {
    var cents: Int
    var total: Double { Double(cents) / 100 }
  }
#else
  struct Order: Sendable {
    var cents: Int
    var total: Double { Double(cents) / 100 }
  }
#endif

func sum(_ orders: Event<Order>) {
  orders.addHandler { order in print(order.total) }  // main actor-isolated property 'total' can not be referenced from a Sendable closure
}
