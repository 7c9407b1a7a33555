// Shows totals:  dashboard
//
// A dashboard listens without a group and from the first message. So each dashboard receives all
// messages.
import Shop

actor Totals {
  private var placed = 0
  private var unbilled = 0
  private var bills: [String: Int] = [:]

  func place() { show { placed += 1 } }
  func leave() { show { unbilled += 1 } }
  func bill(by name: String) { show { bills[name, default: 0] += 1 } }

  private func show(_ change: () -> Void) {
    change()
    let names = bills.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    say("placed \(placed), billed \(bills.values.reduce(0, +)) (\(names)), unbilled \(unbilled)")
  }
}

let shop = try await Shop()
let totals = Totals()
shop.placed.addHandler { _ in await totals.place() }
shop.billed.addHandler { bill in await totals.bill(by: bill.by) }
shop.unbilled.addHandler { _ in await totals.leave() }
try await shop.placed.listen(startingAt: .first)
try await shop.billed.listen(startingAt: .first)
try await shop.unbilled.listen(startingAt: .first)
say("dashboard listens")

await untilTerminated()
await shop.nats.close()
