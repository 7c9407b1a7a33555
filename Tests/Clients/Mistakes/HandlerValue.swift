// swift-format-ignore-file
// A handler that is made on the main actor doesn't run there unless it says so.
// error in: Plain PlainApproachable OnMain OnMainApproachable Swift5 Swift5OnMainApproachable
import Eventing

@MainActor final class Screen {
  var lines: [Int] = []

  func handler() -> Handler<Int> {
    #if MENDED
      Handler(on: .main) { order in self.lines.append(order) }
    #else
      Handler { order in self.lines.append(order) }  // main actor-isolated property 'lines' can not be mutated from a Sendable closure
    #endif
  }
}

nonisolated func add(_ handler: Handler<Int>, to orders: Event<Int>) { orders.add(handler) }
