import Dispatch
import Eventing
import EventingFoundation
import Foundation
import Testing

extension Notification.Name {
  static let orderShown = Notification.Name("FromCombineGuideTests.orderShown")
}

/// Runs the calls and the program of the guide "From Combine".
@Suite(.fewAtATime) struct FromCombineGuideTests {
  struct Order: Sendable, Equatable {
    var id = 7
    var customer: String? = "ada"
  }
  final class Ledger: Sendable {
    let booked = Recorder<Int>()
    func book(_ order: Order) { booked.record(order.id) }
  }
  final class Player { @Observed var volume = 0.5 }
  @MainActor final class Slider { var volume = 0.0 }
  final class Shop: Sendable {
    private let placed = Event<Order>()
    // swift-format-ignore
    var orders: some EventSource<Order> { placed.source }
    func place(_ order: Order) { placed.post(order) }
  }
  final class Radio {
    // swift-format-ignore
    @Observed var volume = 0.5
  }

  final class Mixer: Sendable {
    let volume = Observed(0.5)
  }

  @Test func sending() async {
    let placed = Event<Order>("placed")
    let closed = Signal("closed")
    let count = Observed(0)
    let (calls, order) = (Recorder<String>(), Order())
    placed.addHandler { calls.record("placed \($0.id)") }
    closed.addHandler { calls.record("closed") }

    placed.post(order)
    await placed.send(order)
    closed.post()
    count.update { count in count += 1 }
    placed.post(order, after: .seconds(1))
    placed.finish()
    placed.post(order)

    #expect(calls.values.prefix(3) == ["placed 7", "placed 7", "closed"])
    #expect(count.value == 1 && Radio().volume == Mixer().volume.value)
    let shop = Shop()
    shop.orders.addHandler { calls.record("shop \($0.id)") }
    shop.place(order)
    #expect(calls.values.last == "shop 7")
  }

  @Test func receiving() async {
    let (placed, order, ledger, queue) = (Event<Order>("placed"), Order(), Ledger(), DispatchQueue(label: "ledger"))
    @Sendable func book(_ order: Order) { ledger.book(order) }
    @MainActor func show(_ order: Order) { ledger.book(order) }

    let token = placed.addHandler { order in book(order) }
    placed.addHandler(owner: ledger) { ledger, order in ledger.book(order) }
    let bag = HandlerBag()
    placed.addHandler { order in book(order) }.store(in: bag)
    #expect(await placed.send(order).delivered == 3)
    placed.remove(token)
    bag.removeAll()
    placed.addHandler(on: .main) { order in show(order) }
    placed.addHandler(on: .queue(queue)) { order in book(order) }
    placed.once { order in book(order) }
    placed.filter { order in order.id == 7 }.once { order in book(order) }
    #expect(await placed.send(order).delivered == 5)
    #expect(await placed.send(order).delivered == 3)
    #expect(ledger.booked.count == 11)
    withExtendedLifetime(ledger) {}
  }

  @Test func loops() async {
    let (placed, booked) = (Event<Order>("placed"), Recorder<Int>())
    let loop = Task {
      @Sendable func book(_ order: Order) { booked.record(order.id) }
      for await order in placed.payloads() { book(order) }
    }
    #expect(await eventually { placed.handlerCount > 0 })
    placed.post(Order())
    placed.finish()
    await loop.value
    #expect(booked.values == [7])
  }

  @Test func properties() async {
    let (player, slider, noted) = (Player(), Slider(), Recorder<Double>())
    @Sendable func note(_ volume: Double) { noted.record(volume) }

    player.$volume.addHandler(on: .main, owner: slider) { slider, volume in slider.volume = volume }
    player.$volume.addHandler { volume in note(volume) }
    player.$volume.newValues.addHandler { volume in note(volume) }
    player.volume = 0.7
    await player.$volume.quiesce()
    #expect(noted.values == [0.5, 0.7, 0.7])
    #expect(await slider.volume == 0.7)
  }

  @Test func notifications() {
    let (center, calls) = (NotificationCenter.default, Recorder<String>())
    let shown = Event(notifications: .orderShown)
    shown.addHandler { calls.record($0.name.rawValue) }
    center.post(name: .orderShown, object: nil)
    #expect(calls.values == [Notification.Name.orderShown.rawValue])
    withExtendedLifetime(shown) {}
  }

