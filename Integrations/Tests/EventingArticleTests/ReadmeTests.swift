import Eventing
import EventingDiagnostics
import EventingGRDB
import EventingLifecycle
import EventingLog
import EventingMetrics
import EventingTracing
import EventingTransport
import Foundation
import GRDB
import Logging
import ServiceLifecycle
import Testing
import UnixSignals

/// Runs the examples of the README of `Integrations`. Examples that observe all events of the
/// process run in processes of their own.
@Suite(.timeLimit(.minutes(5))) struct ReadmeTests {
  static let quiet = Logger(label: "readme", factory: { _ in SwiftLogNoOpLogHandler() })

  // swift-format-ignore
  @Test func log() async {
    await #expect(processExitsWith: .success) {
      let (orders, nats, logger) = (Event<Int>("orders"), InMemoryTransport(), ReadmeTests.quiet)

      orders.failures.log(to: logger, as: "orders")
      nats.incidents.log(to: logger)
      orders.logUnheard(to: logger)
      EventDiagnostics(to: logger, slowerThan: .milliseconds(100), stuckAfter: .seconds(10)).observeNewEvents()

      let report = await orders.send(1)
      precondition(report.reachedNobody)
    }
  }

  // swift-format-ignore
  @Test func metrics() async {
    await #expect(processExitsWith: .success) {
      let orders = Event<Int>("orders")

      let metrics = EventMetrics()
      metrics.observeNewEvents()        // or orders.observe(with: metrics)
      await metrics.sample(orders)      // repeat at an interval: records how many occurrences wait for each handler

      orders.post(1)
    }
  }

  // swift-format-ignore
  @Test func tracing() async {
    await #expect(processExitsWith: .success) {
      @Sendable func bill(_ order: Int) async throws {}
      let (orders, placed) = (Event<Int>("orders"), RemoteEvent<Int>("placed", over: InMemoryTransport()))
      let order = 1

      EventTracing.propagate()              // call it once, at the start: lanes and other processes get the trace context
      orders.addHandler(perform: EventTracing.traced("billing") { order in try await bill(order) })
      await orders.tracedSend(order)    // makes a span; billing has a child span, on whatever lane it runs
      try await placed.tracedPublish(order)
      HandlerSpans().observeNewEvents() // or: makes a span of each call, without a change to the handlers

      let report = await orders.send(order)
      precondition(report.delivered == 1)
    }
  }

  struct Server: Service {
    let notes: Notes
    func run() async throws {
      notes.note("running")
      try await gracefulShutdown()
    }
  }

  // swift-format-ignore
  @Test func lifecycle() async throws {
    let (orders, payments, notes) = (Event<Int>("orders"), Event<Int>("payments"), Notes())
    let (placed, server, logger) = (
      RemoteEvent<Int>("placed", over: InMemoryTransport()), Server(notes: notes), ReadmeTests.quiet
    )

    let group = ServiceGroup(
      services: [
        EventService(orders, payments) { names in logger.warning("still running: \(names)") },
        ListeningService(drainingWithin: .seconds(10)) { try await placed.listen(as: "billing") },
        server,                       // sends
      ], gracefulShutdownSignals: [.sigterm], logger: logger)

    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { try await group.run() }
      while notes.all.isEmpty { await Task.yield() }
      await group.triggerGracefulShutdown()
      try await tasks.waitForAll()
    }
    #expect(orders.isFinished && payments.isFinished)
  }

  struct Order: Codable, Sendable, PersistableRecord {
    static let databaseTableName = "orders"
    var id: Int64
  }
  struct OrderPlaced: Codable, Sendable { var id: Int64 }
  struct Bill: Codable, Sendable, PersistableRecord {
    static let databaseTableName = "bills"
    var orderID: Int64
    init(for order: OrderPlaced) { orderID = order.id }
  }

  // swift-format-ignore
  @Test func outboxAndInbox() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "eventing-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let database = try DatabasePool(path: folder.appending(path: "shop.sqlite").path)
    var migrator = DatabaseMigrator()

    migrator.registerMigration("eventing") { db in try EventingTables.create(in: db) }

    migrator.registerMigration("shop") { db in
      try db.execute(sql: "CREATE TABLE orders (id INTEGER PRIMARY KEY)")
      try db.execute(sql: "CREATE TABLE bills (orderID INTEGER PRIMARY KEY)")
    }
    try migrator.migrate(database)
    let (order, placed) = (Order(id: 7), RemoteEvent<OrderPlaced>("placed", over: InMemoryTransport()))

    let outbox = Outbox<OrderPlaced>("orders", in: database)
    try await database.write { db in
      try order.insert(db)
      try outbox.append(OrderPlaced(id: order.id), in: db)    // both, or neither
    }
    let relaying = Task { try await outbox.relay(to: placed) }   // runs until cancelled; a service can run it, too

    let inbox = Inbox("billing", in: database)
    placed.remoteOccurrences.addHandler { message in
      try await inbox.handle(message) { db in try Bill(for: message.payload).insert(db) }
    }
    try await placed.listen(as: "billing")

    var billed: [Int64] = []
    while billed.isEmpty {
      billed = try await database.read { db in try Int64.fetchAll(db, sql: "SELECT orderID FROM bills") }
    }
    #expect(billed == [7])
    relaying.cancel()
    _ = await relaying.result
  }

  @Test func everyExampleIsRunHere() throws {
    let examples = try Articles.fenced(Articles.integrations.appending(path: "README.md"))
    #expect(examples.count == 8)
    let (manifests, code) = (examples.filter { $0.contains { $0.hasPrefix(".package(") } }, examples.dropFirst())
    #expect(manifests == [examples[0]])
    try Articles.expect(Array(code.prefix(6)), in: "ReadmeTests.swift")
    // The last example of Integrations/README.md has several loops, each on one line. Each loop has
    // its own test, so `expect` looks for each line separately.
    try Articles.expect(code.dropFirst(6).joined().map { [$0] }, in: "ReadmeTests+AsyncAlgorithms.swift")
  }

  @Test func theProductsOfTheReadmeExist() throws {
    let readme = try Articles.fenced(Articles.integrations.appending(path: "README.md"))[0].joined()
    let manifest = try Articles.text(Articles.integrations.appending(path: "Package.swift"))
    for name in ["swift-eventing-integrations", "EventingLog"] {
      #expect(readme.contains("\"\(name)\"") && manifest.contains("name: \"\(name)\""))
    }
  }
}
