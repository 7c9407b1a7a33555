// swift-format-ignore-file
// An inline handler may be called on any thread, so it can't change what the main actor guards.
// error in: Plain PlainApproachable OnMain OnMainApproachable Swift5 Swift5OnMainApproachable
import Eventing

@MainActor final class OrderTable {
  var rows: [Int] = []

  init(_ orders: Event<Int>) {
    #if MENDED
      orders.addHandler(on: .main) { [weak self] order in self?.rows.append(order) }
      orders.addHandler(on: .main, owner: self) { table, order in table.rows.append(order) }
    #else
      orders.addHandler { [weak self] order in self?.rows.append(order) }  // main actor-isolated property 'rows' can not be mutated from a Sendable closure
      orders.addHandler(owner: self) { table, order in table.rows.append(order) }  // main actor-isolated property 'rows' can not be mutated from a Sendable closure
    #endif
  }
}
