import Dispatch
import Eventing
import Testing

/// Runs the calls of the guide "Choosing".
@Suite(.fewAtATime) struct ChoosingGuideTests {
  struct Order: Sendable {
    var id = 7
    var customer = "ada"
  }
  actor Store { var orders: [Int] = [] }

  @Test func typesAndVerbs() async throws {
    let placed = Event<Order>("placed")
    let closed = Signal("closed")
    let volume = Observed(0.5)
    let moved = KeyedEvent<String, Double>("moved")
    let bus = EventBus()
    let price = EventQuestion<String, Double>("price")
    let (order, calls) = (Order(), Recorder<String>())
    placed.addHandler { _ in calls.record("placed") }
    closed.addHandler { calls.record("closed") }
    moved["ada"].addHandler { calls.record("moved \($0)") }
    bus.event(for: Order.self).addHandler { _ in calls.record("bus") }
    price.addResponder { _ in 2 }

    placed.post(order)
    let report = await placed.send(order)
    let ticket = placed.submit(order)
    let later = placed.post(order, after: .seconds(60))
    let answer = try await price.firstAnswer(to: "tea")
    #expect(report.delivered == 1)
    #expect(await ticket.report.delivered == 1)
    #expect(later.cancel() && answer == 2 && volume.value == 0.5)
    closed.post()
    moved.post(0.5, to: "ada")
    bus.post(order)
    #expect(calls.values == ["placed", "placed", "placed", "closed", "moved 0.5", "bus"])
  }

  @Test func deliveries() async {
    let (placed, queue, database) = (Event<Order>("placed"), DispatchQueue(label: "orders"), HandlerLane("database"))
    let (store, calls) = (Store(), Recorder<String>())
    @Sendable func count(_ order: Order) { calls.record("counted") }
    @Sendable func write(_ order: Order) { calls.record("written") }
    @Sendable func save(_ order: Order) async throws { calls.record("saved") }
    @MainActor func show(_ order: Order) { calls.record("shown") }

    placed.addHandler { order in count(order) }
    placed.addHandler(on: .main) { order in show(order) }
    placed.addHandler { order in try await save(order) }
    placed.addHandler(on: .concurrent(limit: 4)) { order in try await save(order) }
    placed.addHandler(.inOrder(by: \.customer), on: .concurrent(limit: 4)) { order in try await save(order) }
    placed.addHandler(.cancellingPrevious) { order in try await save(order) }
    placed.addHandler(on: .task) { order in try await save(order) }
    placed.addHandler(on: .background) { order in write(order) }
    placed.addHandler(on: .queue(queue)) { order in write(order) }
    placed.addHandler(isolatedTo: store) { store, order in store.orders.append(order.id) }
    placed.addHandler(on: .lane(database)) { order in try await save(order) }

    #expect(await placed.send(Order()).delivered == 11)
    #expect(await store.orders == [7])
    #expect(calls.values.filter { $0 == "saved" }.count == 6 && calls.count == 10)
  }

  @Test func limits() async {
    let (placed, calls) = (Event<Order>("placed"), Recorder<String>())
    @Sendable func save(_ order: Order) async throws { calls.record("saved") }
    @Sendable func saveAll(_ batch: [Order]) async throws { calls.record("saved \(batch.count)") }
    @MainActor func show(_ order: Order) { calls.record("shown") }

    placed.addHandler(.buffering(.suspendingSender(8))) { order in try await save(order) }
    placed.addHandler(.buffering(.latest), on: .main) { order in show(order) }
    placed.addHandler(.buffering(.newest(100))) { order in try await save(order) }
    placed.batches(of: 100).addHandler { batch in try await saveAll(batch) }
    placed.addHandler(.throttled(every: .milliseconds(100)), on: .main) { order in show(order) }

    #expect(await placed.send(Order()).delivered == 5)
    #expect(calls.values.sorted() == ["saved", "saved", "saved 1", "shown", "shown"])
  }

  @Test func locks() async {
    let (placed, calls) = (Event<Int>("placed"), Recorder<Int>())
    let token = placed.addHandler { calls.record($0) }

    placed.lock(token)
    placed.post(1)
    placed.unlock(token)
    placed.lock(token, holding: .oldest(100))
    placed.post(2)
    placed.post(3)
    placed.unlock(token)
    placed.lock(token, holding: .latest)
    placed.post(4)
    placed.post(5)
    placed.unlock(token)
    await placed.quiesce()
    #expect(calls.values == [2, 3, 5])
    placed.remove(token)
    placed.post(6)
    #expect(calls.count == 3)
  }

  @Test func everyLineIsRunHere() throws {
    try GuideCheck.run("Choosing.md", "ChoosingGuideTests", examples: 0, calls: 30)
  }
}
