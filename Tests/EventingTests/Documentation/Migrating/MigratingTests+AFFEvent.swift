import Eventing
import Testing

struct PlacedOrder: Sendable, Equatable { var id = 1 }

// swift-format-ignore
extension EventKey where Payload == PlacedOrder { static let orderPlaced = EventKey("orderPlaced") }

extension MigratingTests {
  typealias Order = PlacedOrder

  final class Shop: Sendable {
    let orderPlaced = Event<Order>("orderPlaced")
    static let opened = Signal("opened")
  }

  final class Ledger: Sendable {
    let entries = Recorder<String>()
    func book(_ order: Order) { entries.record("\(order.id)") }
    func enter(_ order: Order, account: String, page: Int) { entries.record("\(order.id) \(account) \(page)") }
  }

  @Test func eventsOfAnInstanceAndOfAClass() async {
    let orderPlaced = Event<Order>("orderPlaced")
    let shop = Shop()
    let order = Order()
    let calls = Recorder<String>()
    let token = Shop.opened.addHandler { calls.record("opened") }
    shop.orderPlaced.addHandler { order in calls.record("placed \(order.id)") }

    Shop.opened.post()
    shop.orderPlaced.post(order, from: shop)
    await shop.orderPlaced.send(order)
    Shop.opened.remove(token)

    #expect(calls.values == ["opened", "placed 1", "placed 1"])
    #expect(orderPlaced.name == "orderPlaced")
    #expect(Shop.opened.name == "opened")
  }

  @Test func anOccurrenceIsTheEventObject() {
    let orderPlaced = Event<Order>("orderPlaced")
    let shop = Shop()
    let notes = Recorder<String>()
    @Sendable func note(_ sender: (any AnyObject & Sendable)?, _ data: Order, _ name: String?) {
      notes.record("\(sender is Shop) \(data.id) \(name ?? "–")")
    }

    orderPlaced.occurrences.addHandler { event in note(event.sender, event.payload, event.eventName) }

    orderPlaced.post(Order(), from: shop)
    #expect(notes.values == ["true 1 orderPlaced"])
  }

  @Test func eventsAreMadeWhenAskedForAndRemovedFromTheirOwner() throws {
    let bus = EventBus()
    let shop = Shop()
    let orderPlaced = try bus.event(.orderPlaced, of: shop)
    #expect(try bus.event(.orderPlaced, of: shop) === orderPlaced)

    let events = bus.events(of: shop)
    #expect(events.count == 1)
    bus.removeEvent(.orderPlaced, of: shop)
    #expect(bus.events(of: shop).isEmpty)

    #expect(try bus.event(.orderPlaced, of: shop) !== orderPlaced)
    bus.removeEvents(of: shop)
    #expect(bus.events(of: shop).isEmpty)

    shop.orderPlaced.addHandler { _ in }
    shop.orderPlaced.finish()
    #expect(shop.orderPlaced.handlerCount == 0)
  }

  @Test func methodsAreHandlers() async {
    let orderPlaced = Event<Order>()
    let ledger = Ledger()
    let booking = orderPlaced.addHandler(owner: ledger) { $0.book($1) }
    orderPlaced.addHandler(owner: ledger) { $0.enter($1, account: "sales", page: 3) }
    orderPlaced.once(owner: ledger) { $0.book($1) }

    await orderPlaced.send(Order())
    #expect(ledger.entries.values == ["1", "1 sales 3", "1"])
    await orderPlaced.send(Order(id: 2))
    #expect(ledger.entries.values == ["1", "1 sales 3", "1", "2", "2 sales 3"])
    #expect(orderPlaced.contains(booking))
  }

  @Test func methodsRunInTheBackground() async {
    let orderPlaced = Event<Order>()
    let ledger = Ledger()
    orderPlaced.addHandler(on: .background, owner: ledger) { $0.book($1) }
    orderPlaced.once(on: .background, owner: ledger) { $0.book($1) }

    await orderPlaced.send(Order())
    await orderPlaced.send(Order())
    #expect(ledger.entries.count == 3)
    #expect(await orderPlaced.handlers().map(\.delivery) == ["background(utility)"])
  }

  @Test func closuresHaveNamesOrNone() async {
    let orderPlaced = Event<Order>()
    let mails = Recorder<Int>()
    @Sendable func mail(_ order: Order) { mails.record(order.id) }

    orderPlaced.addHandler(.named("mail")) { order in mail(order) }
    let mailing = orderPlaced.addHandler { order in mail(order) }
    orderPlaced.once(.named("mail")) { order in mail(order) }
    orderPlaced.addHandler(.named("mail"), on: .background) { order in mail(order) }
    orderPlaced.once(.named("mail"), on: .background) { order in mail(order) }

    await orderPlaced.send(Order())
    #expect(mails.count == 5)
    await orderPlaced.send(Order())
    #expect(mails.count == 8)
    #expect(orderPlaced.remove(mailing))
    #expect(orderPlaced.removeAll(where: .named("mail")) == 2)
  }

  @Test func severalAreAddedInOneCall() async {
    let orderPlaced = Event<Order>()
    let ledger = Ledger()
    let book = Handler<Order>(.tagged("methods")) { order in ledger.book(order) }
    let mail = Handler<Order>(.named("mail"), .tagged("blocks"), on: .background) { _ in }
    orderPlaced.add(book, mail, Handler(.named("print"), .tagged("blocks"), .once) { order in print(order) })

    #expect(await orderPlaced.send(Order()).delivered == 3)
    #expect(orderPlaced.handlerCount == 2)
  }

  @Test func inspectingGivesSnapshots() async {
    let orderPlaced = Event<Order>()
    let ledger = Ledger()
    let booking = orderPlaced.addHandler(owner: ledger) { $0.book($1) }
    orderPlaced.addHandler(.named("mail")) { _ in }
    orderPlaced.lockAll(where: .named("mail"))

    let hasBooking = orderPlaced.contains(booking)
    let hasMail = orderPlaced.contains(where: .named("mail"))
    let all = await orderPlaced.handlers()
    let ofLedger = await orderPlaced.handlers(where: .ownedBy(ledger))
    let silent = await orderPlaced.handlers().filter(\.isLocked)
    let heard = await orderPlaced.handlers().filter({ !$0.isLocked })
    let isBookingLocked = orderPlaced.isLocked(booking)
    let isMailLocked = await orderPlaced.handlers().filter(\.isLocked).contains { $0.name == "mail" }

    #expect(hasBooking && hasMail && isMailLocked)
    #expect(isBookingLocked == false)
    #expect(all.count == 2)
    #expect(ofLedger.map(\.id) == [booking.id])
    #expect(silent.map(\.name) == ["mail"])
    #expect(heard.map(\.id) == [booking.id])
  }
}
