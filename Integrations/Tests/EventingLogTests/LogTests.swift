import Eventing
import EventingDiagnostics
import EventingLog
import EventingTesting
import EventingTransport
import InMemoryLogging
import Logging
import Testing

@Suite(.timeLimit(.minutes(2))) struct LogTests {
  private struct Failure: Error, CustomStringConvertible { var description: String { "the card was refused" } }

  private let lines = InMemoryLogHandler()
  private let logger: Logger

  init() {
    let lines = lines
    logger = Logger(label: "test") { _ in lines }
  }

  @Test func failuresAreLoggedWithTheirHandlerAndWithoutThePayload() async throws {
    let orders = Event<String>("orders")
    orders.addHandler(.named("billing")) { (_: String) throws in throw Failure() }
    let token = orders.failures.log(to: logger, as: "orders")
    await orders.send("secret")
    let entry = try #require(lines.entries.first)
    #expect(lines.entries.count == 1)
    #expect(entry.level == .error)
    #expect(entry.message == "a handler failed")
    #expect(entry.metadata["event"] == "orders")
    #expect(entry.metadata["handler"] == "billing")
    #expect(entry.metadata["error"] == "the card was refused")
    #expect(entry.metadata["error.type"] == "Failure")
    #expect(entry.metadata["attempts"] == "1")
    #expect("\(entry.metadata["file"] ?? "")".hasPrefix("EventingLogTests/LogTests.swift:"))
    #expect(!"\(entry)".contains("secret"))
    withExtendedLifetime((orders, token)) {}
  }

  @Test func incidentsAreLoggedByTheirKind() async throws {
    let bus = InMemoryTransport()
    bus.incidents.log(to: logger)
    bus.disconnect()
    bus.reconnect()
    let placed = RemoteEvent<Int>("orders.placed", over: bus)
    placed.addHandler { _ in }
    let dead = EventRecorder(bus.incidents.map { "\($0.kind)" })
    try await placed.listen(as: "billing")
    _ = try await bus.publish(RemoteMessage(body: Array("no number".utf8)), to: "orders.placed")
    try await dead.expect(["deadLetter"], within: .seconds(60))
    #expect(lines.entries.map(\.level) == [.warning, .notice, .warning])
    #expect(lines.entries.map { $0.metadata["incident"] } == ["lost", "reconnected", "deadLetter"])
    #expect(lines.entries.last?.metadata["subject"] == "orders.placed")
    withExtendedLifetime(bus) {}
  }

  @Test func slowHandlersAreLoggedWithTheirPlace() async throws {
    let orders = Event<Int>("orders")
    orders.addHandler(.named("slow")) { _ in }
    orders.observe(with: EventDiagnostics(to: logger, slowerThan: .zero))
    await orders.send(1)
    let entry = try #require(lines.entries.first)
    #expect(entry.level == .warning)
    #expect(entry.metadata["finding"] == "slowHandler")
    #expect(entry.metadata["event"] == "orders")
    #expect(entry.metadata["event.number"] == "\(orders.identity.number)")
    #expect(entry.metadata["handler"] == "slow")
    #expect(entry.metadata["milliseconds"] != nil)
  }

  @Test func tooManyHandlersAreLoggedWithTheirNumber() throws {
    let orders = Event<Int>("orders")
    orders.observe(with: EventDiagnostics(to: logger, at: .info, moreHandlersThan: 2))
    for _ in 0..<3 { orders.addHandler(.named("forgotten")) { _ in } }
    let entry = try #require(lines.entries.first)
    #expect(entry.level == .info)
    #expect(entry.metadata["handlers"] == "3")
    #expect(entry.metadata["handler"] == nil)
    withExtendedLifetime(orders) {}
  }

  @Test func stuckHandlersAreLoggedAsErrors() async throws {
    let orders = Event<Int>("orders")
    let (gate, opening) = AsyncStream.makeStream(of: Void.self)
    orders.addHandler(.named("stuck")) { _ async in for await _ in gate {} }
    orders.observe(with: EventDiagnostics(to: logger, stuckAfter: .milliseconds(20)))
    let ticket = orders.submit(1)
    // A busy machine may tell of the lane that has not begun the call, before it begins.
    func found() -> InMemoryLogHandler.Entry? { lines.entries.first { $0.metadata["finding"] == "stuckHandler" } }
    let deadline = ContinuousClock.now.advanced(by: .seconds(60))
    while found() == nil, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(1)) }
    opening.finish()
    _ = await ticket.report
    let entry = try #require(found())
    #expect(entry.level == .error)
    #expect(entry.metadata["handler"] == "stuck")
  }

  @Test func unheardOccurrencesAreLogged() async throws {
    let orders = Event<String>("orders")
    let token = orders.logUnheard(to: logger)
    await orders.send("secret")
    let entry = try #require(lines.entries.first)
    #expect(entry.level == .notice)
    #expect(entry.metadata == ["event": "orders", "sequence": "1"])
    withExtendedLifetime((orders, token)) {}
  }
}
