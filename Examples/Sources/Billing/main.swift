// Bills orders:  billing NAME
//
// Start as many as you like: each order goes to one of them. An order whose handler fails comes
// again. After the third attempt it goes to `orders.unbilled`. When this process is asked to end,
// it finishes what it has in hand.
import Shop

struct NothingToBill: Error {}

let name = CommandLine.arguments.dropFirst().first ?? "anna"
let shop = try await Shop()
let billed = shop.billed

shop.placed.addHandler { order in
  guard order.cents > 0 else { throw NothingToBill() }
  try await Task.sleep(for: .milliseconds(5))  // the bank
  // At least once: an order may come twice. Its bill is stored once, by its id.
  try await billed.publish(OrderBilled(number: order.number, by: name), id: "bill-\(order.number)")
  say("\(name) billed order \(order.number)")
}
let listening = try await shop.placed.listen(
  as: "billing", startingAt: .first, inFlight: 4,
  retry: .backoff(from: .milliseconds(20), to: .seconds(1), attempts: 3), deadLetter: "orders.unbilled")
say("\(name) listens")

await untilTerminated()
await listening.drain(within: .seconds(5))
await shop.nats.close()
say("\(name) has ended")
