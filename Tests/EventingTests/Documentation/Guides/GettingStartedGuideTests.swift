import Eventing
import EventingTesting
import Testing

/// Runs the examples of the guide "Getting started".
@Suite(.fewAtATime) struct GettingStartedGuideTests {
  // swift-format-ignore
  struct Order: Sendable { var id: Int, total: Double }

  final class Shop: Sendable {
    let placed = Event<Order>("placed")
    let closed = Signal("closed")

    func place(_ order: Order) { placed.post(order) }
  }

  final class Ledger: Sendable {
    let booked = Recorder<Int>()
    func book(_ order: Order) { booked.record(order.id) }
  }
  @MainActor final class Window {
    var shown: [Int] = []
    func show(_ order: Order) { shown.append(order.id) }
  }
  struct Mailer {
    let confirmed = Recorder<Int>()
    func confirm(_ order: Order) async throws { confirmed.record(order.id) }
  }

  // swift-format-ignore
  @Test func theGuideFromTopToBottom() async throws {
    let (ledger, window, mailer) = (Ledger(), Window(), Mailer())

    let shop = Shop()
    let booking = shop.placed.addHandler { order in ledger.book(order) }               // inline
    shop.placed.addHandler(on: .main) { order in window.show(order) }                  // on the main actor
    shop.placed.addHandler(.named("mail")) { order in try await mailer.confirm(order) } // in a task, in order
    shop.place(Order(id: 1, total: 9.5))

    let report = await shop.placed.send(Order(id: 2, total: 3))
    print(report.delivered, report.failures.count)             // 3 0
    try report.throwIfFailed()

    #expect(report.delivered == 3 && report.failures.isEmpty)
    #expect(ledger.booked.values == [1, 2] && mailer.confirmed.values == [1, 2])
    #expect(await window.shown == [1, 2])

    shop.placed.failures.addHandler { failure in print(failure) }

    shop.placed.remove(booking)                                                        // by its token
    shop.placed.removeAll(where: .named("mail"))                                                  // by its name
    shop.placed.addHandler(owner: ledger) { ledger, order in ledger.book(order) }      // with its owner
    let bag = HandlerBag()
    shop.placed.addHandler { order in print(order.id) }.store(in: bag)                 // with a bag

    #expect(shop.placed.handlerCount == 3)
    bag.removeAll()
    #expect(shop.placed.handlerCount == 2)

    let recorder = EventRecorder(shop.placed.map(\.id))
    shop.place(Order(id: 3, total: 1))
    shop.place(Order(id: 4, total: 2))
    try await recorder.expect([3, 4])
    try await recorder.expectNone()

    #expect(ledger.booked.values == [1, 2, 3, 4])
    #expect(mailer.confirmed.values == [1, 2])
    withExtendedLifetime((ledger, bag)) {}
  }

  @Test func everyLineIsRunHere() throws {
    try GuideCheck.run("GettingStarted.md", "GettingStartedGuideTests", examples: 6)
  }
}
