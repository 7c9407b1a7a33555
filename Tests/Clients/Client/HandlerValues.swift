import Eventing

@MainActor final class Screen {
  var lines: [String] = []
  /// A handler that is made on the main actor, and added elsewhere.
  func handler() -> Handler<Order> {
    Handler(.named("screen"), on: .main) { order in self.lines.append("\(order.id)") }
  }
}

/// Adds a handler on no actor.
nonisolated func add(_ handler: Handler<Order>, to shop: Shop) -> HandlerToken { shop.placed.add(handler) }

@MainActor func present(_ order: Order) { Log.shared.write("presented \(order.id)") }
nonisolated func audit(_ order: Order) { Log.shared.write("audited \(order.id)") }

@MainActor func handlerValues() async {
  let (shop, screen) = (Shop(), Screen())
  let token = add(screen.handler(), to: shop)
  // Without SE-0418, which is part of Swift 6, a function by its name is not `@Sendable`.
  #if hasFeature(InferSendableFromCaptures)
    shop.placed.addHandler(on: .main, perform: present)
    shop.placed.addHandler(perform: audit)
  #else
    shop.placed.addHandler(on: .main) { order in present(order) }
    shop.placed.addHandler { order in audit(order) }
  #endif
  await shop.placed.send(Order(id: 7, total: 0))
  expect(screen.lines, ["7"])
  expect(token.name, "screen")
  expect(Log.shared.take().sorted(), ["audited 7", "presented 7"])
}
