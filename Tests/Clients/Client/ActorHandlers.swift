import Eventing

actor Totals {
  private(set) var total = 0.0
  private(set) var batches = 0

  func listen(to shop: Shop) {
    shop.placed.addHandler(.named("total"), isolatedTo: self) { totals, order in totals.total += order.total }
    shop.placed.batches(of: 10).addHandler(isolatedTo: self) { totals, batch in totals.batches += 1 }
  }
}

func actorHandlers() async {
  let (shop, totals) = (Shop(), Totals())
  await totals.listen(to: shop)
  await shop.placed.send(Order(id: 1, total: 2))
  await shop.placed.send(Order(id: 2, total: 3))
  expect(await totals.total, 5)
  expect(await totals.batches, 2)
}
