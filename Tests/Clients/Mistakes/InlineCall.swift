// swift-format-ignore-file
// An inline handler can't call what the main actor guards, either.
// error in: Plain PlainApproachable OnMain OnMainApproachable Swift5 Swift5OnMainApproachable
import Eventing

@MainActor final class Ledger {
  func book(_ order: Int) { print(order) }
}

@MainActor func listen(to orders: Event<Int>, _ ledger: Ledger) {
  #if MENDED
    orders.addHandler(on: .main) { order in ledger.book(order) }
  #else
    orders.addHandler { order in ledger.book(order) }  // call to main actor-isolated instance method 'book' in a synchronous nonisolated context
  #endif
}
