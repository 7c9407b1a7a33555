import Dispatch
import Eventing
import Testing

/// Runs the recipes of the guide "Cookbook".
@Suite(.fewAtATime) struct CookbookGuideTests {
  struct Order: Sendable {
    var id = 7
    var total = 120.0
    var customer = "ada"
  }
  struct Payment: Sendable {}
  @MainActor final class Window {
    var shown: [Int] = []
    var fraction = 0.0
    var title = ""
    func show(_ order: Order) { shown.append(order.id) }
  }

  // swift-format-ignore
  @Test func endsOfHandlers() async throws {
    let (orders, payments, order) = (Event<Order>("orders"), Event<Payment>("payments"), Order())
    let (window, calls) = (Window(), Recorder<String>())
    @Sendable func book(_ value: some Sendable) { calls.record("booked") }
    @Sendable func work() async throws { await orders.send(order) }
    @Sendable func print(_ text: String, _ id: Int) { calls.record("\(text) \(id)") }

    orders.once { order in print("first:", order.id) }

    orders.addHandler(on: .main, owner: window) { window, order in window.show(order) }

    let bag = HandlerBag()
    orders.addHandler { order in book(order) }.store(in: bag)
    payments.addHandler { payment in book(payment) }.store(in: bag)
    bag.removeAll()

    try await orders.withHandler(Handler { order in book(order) }) { try await work() }

    #expect(calls.values == ["first: 7", "booked"])
    #expect(await window.shown == [7])
    #expect(orders.handlerCount == 1 && payments.handlerCount == 0)
    withExtendedLifetime(window) {}
  }

  // swift-format-ignore
  @Test func orderAndLocks() async {
    let (orders, order, calls) = (Event<Order>("orders"), Order(), Recorder<String>())
    @Sendable func print(_ text: String, _ id: Int) { calls.record("\(text) \(id)") }
    let token = orders.addHandler { order in calls.record("token \(order.total)") }

    orders.addHandler(.priority(10)) { order in print("before all others:", order.id) }

    orders.intercept(.priority(10)) { order in order.total < 0 ? .stop : .proceed }

    orders.post(Order(total: -1))
    #expect(calls.values == ["before all others: 7"])

    await orders.withLocked(token) { orders.post(order) }

    #expect(calls.count == 2)

    orders.lock(token, holding: .oldest(100))
    orders.post(order)                       // not shown now
    orders.unlock(token)                     // shown now

    await orders.quiesce()

    #expect(calls.values.suffix(2) == ["before all others: 7", "token 120.0"])
  }

  // swift-format-ignore
  @Test func waiting() async throws {
    let (orders, order, seen) = (Event<Order>("orders"), Order(), Recorder<Double>())
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        let large = try await orders.next(within: .seconds(60)) { order in order.total > 100 }

        seen.record(large.total)
      }
      #expect(await eventually { orders.handlerCount > 0 })
      orders.post(order)
      try await group.waitForAll()
    }
    #expect(seen.values == [120])

    let wasHeard = await !orders.send(order).reachedNobody
    orders.unhandled.addHandler { occurrence in print("not heard:", occurrence) }

    #expect(!wasHeard)
    orders.addHandler { _ in }

    try await orders.send(order).throwIfFailed()
  }

  // swift-format-ignore
  @Test func progressFromManyThreads() async {
    let window = Window()
    func shows() async {
      let done = Observed(0)
      done.newValues.addHandler(.throttled(every: .milliseconds(100)), on: .main) { done in window.fraction = Double(done) / 10 }
      DispatchQueue.concurrentPerform(iterations: 10) { _ in done.update { done in done += 1 } }
      await done.quiesce()                     // the last value is shown, which is 1
    }

    await shows()
    #expect(await window.fraction == 1)
  }

  @Test func everyLineIsRunHere() throws {
    try GuideCheck.run("Cookbook.md", "CookbookGuideTests", examples: 29)
  }
}
