import Dispatch
import Eventing
import EventingFoundation
import Foundation
import Testing

extension Notification.Name {
  static let orderSaved = Notification.Name("FromNotificationCenterGuideTests.orderSaved")
  static let orderPlaced = Notification.Name("FromNotificationCenterGuideTests.orderPlaced")
}

/// Runs the calls and the program of the guide "From NotificationCenter".
@Suite(.fewAtATime) struct FromNotificationCenterGuideTests {
  struct Order: Sendable {
    var id: Int
    var shop: Shop?

    init(id: Int = 7, shop: Shop? = nil) { (self.id, self.shop) = (id, shop) }
    init?(_ note: PostedNotification) {
      guard let id = note.userInfo?["id"] as? Int else { return nil }
      self.init(id: id)
    }
  }
  final class Shop: Sendable {
    let placed = Event<Order>("placed")
  }
  final class Ledger: Sendable {
    let booked = Recorder<Int>()
    func book(_ order: Order) { booked.record(order.id) }
  }
  @MainActor final class Window {
    var shown = 0
    func show(_ order: Order) { shown += 1 }
  }
  actor Store {
    var booked: [Int] = []
    func book(_ order: Order) { booked.append(order.id) }
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
    let ledger = Ledger()
    search.addHandler(.debounced(for: .milliseconds(300)), owner: ledger) { _, text in note(text) }
    search.post("te")
    search.post("tea")
    await search.quiesce()
    #expect(calls.values.prefix(4) == ["placed 7", "placed 7", "placed 7", "launched"])
    #expect(calls.values.last == "tea")
    withExtendedLifetime(ledger) {}
  }

  @Test func observing() async {
    let (shop, order, ledger, store) = (Shop(), Order(), Ledger(), Store())
    let mine = DispatchQueue(label: "mine")
    @Sendable func book(_ order: Order) { ledger.book(order) }
    @MainActor func show(_ order: Order) { ledger.book(order) }

    let token = shop.placed.addHandler { order in book(order) }
    shop.placed.addHandler(on: .main) { order in show(order) }
    shop.placed.addHandler(on: .background) { order in book(order) }
    shop.placed.addHandler(on: .queue(mine)) { order in book(order) }
    shop.placed.addHandler(owner: ledger) { $0.book($1) }
    shop.placed.addHandler(owner: store) { store, order in await store.book(order) }
    shop.placed.once { order in book(order) }
    #expect(await shop.placed.send(order).delivered == 7)
    shop.placed.remove(token)
    shop.placed.removeAll(where: .ownedBy(ledger))
    #expect(await shop.placed.send(order).delivered == 4)
    #expect(await store.booked == [7, 7])

    let bus = EventBus()
    bus.event(for: Order.self).addHandler { order in book(order) }
    bus.post(order)
    #expect(ledger.booked.count == 10)
    withExtendedLifetime((ledger, store)) {}
  }

  @MainActor @Test func aPostOnMainCallsAHandlerOnMainBeforeItReturns() {
    let (shop, ledger) = (Shop(), Ledger())
    shop.placed.addHandler(on: .main) { order in ledger.book(order) }
    shop.placed.post(Order())
    #expect(ledger.booked.values == [7])
  }

  @Test func anOwnerIsRemovedFromOneEventAndABagFromAll() {
    let (shop, other, ledger, bag) = (Shop(), Shop(), Ledger(), HandlerBag())
    for shop in [shop, other] { shop.placed.addHandler(owner: ledger) { $0.book($1) }.store(in: bag) }
    shop.placed.removeAll(where: .ownedBy(ledger))
    #expect(shop.placed.handlerCount == 0 && other.placed.handlerCount > 0)
    bag.removeAll()
    #expect(other.placed.handlerCount == 0)
    withExtendedLifetime(ledger) {}
  }

  @Test func oneEventForAllShops() async {
    let (shop, other, order, ledger) = (Shop(), Shop(), Order(), Ledger())
    let (calls, shops) = (Recorder<Int>(), Recorder<Bool>())
    @Sendable func note(_ order: Order) { calls.record(order.id) }
    @Sendable func note(_ order: Order, of sender: Shop?) { shops.record(sender === shop) }

    let sales = KeyedEvent<ObjectKey, Order>("sales")
    sales.anyKey.addHandler { key, order in note(order, of: key.object as? Shop) }
    sales.anyKey.addHandler(owner: ledger) { ledger, sale in ledger.book(sale.payload) }
    sales[shop].addHandler { order in note(order) }
    sales.post(order, to: shop)
    sales.post(order, to: other)
    #expect(calls.count == 1 && ledger.booked.count == 2 && shops.values == [true, false])
    sales.untargeted.post(order)
    #expect(ledger.booked.count == 2)
    sales.removeAll(where: .key(ObjectKey(shop), of: sales))
    sales.post(order, to: shop)
    #expect(calls.count == 1 && ledger.booked.count == 3)
    withExtendedLifetime((shop, other, ledger)) {}
  }

  @Test func aDebounceOfAnyKeyKeepsTheLastOfAllShops() async {
    let (sales, shops, seen) = (KeyedEvent<ObjectKey, Order>("sales"), [Shop(), Shop()], Recorder<String>())
    sales.anyKey.addHandler(.debounced(for: .seconds(60))) { sale in seen.record("any \(sale.payload.id)") }
    for shop in shops {
      sales[shop].addHandler(.debounced(for: .seconds(60))) { order in seen.record("one \(order.id)") }
    }
    for (id, shop) in shops.enumerated() { sales.post(Order(id: id), to: shop) }
    await sales.quiesce()
    #expect(seen.values.sorted() == ["any 1", "one 0", "one 1"])
    withExtendedLifetime(shops) {}
  }

