import Eventing
import EventingTesting
import Testing

/// Runs the calls and the program of the guide "From RxSwift and ReactiveSwift".
@Suite(.fewAtATime) struct FromRxSwiftGuideTests {
  struct Order: Sendable, Equatable {
    var id = 7
    var customer: String? = "ada"
  }
  final class Ledger: Sendable {
    let booked = Recorder<Int>()
    func book(_ order: Order) { booked.record(order.id) }
  }
  @MainActor final class Slider { var volume = 0.0 }

  @Test func sending() async throws {
    let placed = Event<Order>("placed")
    let count = Observed(0)
    let log = Event<String>("log", replaying: .last(3))
    let orders = placed.source
    let (order, calls, lines) = (Order(), Recorder<Int>(), Recorder<String>())
    orders.addHandler { calls.record($0.id) }
    let recorder = EventRecorder(placed)
    let clock = ManualClock()

    placed.post(order)
    await placed.send(order)
    count.update { count in count += 1 }
    placed.post(order, after: .seconds(1))
    placed.post(order, after: .seconds(1), clock: clock)
    await clock.advanceWhenIdle(by: .seconds(1))
    try await recorder.expect([order, order, order])
    #expect(calls.count >= 3 && count.value == 1)
    placed.finish()
    for number in 1...4 { log.post("\(number)") }
    log.addHandler { lines.record($0) }
    #expect(lines.values == ["2", "3", "4"])
  }

  @Test func receiving() async {
    let (placed, web, order, ledger) = (Event<Order>("placed"), Event<Order>("web"), Order(), Ledger())
    let (volume, slider) = (Observed(0.5), Slider())
    @Sendable func book(_ order: Order) { ledger.book(order) }
    @MainActor func show(_ order: Order) { ledger.book(order) }

    let token = placed.addHandler { order in book(order) }
    let bag = HandlerBag()
    placed.addHandler { order in book(order) }.store(in: bag)
    placed.addHandler(owner: ledger) { ledger, order in ledger.book(order) }
    placed.addHandler(on: .main) { order in show(order) }
    placed.addHandler(on: .background) { order in book(order) }
    volume.addHandler(on: .main, owner: slider) { slider, volume in slider.volume = volume }
    web.forward(to: placed)
    placed.once { order in book(order) }

    await web.send(order)
    #expect(ledger.booked.count == 6)
    placed.remove(token)
    bag.removeAll()
    #expect(await placed.send(order).delivered == 3)
    await volume.quiesce()
    #expect(await slider.volume == 0.5)
    withExtendedLifetime(ledger) {}
  }

  @Test func views() async {
    let (placed, web, phone, order) = (Event<Order>("placed"), Event<Order>(), Event<Order>(), Order())
    let (first, last, count, noted) = (Observed("Ada"), Observed("King"), Observed(3), Recorder<String>())
    @Sendable func note(_ value: some Sendable) { noted.record("\(value)") }
    @Sendable func book(_ order: Order) { noted.record("booked") }

    placed.map { order in order.id }.addHandler { id in note(id) }
    placed.compactMap { order in order.customer }.addHandler { name in note(name) }
    placed.filter { order in order.id > 1 }.addHandler { order in book(order) }
    placed.map(\.id).removeDuplicates().addHandler { id in note(id) }
    first.combineLatest(last).addHandler { first, last in note(first + last) }
    placed.addHandler { order in note(order.id + count.value) }
    web.forward(to: placed)
    phone.forward(to: placed)
    web.merge(phone).addHandler { order in book(order) }
    await web.send(order)
    await phone.send(order)
    #expect(
      noted.values == ["AdaKing", "7", "ada", "booked", "7", "10", "booked", "7", "ada", "booked", "10", "booked"])
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
    placed.addHandler { order in try await bill(order) }
    placed.addHandler(on: .concurrent(limit: 4)) { order in try await bill(order) }
    search.addHandler(.cancellingPrevious) { text in try await find(text) }
    placed.addHandler(.inOrder(by: \.customer), on: .concurrent(limit: 8)) { order in try await bill(order) }
    placed.addHandler(.retrying(.immediately(attempts: 3))) { order in try await bill(order) }
    placed.addHandler(.timingOut(after: .seconds(5))) { order in try await bill(order) }
    placed.failures.addHandler { failure in note("\(failure)") }

    #expect(await placed.send(Order()).delivered == 6)
    #expect(await search.send("tea").delivered == 3)
    #expect(noted.values.filter { $0 == "billed" }.count == 5 && noted.count == 9)
  }

  // swift-format-ignore
  @Test func after() {
    let output = Recorder<String>()
    @Sendable func print(_ item: Any) { output.record("\(item)") }

    let query = Observed("")
    let results = Event<[String]>("results")
    let names = ["Ada", "Adele", "Grace"]

    query.newValues.removeDuplicates()
      .map { text in names.filter { $0.hasPrefix(text) } }
      .forward(to: results)
    results.addHandler { names in print(names) }
    query.value = "A"
    query.value = "A"
    query.value = "Ad"

    #expect(output.values == [#"["Ada", "Adele"]"#, #"["Ada", "Adele"]"#])
    withExtendedLifetime(results) {}
  }

  @Test func everyLineIsRunHere() throws {
    try GuideCheck.run("FromRxSwift.md", "FromRxSwiftGuideTests", examples: 1, calls: 38)
  }
}
