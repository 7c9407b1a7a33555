// Bills orders:  billing NAME
//
// Start any number of these processes: each order goes to one of them. If the handler fails, the
// order is delivered again. After the third failed attempt it goes to `orders.unbilled`. On
// Control-C or SIGTERM, the process first finishes the orders that it has begun.
import Shop

struct NothingToBill: Error {}

let name = CommandLine.arguments.dropFirst().first ?? "anna"
let shop = try await Shop()
let billed = shop.billed

shop.placed.addHandler { order in
  guard order.cents > 0 else { throw NothingToBill() }
  try await Task.sleep(for: .milliseconds(5))  // stands for the call of a bank
  // An order may be delivered twice. Its bill has an id, so the stream stores the bill once.
  let receipt = try await billed.publish(OrderBilled(number: order.number, by: name), id: "bill-\(order.number)")
  say(receipt.isDuplicate ? "order \(order.number) was billed before" : "\(name) billed order \(order.number)")
}
let listening = try await shop.placed.listen(
  as: "billing", startingAt: .first, inFlight: 4,
  retry: .exponential(from: .milliseconds(20), to: .seconds(1), attempts: 3), deadLetter: "orders.unbilled")
say("\(name) listens")

await untilTerminated()
await listening.drain(within: .seconds(5))
await shop.nats.close()
say("\(name) has ended")
