// Places orders:  orders FIRST LAST
//
// When `publish` returns, the order is stored. The stream stores an id once, so publishing again
// after an error does not duplicate the order.
import Shop

let bounds = CommandLine.arguments.dropFirst().compactMap(Int.init)
guard bounds.count == 2, bounds[0] <= bounds[1] else { fatalError("expected two numbers, as in: orders 1 20") }

let shop = try await Shop()
for number in bounds[0]...bounds[1] {
  let order = OrderPlaced(number: number, cents: number.isMultiple(of: 10) ? 0 : number * 100)
  let receipt = try await shop.placed.publish(order, id: "order-\(number)")
  say(receipt.isDuplicate ? "order \(number) was stored before" : "order \(number) is stored")
}
await shop.nats.close()
