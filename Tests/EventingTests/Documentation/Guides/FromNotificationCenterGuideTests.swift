import Eventing
import EventingFoundation
import Foundation
import Testing

extension Notification.Name {
  static let orderSaved = Notification.Name("FromNotificationCenterGuideTests.orderSaved")
  static let orderPlaced = Notification.Name("FromNotificationCenterGuideTests.orderPlaced")
}

/// Runs the calls and the program of the guide "From NotificationCenter".
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct FromNotificationCenterGuideTests {
  struct Order: Sendable { var id = 7 }
  final class Shop: Sendable {
    let placed = Event<Order>("placed")
  }
  final class Ledger: Sendable {
    let booked = Recorder<Int>()
    func book(_ order: Order) { booked.record(order.id) }
  }
  enum App {
    // swift-format-ignore
    static let launched = Signal("launched")
  }
  final class Document: Sendable {}

  @Test func posting() async {
    let placed = Event<Order>("placed")
    let (search, shop, order, calls) = (Event<String>(), Shop(), Order(), Recorder<String>())
    @Sendable func note(_ text: String) { calls.record(text) }
    let token = App.launched.addHandler { note("launched") }
    placed.addHandler { order in note("placed \(order.id)") }

    placed.post(order)
    await placed.send(order)
    placed.post(order, from: shop)
    App.launched.post()
    App.launched.remove(token)
    search.add(Handler { text in note(text) }.debounced(for: .milliseconds(300)))
    search.post("te")
    search.post("tea")
    await search.quiesce()
    #expect(calls.values.prefix(4) == ["placed 7", "placed 7", "placed 7", "launched"])
    #expect(calls.values.last == "tea")
  }

  @Test func observing() async {
    let (shop, order, ledger) = (Shop(), Order(), Ledger())
    @Sendable func book(_ order: Order) { ledger.book(order) }
    @MainActor func show(_ order: Order) { ledger.book(order) }

    let token = shop.placed.addHandler { order in book(order) }
    shop.placed.addHandler(on: .main) { order in show(order) }
    shop.placed.addHandler(on: .background) { order in book(order) }
    shop.placed.addHandler(Ledger.book, of: ledger)
    shop.placed.once { order in book(order) }
    #expect(await shop.placed.send(order).delivered == 5)
    shop.placed.remove(token)
    shop.placed.remove(ownedBy: ledger)
    #expect(await shop.placed.send(order).delivered == 2)

    let bus = EventBus()
    bus.addHandler(for: Order.self) { order in book(order) }
    bus.post(order)
    #expect(ledger.booked.count == 8)
    withExtendedLifetime(ledger) {}
  }

  @Test func oneEventForAllShops() {
    let (sales, shop, other, order) = (KeyedEvent<ObjectKey, Order>("sales"), Shop(), Shop(), Order())
    let calls = Recorder<Int>()
    @Sendable func note(_ order: Order) { calls.record(order.id) }

    sales.anyKey.addHandler { shop, order in note(order) }
    sales[ObjectKey(shop)].addHandler { order in note(order) }
    sales.post(order, to: shop)
    #expect(calls.count == 2)
    sales.post(order, to: other)
    #expect(calls.count == 3)
    withExtendedLifetime((shop, other)) {}
  }

  @Test func sequencesAndOccurrences() async {
    let (shop, booked, noted) = (Shop(), Recorder<Int>(), Recorder<String>())
    let placed = shop.placed
    let loop = Task {
      @Sendable func book(_ order: Order) { booked.record(order.id) }
      for await order in shop.placed.payloads() { book(order) }
    }
    #expect(await eventually { placed.hasHandlers })
    @Sendable func note(_ name: String?, _ sender: (any AnyObject & Sendable)?) {
      noted.record("\(name ?? "") \(sender is Shop)")
    }
    placed.occurrences.addHandler { occurrence in note(occurrence.eventName, occurrence.sender) }
    placed.post(Order(), from: shop)
    placed.finish()
    await loop.value
    #expect(booked.values == [7] && noted.values == ["placed true"])
  }

  @Test func bothAtOnce() {
    let (document, calls, placed) = (Document(), Recorder<String>(), Event<Order>("placed"))
    let saved = Event(notifications: .orderSaved)
    let savedHere = Event(notifications: .orderSaved, object: document)
    placed.forward(to: .default, as: .orderPlaced) { order in ["id": order.id] }
    let heard = Event(notifications: .orderPlaced)
    saved.addHandler { _ in calls.record("saved") }
    savedHere.addHandler { _ in calls.record("saved here") }
    heard.addHandler { calls.record("\($0.userInfo?["id"] ?? 0)") }

    NotificationCenter.default.post(name: .orderSaved, object: nil)
    NotificationCenter.default.post(name: .orderSaved, object: document)
    placed.post(Order())
    #expect(calls.values.sorted() == ["7", "saved", "saved", "saved here"])
    withExtendedLifetime((saved, savedHere, heard)) {}
  }

  private static let outputBefore = Recorder<String>()
  private static let outputAfter = Recorder<String>()
  private static func line(_ items: [Any]) -> String { items.map { "\($0)" }.joined(separator: " ") }

  // swift-format-ignore
  @Test func before() {
    @Sendable func print(_ items: Any...) {
      FromNotificationCenterGuideTests.outputBefore.record(FromNotificationCenterGuideTests.line(items))
    }

    final class Download: Sendable {
      static let received = Notification.Name("received")

      func run() {
        for step in 1...3 {
          NotificationCenter.default.post(name: Download.received, object: self, userInfo: ["count": step * 100])
        }
      }
    }

    final class Meter: @unchecked Sendable {   // Safe: only while one thread posts.
      private var total = 0
      private var observation: (any NSObjectProtocol)?

      init(_ download: Download) {
        observation = NotificationCenter.default.addObserver(forName: Download.received, object: download, queue: nil) {
          [weak self] notification in
          guard let self, let count = notification.userInfo?["count"] as? Int else { return }
          total += count
          print("received:", total)
        }
      }
      deinit { if let observation { NotificationCenter.default.removeObserver(observation) } }
    }

    let download = Download()
    let meter = Meter(download)
    download.run()

    #expect(Self.outputBefore.values == ["received: 100", "received: 300", "received: 600"])
    withExtendedLifetime(meter) {}
  }

  // swift-format-ignore
  @Test func after() {
    @Sendable func print(_ items: Any...) {
      FromNotificationCenterGuideTests.outputAfter.record(FromNotificationCenterGuideTests.line(items))
    }

    final class Download: Sendable {
      let received = Event<Int>("received")

      func run() {
        for step in 1...3 { received.post(step * 100) }
      }
    }

    final class Meter: Sendable {
      private let total = Observed(0)

      init(_ download: Download) {
        download.received.addHandler(owner: self) { meter, count in
          meter.total.update { total in total += count }
          print("received:", meter.total.value)
        }
      }
    }

    let download = Download()
    let meter = Meter(download)
    download.run()

    #expect(Self.outputAfter.values == ["received: 100", "received: 300", "received: 600"])
    withExtendedLifetime(meter) {}
  }

  @Test func everyLineIsRunHere() throws {
    try GuideCheck.run("FromNotificationCenter.md", "FromNotificationCenterGuideTests", examples: 2, calls: 23)
  }
}
