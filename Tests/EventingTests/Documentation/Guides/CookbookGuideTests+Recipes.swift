import Eventing
import EventingDiagnostics
import EventingTesting
import Testing

/// Recipes about time, load, values and structure.
extension CookbookGuideTests {
  @Test func searching() async {
    let (search, calls) = (Event<String>("search"), Recorder<String>())
    @Sendable func find(_ text: String) async throws -> String { text }
    @Sendable func show(_ text: String) async { calls.record(text) }

    let clock = ManualClock()
    clock.meet(search)

    search.addHandler(.cancellingPrevious) { text in
      try await clock.sleep(for: .milliseconds(300))
      await show(try await find(text))
    }

    let first = search.submit("te")
    await clock.advanceWhenIdle(by: .milliseconds(200))
    search.post("tea")
    #expect(await first.report.dropped == 1)  // the first call has been cancelled
    await clock.advanceWhenIdle(by: .milliseconds(299))
    #expect(calls.values == [])
    await clock.advanceWhenIdle(by: .milliseconds(1))
    await search.quiesce()
    #expect(calls.values == ["tea"])
  }

  // swift-format-ignore
  @Test func load() async {
    let (orders, payments, all) = (Event<Order>("orders"), Event<Payment>("payments"), [Order(), Order()])
    let calls = Recorder<String>()
    @Sendable func insert(_ batch: [Order]) async throws { calls.record("inserted") }
    @Sendable func bill(_ order: Order) async throws { calls.record("billed") }
    @Sendable func save(_ value: some Sendable) async { calls.record("saved") }

    orders.batches(of: 100, within: .milliseconds(50)).addHandler { batch in try await insert(batch) }

    orders.addHandler(.retrying(.exponential(from: .milliseconds(100), to: .seconds(30), attempts: 5))) { order in try await bill(order) }
    orders.deadLetters.addHandler { letter in print("given up:", letter.payload) }

    orders.addHandler(.inOrder(by: \.customer), on: .concurrent(limit: 8)) { order in try await bill(order) }

    let database = HandlerLane("database")
    orders.addHandler(on: .lane(database)) { order in await save(order) }
    payments.addHandler(on: .lane(database)) { payment in await save(payment) }

    orders.addHandler(.buffering(.suspendingSender(8))) { order in await save(order) }
    for order in all { await orders.send(order) }

    await payments.send(Payment())
    #expect(calls.values.sorted().suffix(5) == ["saved", "saved", "saved", "saved", "saved"])
    #expect(calls.values.filter { $0 == "billed" }.count == 4)
  }

  // swift-format-ignore
  @Test func reminding() {
    let (orders, reminders) = (Event<Order>("orders"), Event<String>("reminders"))

    let reminder = reminders.post("your cart", after: .seconds(3_600))
    orders.once { _ in reminder.cancel() }

    orders.post(Order())
    #expect(!reminder.cancel())
    withExtendedLifetime(reminders) {}
  }

  // swift-format-ignore
  @Test func values() async {
    let (first, last, window) = (Observed("Ada"), Observed("King"), Window())
    let calls = Recorder<String>()
    @Sendable func print(_ items: Any...) { calls.record(items.map { "\($0)" }.joined(separator: " ")) }

    let count = Observed(0)
    count.newValues.addHandler { count in print("now", count) }
    count.update { count in count += 1 }

    first.combineLatest(last).addHandler(on: .main) { first, last in window.title = first + " " + last }

    let log = Event<String>("log", replaying: .last(2))
    for line in ["one", "two", "three"] { log.post(line) }
    log.addHandler { line in print(line) }   // two, three

    await last.quiesce()
    #expect(calls.values == ["now 1", "two", "three"])
    #expect(await window.title == "Ada King")
    withExtendedLifetime(first) {}
  }

  // swift-format-ignore
  final class Shop: Sendable {
    private let closed = Signal("closed")
    var isClosing: some EventSource<Void> { closed.source }
    func close() { closed.post() }
  }

  @Test func listeningOnly() {
    let (shop, calls) = (Shop(), Recorder<String>())
    shop.isClosing.addHandler { calls.record("closing") }
    shop.close()
    #expect(calls.values == ["closing"])
    withExtendedLifetime(shop) {}
  }

  // swift-format-ignore
  @Test func watching() async {
    await #expect(processExitsWith: .success) {
      let diagnostics = EventDiagnostics(slowerThan: .milliseconds(100), stuckAfter: .seconds(10)) { finding in print(finding) }
      let watching = diagnostics.observeNewEvents()   // until watching.end()

      let orders = Event<Order>("orders")
      let report = await orders.send(Order())
      precondition(report.reachedNobody)
      watching.end()
    }
  }

  /// The recipe numbers of the guide are in order, and there are 29.
  @Test func thereAreTwentyNineRecipes() throws {
    let lines = try Documentation.lines(Documentation.article("Guides/Cookbook.md"))
    let numbers = lines.filter { $0.hasPrefix("### ") }.compactMap { Int($0.dropFirst(4).prefix { $0 != "." }) }
    #expect(numbers == Array(1...29))
  }
}
