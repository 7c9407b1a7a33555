import Eventing
import EventingTransport

nonisolated struct OrderPlaced: Codable, Sendable { var id: Int, customer: String }

nonisolated struct Quote: Codable, Sendable { var price: Double }

func remote() async throws {
  let bus = InMemoryTransport()
  let placed = RemoteEvent<OrderPlaced>("orders.placed", over: bus)
  placed.addHandler { order in Log.shared.write("billed \(order.id)") }
  try await placed.listen(as: "billing")
  let receipt = try await placed.publish(OrderPlaced(id: 1, customer: "ada"))
  expect(receipt.position != nil, true)
  while Log.shared.isEmpty { await Task.yield() }
  expect(Log.shared.take(), ["billed 1"])

  let prices = RemoteKeyedEvent<String, Quote>("ticks", over: bus.plain)
  prices["AAPL"].addHandler { quote in Log.shared.write("AAPL \(quote.price)") }
  try await prices.listen()
  try await prices.publish(Quote(price: 201.5), to: "AAPL")
  while Log.shared.isEmpty { await Task.yield() }
  expect(Log.shared.take(), ["AAPL 201.5"])

  let double = RemoteQuestion<Int, Int>("double", over: bus.plain)
  double.addResponder { number in number * 2 }
  try await double.listen(as: "calculators")
  expect(try await double.firstAnswer(to: 2, within: .seconds(10)), 4)
}
