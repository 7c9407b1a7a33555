import CoreMetrics
import Eventing
import EventingMetrics
import EventingTesting
import EventingTransport
import MetricsTestKit
import Testing

@Suite(.timeLimit(.minutes(2))) struct MetricsTests {
  private struct Failure: Error {}

  private let found = TestMetrics()

  private func calls(_ event: String, _ handler: String, _ outcome: String) -> Int64 {
    found.counterTotal(
      label: "eventing.calls", dimensions: [("event", event), ("handler", handler), ("outcome", outcome)])
  }

  @Test func callsAreCountedByEventHandlerAndOutcome() async throws {
    let orders = Event<Int>("orders")
    orders.observe(with: EventMetrics(factory: found))
    orders.addHandler(.named("billing")) { _ async in await Task.yield() }
    orders.addHandler(.named("audit")) { (order: Int) throws in if order == 2 { throw Failure() } }
    let locked = orders.addHandler(.named("locked")) { _ in }
    orders.lock(locked)
    for order in 1...3 { await orders.send(order) }
    #expect(found.counterTotal(label: "eventing.occurrences", dimensions: [("event", "orders")]) == 3)
    #expect(calls("orders", "billing", "delivered") == 3)
    #expect(calls("orders", "audit", "delivered") == 2)
    #expect(calls("orders", "audit", "failed") == 1)
    #expect(calls("orders", "locked", "skipped") == 3)
    #expect(calls("orders", "locked", "delivered") == 0)
    let timer = try found.expectTimer("eventing.call.duration", [("event", "orders"), ("handler", "billing")])
    #expect(timer.values.count == 3)
    #expect(timer.values.allSatisfy { $0 > 0 })
  }

  @Test func droppedOccurrencesAreCounted() async throws {
    let orders = Event<Int>("orders")
    orders.observe(with: EventMetrics(factory: found))
    let (gate, opening) = AsyncStream.makeStream(of: Void.self)
    orders.addHandler(.named("small"), .buffering(.oldest(1)), on: .inOrder) { _ async in for await _ in gate {} }
    for order in 1...10 { orders.post(order) }
    opening.finish()
    await orders.quiesce()
    let dropped = calls("orders", "small", "dropped")
    #expect(dropped >= 7)
    #expect(dropped + calls("orders", "small", "delivered") == 10)
  }

  @Test func theBacklogOfAGroupIsMeasured() async throws {
    let bus = InMemoryTransport()
    let placed = RemoteEvent<Int>("placed", over: bus)
    let metrics = EventMetrics(factory: found)
    // A new group has no member that takes messages while the event has no handler.
    try await placed.listen(as: "billing")
    for number in 1...3 { try await placed.publish(number) }
    metrics.record(try await placed.backlog(of: "billing"), of: "placed", in: "billing")
    func value(_ name: String) throws -> Double? {
      try found.expectMeter("eventing.backlog.\(name)", [("subject", "placed"), ("group", "billing")]).lastValue
    }
    #expect(try value("waiting") == 3)
    #expect(try value("in_hand") == 0)
    #expect(try value("redelivered") == 0)
    #expect(try value("age") ?? 0 > 0)
    placed.addHandler { _ in }
    while try await placed.backlog(of: "billing") != Backlog(waiting: 0, inHand: 0) {
      try await Task.sleep(for: .milliseconds(1))
    }
    metrics.record(try await placed.backlog(of: "billing"), of: "placed", in: "billing")
    #expect(try value("waiting") == 0)
    #expect(try value("age") == 0)
  }

  @Test func metersForgetWhatIsNotObservedAnyMore() async throws {
    let orders = Event<Int>("orders")
    let observation = orders.observe(with: EventMetrics(factory: found))
    let (gate, opening) = AsyncStream.makeStream(of: Void.self)
    let (began, beginning) = AsyncStream.makeStream(of: Void.self)
    orders.addHandler(.named("billing")) { _ async in
      beginning.yield()
      for await _ in gate {}
    }
    orders.post(1)
    for await _ in began { break }
    let running = try found.expectMeter("eventing.running", [("event", "orders"), ("handler", "billing")])
    #expect(running.lastValue == 1)
    observation.end()
    #expect(running.lastValue == 0)
    #expect(try found.expectMeter("eventing.handlers", [("event", "orders")]).lastValue == 0)
    opening.finish()
    await orders.quiesce()
    #expect(running.lastValue == 0)
  }

  @Test func metersFollowHandlersAndRunningCalls() async throws {
    let orders = Event<Int>("orders")
    let metrics = EventMetrics(factory: found)
    orders.observe(with: metrics)
    let (gate, opening) = AsyncStream.makeStream(of: Void.self)
    let (began, beginning) = AsyncStream.makeStream(of: Void.self)
    let token = orders.addHandler(.named("billing")) { _ async in
      beginning.yield()
      for await _ in gate {}
    }
    orders.post(1)
    orders.post(2)
    orders.post(3)
    for await _ in began { break }
    let running = try found.expectMeter("eventing.running", [("event", "orders"), ("handler", "billing")])
    #expect(running.lastValue == 1)
    await metrics.sample(orders)
    let waiting = try found.expectMeter("eventing.waiting", [("event", "orders"), ("handler", "billing")])
    #expect(waiting.lastValue == 2)
    let handlers = try found.expectMeter("eventing.handlers", [("event", "orders")])
    #expect(handlers.lastValue == 1)
    orders.remove(token)
    await metrics.sample(orders)
    #expect(waiting.lastValue == 0)
    opening.finish()
    await orders.quiesce()
    #expect(running.lastValue == 0 && handlers.lastValue == 0)
  }

  @Test func dimensionsAreBoundedAndNeverHavePayloads() async throws {
    let metrics = EventMetrics(factory: found, namesUpTo: 3)
    for number in 0..<10 {
      let event = Event<String>("event \(number)")
      event.observe(with: metrics)
      for other in 0..<4 { event.addHandler(.named("handler \(number) \(other)")) { _ in } }
      await event.send("secret \(number)")
    }
    let dimensions = (found.counters.map(\.dimensions) + found.timers.map(\.dimensions)).flatMap { $0 }
    let events = Set(dimensions.filter { $0.0 == "event" }.map(\.1))
    let handlers = Set(dimensions.filter { $0.0 == "handler" }.map(\.1))
    #expect(events == ["event 0", "event 1", "event 2", "other"])
    #expect(handlers == ["handler 0 0", "handler 0 1", "handler 0 2", "other"])
    #expect(!dimensions.contains { $0.1.contains("secret") })
    #expect(found.counterTotal(label: "eventing.occurrences", dimensions: [("event", "other")]) == 7)
  }

  @Test func eventsAndHandlersWithoutNamesAreNamedByTypeAndPlace() async throws {
    let event = Event<Int>()
    event.observe(with: EventMetrics(factory: found))
    event.addHandler { _ async in }
    await event.send(1)
    let dimensions = try #require(found.timers.first { $0.dimensions.count == 2 }).dimensions
    #expect(dimensions[0].1 == "Int")
    #expect(dimensions[1].1.hasPrefix("EventingMetricsTests/MetricsTests.swift:"))
  }
}
