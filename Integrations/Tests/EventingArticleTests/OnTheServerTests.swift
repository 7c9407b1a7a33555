import Eventing
import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

/// Runs the code of the guide "On the server" that needs swift-service-lifecycle. `Application`
/// stands in for Hummingbird's type, because Hummingbird takes minutes to build: `Examples/Servers`
/// uses it.
@Suite(.timeLimit(.minutes(2))) struct OnTheServerTests {
  struct Order: Sendable { var id = 7 }
  struct Orders: Sendable {
    let placed = Event<Order>("placed")
  }
  struct Client: Sendable {
    let notes = Notes()
    func write(_ text: String) async throws { notes.note(text) }
  }
  struct Router: Sendable {}
  struct Application: Sendable {
    let router: Router
    let services: [any Service]

    func run() async throws {
      try await ServiceGroup(
        services: services, logger: Logger(label: "shop", factory: { _ in SwiftLogNoOpLogHandler() })
      ).run()
    }
  }
  struct Database: Service {
    func run() async throws { try await gracefulShutdown() }
  }

  /// Tests the first way to end open streams in the guide "On the server": in the handler of each
  /// request that streams events to a client. The comment in the code is a line of the guide.
  @Test func aStreamEndsWithTheBeginningOfAShutdown() async throws {
    let (orders, client) = (Event<Order>("placed"), Client())
    try await testGracefulShutdown { trigger in
      try await withThrowingTaskGroup(of: Void.self) { group in
        // swift-format-ignore
        group.addTask {
          // First way, in the handler of each request: this loop ends when a shutdown begins.
          for await order in orders.payloads(buffering: .newest(64)).cancelOnGracefulShutdown() { try await client.write("data: \(order.id)\n\n") }
        }
        await untilHeard(orders)
        orders.post(Order())
        while client.notes.all.isEmpty { await Task.yield() }
        trigger.triggerGracefulShutdown()
        try await group.waitForAll()
      }
    }
    #expect(client.notes.all == ["data: 7\n\n"] && !orders.isFinished)
  }

  /// Tests the second way to end open streams in the guide "On the server": one shutdown handler
  /// around the whole application. The comment in the code is a line of the guide.
  @Test func theEventOfStreamsEndsWithTheBeginningOfAShutdown() async throws {
    let streamed = Event<Order>("streamed")
    let app = Application(router: Router(), services: [Database()])
    let stream = Task { for await _ in streamed.payloads() {} }
    await untilHeard(streamed)
    try await testGracefulShutdown { trigger in
      try await withThrowingTaskGroup(of: Void.self) { group in
        // swift-format-ignore
        group.addTask {
          // Second way, around the application: a shutdown ends `streamed` and its loops.
          try await withGracefulShutdownHandler { try await app.run() } onGracefulShutdown: { streamed.finish() }
        }
        trigger.triggerGracefulShutdown()
        try await group.waitForAll()
      }
    }
    await stream.value
    #expect(streamed.isFinished)
  }

  @Test func aServiceOfEventsQuiescesThem() async throws {
    let (orders, router, database, notes) = (Orders(), Router(), Database(), Notes())
    orders.placed.addHandler { order async in
      for _ in 0..<50 { await Task.yield() }
      notes.note("handled \(order.id)")
    }

    struct OrderEvents: Service {
      let orders: Orders

      func run() async throws {
        try? await gracefulShutdown()
        await orders.placed.quiesce()
        orders.placed.finish()
      }
    }

    let app = Application(router: router, services: [database, OrderEvents(orders: orders)])

    try await testGracefulShutdown { trigger in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await app.run() }
        orders.placed.post(Order())
        trigger.triggerGracefulShutdown()
        try await group.waitForAll()
      }
    }
    #expect(notes.all == ["handled 7"] && orders.placed.isFinished)
  }

  @Test(.enabled(if: Articles.hasGuides)) func everyIndentedLineIsRunHere() throws {
    let examples = try Articles.indented(Articles.guide("OnTheServer.md"))
    #expect(examples.map(\.count) == [4, 9])
    // The guide's first indented example shows two ways to end streams, each in two lines. A
    // program needs only one way, so each way has its own test above. Therefore `expect` looks for
    // each pair of lines separately.
    let alternatives = [Array(examples[0].prefix(2)), Array(examples[0].suffix(2))]
    try Articles.expect(alternatives + examples.dropFirst(), in: "OnTheServerTests.swift")
  }
}
