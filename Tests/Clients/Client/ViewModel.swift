import Eventing

/// A view model, isolated to the main actor in every mode.
@MainActor final class OrderTable {
  private(set) var rows: [String] = []
  private(set) var size = 0
  private(set) var closed = false

  init(_ shop: Shop, resized: Event<(Int, Int)>) {
    shop.placed.addHandler(on: .main, owner: self) { table, order in table.rows.append("#\(order.id)") }
    shop.placed.map(\.total).addHandler(on: .main, owner: self) { table, total in table.rows.append("\(total)") }
    shop.closed.addHandler(on: .main, owner: self) { table in table.closed = true }
    resized.addHandler(on: .main, owner: self) { table, width, height in table.size = width * height }
    shop.placed.addHandler(.named("saved"), on: .main, owner: self) { table, order in
      await table.save()
      table.rows.append("saved")
    }
  }

  func save() async { await Task.yield() }
}

@MainActor func viewModel() async {
  let (shop, resized) = (Shop(), Event<(Int, Int)>())
  let table = OrderTable(shop, resized: resized)
  await shop.placed.send(Order(id: 1, total: 2))
  await shop.closed.send()
  await resized.send((3, 4))
  expect(table.rows, ["#1", "2.0", "saved"])
  expect(table.size, 12)
  expect(table.closed, true)
}
