import Eventing
import EventingTesting
import Testing

/// Runs the examples of the article "Handlers at work".
@Suite(.fewAtATime) struct HandlersAtWorkArticleTests {
  struct Order: Sendable {
    var id = 1
    var customer = "ada"
  }
  struct Payment: Sendable {}
  @MainActor final class Model {
    var query = ""
    var fraction = 0.0
  }
  private static let done = Recorder<String>()

  private static func bill(_ order: Order) async throws { done.record("billed") }
  private static func insert(_ batch: [Order]) async throws { done.record("inserted \(batch.count)") }
  private static func ship(_ order: Order) async throws { done.record("shipped") }
  private static func save<Value>(_ value: Value) async throws { done.record("saved") }
  private static func results(for text: String) async throws -> [String] { [text] }
  private static func show(_ results: [String]) async { done.record("shown") }

  @Test func attempts() async {
    let orders = Event<Order>()
    let bill = HandlersAtWorkArticleTests.bill
    orders.addHandler(
      .named("billing"), .retrying(.exponential(from: .milliseconds(100), to: .seconds(30), attempts: 5)),
      .timingOut(after: .seconds(5))
    ) { order in try await bill(order) }

    orders.deadLetters.addHandler { letter in print(letter.payload, letter.failure.error, letter.failure.attempts) }

    #expect(await orders.send(Order()).delivered == 1)
  }

  @Test func batches() async {
    let (orders, insert) = (Event<Order>(), HandlersAtWorkArticleTests.insert)
    orders.batches(of: 100, within: .milliseconds(50)).addHandler { batch in try await insert(batch) }

    #expect(await orders.send(Order()).delivered == 1)
  }

  @Test func aSendWaitsForTheRestOfTheWindowOfItsBatch() async {
    let (clock, orders, calls, arrived) = (ManualClock(), Event<Int>(), Recorder<String>(), Counter())
    orders.batches(of: 100, within: .seconds(2), clock: clock).addHandler { batch in calls.record("batch \(batch)") }
    orders.addHandler { _ in arrived.add() }
    orders.post(1)
    await clock.advanceWhenIdle(by: .seconds(1))
    let sending = Task {
      await orders.send(2)
      calls.record("sent")
    }
    #expect(await eventually { arrived.value == 2 })
    await clock.advanceWhenIdle(by: .milliseconds(999))
    #expect(calls.values == [])
    await clock.advanceWhenIdle(by: .milliseconds(1))
    await sending.value
    #expect(calls.values == ["batch [1, 2]", "sent"])
  }

  @Test func paces() async {
    let (search, progress, model) = (Event<String>(), Event<Double>(), Model())
    let (show, results) = (HandlersAtWorkArticleTests.show, HandlersAtWorkArticleTests.results)
    search.addHandler(.debounced(for: .milliseconds(300)), on: .main) { text in model.query = text }
    progress.addHandler(.throttled(every: .milliseconds(100)), on: .main) { fraction in model.fraction = fraction }

    #expect(await progress.send(1).delivered == 1)
    search.post("te")
    search.post("tea")
    await search.quiesce()
    #expect(await model.query == "tea")

    search.removeAll()
    let clock = ContinuousClock()
    search.addHandler(.cancellingPrevious) { text in
      try await clock.sleep(for: .milliseconds(300))
      await show(try await results(text))
    }
    let first = search.submit("te")
    #expect(await search.send("tea").delivered == 1)
    #expect(await first.report.dropped == 1)
  }

  @Test func order() async {
    let (orders, payments) = (Event<Order>(), Event<Payment>())
    let ship = HandlersAtWorkArticleTests.ship
    orders.addHandler(.inOrder(by: \.customer), on: .concurrent(limit: 8)) { order in try await ship(order) }

    @Sendable func save(_ value: some Sendable) async throws { try await HandlersAtWorkArticleTests.save(value) }
    let database = HandlerLane("database")
    orders.addHandler(on: .lane(database)) { order in try await save(order) }
    payments.addHandler(on: .lane(database)) { payment in try await save(payment) }
    await database.quiesce()

    #expect(await orders.send(Order()).delivered == 2)
    #expect(await payments.send(Payment()).delivered == 1)
  }

  @Test func later() {
    let reminders = Event<String>()
    let reminder = reminders.post("cart abandoned", after: .seconds(3600))
    reminder.cancel()

    #expect(!reminder.cancel())
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "HandlersAtWorkArticleTests")
    let code = try Documentation.examples(Documentation.article("HandlersAtWork.md"))
    #expect(code.count == 8)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in HandlersAtWorkArticleTests.swift as it stands in the article: \(example.first ?? "")")
    }
  }
}
