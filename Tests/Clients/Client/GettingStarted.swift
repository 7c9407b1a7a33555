import Eventing
import EventingTesting

// swift-format-ignore
nonisolated struct Order: Sendable { var id: Int, total: Double }

nonisolated final class Shop: Sendable {
  let placed = Event<Order>("placed")
  let closed = Signal("closed")

  func place(_ order: Order) { placed.post(order) }
}

nonisolated final class Ledger: Sendable {
  func book(_ order: Order) { Log.shared.write("booked \(order.id)") }
}

@MainActor final class Window {
  var shown: [Int] = []
  func show(_ order: Order) { shown.append(order.id) }
}

nonisolated struct Mailer {
  func confirm(_ order: Order) async throws { Log.shared.write("confirmed \(order.id)") }
}

// swift-format-ignore
@MainActor func gettingStarted() async throws {
  let (ledger, window, mailer) = (Ledger(), Window(), Mailer())

  let shop = Shop()
  let booking = shop.placed.addHandler { order in ledger.book(order) }               // inline
  shop.placed.addHandler(on: .main) { order in window.show(order) }                  // on the main actor
  shop.placed.addHandler(.named("mail")) { order in try await mailer.confirm(order) } // in a task, in order
  shop.place(Order(id: 1, total: 9.5))

  let report = await shop.placed.send(Order(id: 2, total: 3))
  print(report.delivered, report.failures.count)             // 3 0
  try report.throwIfFailed()

  expect(report.delivered, 3)
  expect(window.shown, [1, 2])

  shop.placed.failures.addHandler { failure in print(failure) }

  shop.placed.remove(booking)                                                        // by its token
  shop.placed.removeAll(where: .named("mail"))                                                  // by its name
  shop.placed.addHandler(owner: ledger) { ledger, order in ledger.book(order) }      // with its owner
  let bag = HandlerBag()
  shop.placed.addHandler { order in print(order.id) }.store(in: bag)                 // with a bag

  let recorder = EventRecorder(shop.placed.map(\.id))
  shop.place(Order(id: 3, total: 1))
  shop.place(Order(id: 4, total: 2))
  try await recorder.expect([3, 4])
  try await recorder.expectNone()

  expect(Log.shared.take().sorted(), ["booked 1", "booked 2", "booked 3", "booked 4", "confirmed 1", "confirmed 2"])
  withExtendedLifetime((ledger, bag)) {}
}