  @Test func sequencesAndOccurrences() async {
    let (shop, booked, noted) = (Shop(), Recorder<Int>(), Recorder<String>())
    let placed = shop.placed
    let orders = shop.placed.payloads()
    let loop = Task {
      @Sendable func book(_ order: Order) { booked.record(order.id) }
      for await order in orders { book(order) }
    }
    @Sendable func note(_ name: String?, _ sender: (any AnyObject & Sendable)?) {
      noted.record("\(name ?? "") \(sender is Shop)")
    }
    placed.occurrences.addHandler { occurrence in note(occurrence.eventName, occurrence.sender) }
    placed.post(Order(), from: shop)
    placed.finish()
    await loop.value
    #expect(booked.values == [7] && noted.values == ["placed true"])
  }

  @Test func moreThanANotificationCenterHas() async throws {
    let (shop, order, ledger, calls) = (Shop(), Order(), Ledger(), Recorder<String>())
    let window = Window()
    @Sendable func note(_ old: String?, _ new: String) { calls.record("\(old ?? "") to \(new)") }
    @Sendable func note(_ title: String) { calls.record(title) }
    let status = Event<String>("status", replaying: .last(1))
    status.post("open")
    status.addHandler { status in note(status) }

    let title = Observed("draft")
    title.changes().addHandler { change in note(change.old, change.new) }
    title.addHandler { title in note(title) }
    title.value = "letter"
    #expect(calls.values == ["open", "draft", "draft to letter", "letter"])

    shop.placed.addHandler(on: .main, owner: window) { window, order in window.show(order) }
    let token = shop.placed.addHandler(owner: ledger) { $0.book($1) }
    shop.placed.lock(token, holding: .oldest(100))
    shop.placed.post(order)
    #expect(ledger.booked.count == 0)
    shop.placed.unlock(token)
    await shop.placed.quiesce()
    #expect(ledger.booked.count == 1)
    shop.placed.post(order, after: .milliseconds(1))
    let next = try await shop.placed.next(within: .seconds(5))
    await shop.placed.quiesce()
    #expect(next.id == 7)
    #expect(await window.shown == 2)
    withExtendedLifetime(ledger) {}
  }

  @Test func aSenderIsHeldWeakly() {
    let (placed, noted) = (Event<Order>("placed"), Recorder<Bool>())
    placed.occurrences.addHandler { occurrence in noted.record(occurrence.sender == nil) }
    placed.addHandler(.priority(1)) { order in
      // The event is busy, so this occurrence waits in the mailbox. Its sender is not retained.
      if order.id == 1 { placed.post(Order(id: 2), from: Shop()) }
    }
    placed.post(Order(id: 1))
    #expect(noted.values == [true, true])
  }

  @Test func bothAtOnce() {
    let (document, calls) = (Document(), Recorder<String>())
    @Sendable func print(_ id: Int) { calls.record("saved \(id)") }
    let saved = Event(notifications: .orderSaved)
    let savedHere = Event(notifications: .orderSaved, object: document)
    let all = Event(notifications: nil)
    saved.addHandler { _ in calls.record("saved") }
    saved.compactMap { note in note.userInfo?["id"] as? Int }.addHandler { id in print(id) }
    savedHere.addHandler { _ in calls.record("saved here") }
    all.filter { $0.name == .orderSaved }.addHandler { _ in calls.record("saved at all") }
    Event(notifications: .orderSaved).addHandler { _ in calls.record("an event that is not stored") }

    NotificationCenter.default.post(name: .orderSaved, object: nil)
    NotificationCenter.default.post(name: .orderSaved, object: document, userInfo: ["id": 3])
    #expect(calls.values.sorted() == ["saved", "saved", "saved 3", "saved at all", "saved at all", "saved here"])
    withExtendedLifetime((saved, savedHere, all)) {}
  }

  @Test func aBridgeInBothDirections() {
    let (placed, calls) = (Event<Order>("placed"), Recorder<String>())
    placed.addHandler { order in calls.record("order \(order.id)") }
    let observer = NotificationCenter.default.addObserver(forName: .orderPlaced, object: nil, queue: nil) { note in
      calls.record("note \(note.userInfo?["id"] ?? "") \(note.object is Shop)")
    }
    placed.forward(to: .default, as: .orderPlaced) { order in ["id": order.id] }
    placed.map { order in PostedNotification(.orderPlaced, object: order.shop) }.forward(to: .default)
    let heard = Event(notifications: .orderPlaced)
    heard.compactMap { note in Order(note) }.forward(to: placed)

    placed.post(Order(shop: Shop()))
    #expect(calls.values == ["order 7", "note 7 false", "note  true"])
    NotificationCenter.default.post(name: .orderPlaced, object: nil, userInfo: ["id": 8])
    #expect(calls.values.dropFirst(3).sorted() == ["note 8 false", "order 8"])
    NotificationCenter.default.removeObserver(observer)
    withExtendedLifetime(heard) {}
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
    try GuideCheck.run("FromNotificationCenter.md", "FromNotificationCenterGuideTests", examples: 2, calls: 41)
  }
}
