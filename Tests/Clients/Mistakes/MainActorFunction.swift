// swift-format-ignore-file
// A function of the main actor, added inline.
// error in: Plain PlainApproachable OnMain OnMainApproachable
// warning in: Swift5OnMainApproachable
import Eventing

@MainActor func present(_ order: Int) { print(order) }

func listen(to orders: Event<Int>) {
  #if MENDED
    orders.addHandler(on: .main, perform: present)
  #else
    orders.addHandler(perform: present)  // converting function value of type '@MainActor @Sendable (Int) -> ()' to '@Sendable (Int) throws -> Void' loses global actor 'MainActor'
  #endif
}