  @Test func views() async {
    let (placed, web, phone, order) = (Event<Order>("placed"), Event<Order>(), Event<Order>(), Order())
    let (first, last, noted) = (Observed("Ada"), Observed("King"), Recorder<String>())
    @Sendable func note(_ value: some Sendable) { noted.record("\(value)") }
    @Sendable func book(_ order: Order) { noted.record("booked") }

    placed.map { order in order.id }.addHandler { id in note(id) }
    placed.compactMap { order in order.customer }.addHandler { name in note(name) }
    placed.filter { order in order.id > 1 }.addHandler { order in book(order) }
    placed.map(\.id).removeDuplicates().addHandler { id in note(id) }
    first.combineLatest(last).addHandler { first, last in note(first + last) }
    web.forward(to: placed)
    phone.forward(to: placed)
    web.merge(phone).addHandler { order in book(order) }
    await web.send(order)
    await phone.send(order)
    #expect(noted.values == ["AdaKing", "7", "ada", "booked", "7", "booked", "7", "ada", "booked", "booked"])
    withExtendedLifetime(placed) {}
  }

  @Test func modifiers() async {
    let (placed, search, noted) = (Event<Order>("placed"), Event<String>(), Recorder<String>())
    @Sendable func note(_ text: String) { noted.record(text) }
    @Sendable func insert(_ batch: [Order]) async throws { noted.record("inserted") }
    @Sendable func bill(_ order: Order) async throws { noted.record("billed") }
    @Sendable func find(_ text: String) async throws { noted.record("found") }

    search.addHandler(.debounced(for: .milliseconds(300))) { text in note(text) }
    search.addHandler(.throttled(every: .milliseconds(100))) { text in note(text) }
    placed.batches(of: 100, within: .milliseconds(50)).addHandler { batch in try await insert(batch) }
    placed.addHandler(.buffering(.newest(100))) { order in try await bill(order) }
    placed.addHandler(on: .concurrent(limit: 4)) { order in try await bill(order) }
    search.addHandler(.cancellingPrevious) { text in try await find(text) }
    placed.addHandler(.retrying(.immediately(attempts: 4))) { order in try await bill(order) }
    placed.addHandler(.timingOut(after: .seconds(5))) { order in try await bill(order) }
    placed.failures.addHandler { failure in note("\(failure)") }
    placed.deadLetters.addHandler { letter in note("\(letter.payload.id): \(letter.failure.error)") }

    #expect(await placed.send(Order()).delivered == 5)
    #expect(await search.send("tea").delivered == 3)
    #expect(noted.values.sorted() == ["billed", "billed", "billed", "billed", "found", "inserted", "tea", "tea"])
  }

  @Test func stateAndErrors() async {
    let placed = Event<Order>("placed")
    let total = Observed(0)
    @Sendable func check(_ order: Order) throws { if order.id < 0 { throw CancellationError() } }
    placed.addHandler { order in total.update { total in total += order.id } }
    placed.addHandler { order in try check(order) }
    placed.post(Order())
    #expect(await placed.send(Order(id: -1)).failures.count == 1)
    #expect(total.value == 6)
  }

  // swift-format-ignore
  @Test func after() {
    let output = Recorder<String>()
    @Sendable func print(_ items: Any...) { output.record(items.map { "\($0)" }.joined(separator: " ")) }

    final class Download: Sendable {
      let progress = Event<Double>("progress")
      let state = Observed("waiting")

      func run() {
        state.value = "running"
        for step in 1...4 { progress.post(Double(step) / 4) }
        progress.finish()
        state.value = "done"
      }
    }

    let bag = HandlerBag()
    let download = Download()
    download.state.addHandler { state in print("state:", state) }.store(in: bag)
    download.progress.map { Int($0 * 100) }.filter { $0 > 25 }
      .addHandler { percent in print("\(percent) %") }.store(in: bag)
    download.run()

    #expect(output.values == ["state: waiting", "state: running", "50 %", "75 %", "100 %", "state: done"])
    withExtendedLifetime(bag) {}
  }

  @Test func everyLineIsRunHere() throws {
    try GuideCheck.run("FromCombine.md", "FromCombineGuideTests", examples: 3, calls: 59)
  }
}
