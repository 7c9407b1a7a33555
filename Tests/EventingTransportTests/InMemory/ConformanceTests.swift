import Eventing
import EventingTesting
import EventingTransport
import Testing

/// The engine in memory keeps the promises of `Transport`, and an engine that breaks one is found.
@Suite(.timeLimit(.minutes(10))) struct ConformanceTests {
  /// Runs a check over a stream in memory or, if `plain` is true, over the transport without a
  /// stream.
  static func run(_ check: TransportConformance.Check, faults: [InMemoryTransport.Fault] = [], plain: Bool = false)
    throws
  {
    try Simulation.run(seeds: 1...8) {
      let bus = InMemoryTransport(seed: 2, faults: faults, clock: Simulation.clock)
      try await TransportConformance(prefix: "test", pause: Simulation.clock) {
        plain ? bus.plain : bus
      } restart: {
        bus.disconnect()
        bus.reconnect(forgettingWhatIsInHand: true)
      }.run(check)
    }
  }

  @Test(arguments: TransportConformance.checks) func aStreamInMemoryConforms(check: TransportConformance.Check) throws {
    try Self.run(check)
  }

  /// Checks what the options of a handler do to a message: each cell of the table in *Past one
  /// machine*.
  @Test(arguments: TransportConformance.handlerChecks)
  func handlersDoToAMessageWhatTheTableSays(check: TransportConformance.Check) throws { try Self.run(check) }

  @Test(arguments: TransportConformance.checks) func plainInMemoryConforms(check: TransportConformance.Check) throws {
    try Self.run(check, plain: true)
  }

  @Test(arguments: ["retry", "order", "cancelUnderLoad", "memberDies", "restart", "deadLetter"])
  func delaysChangeNothing(name: String) throws {
    let check = try #require(TransportConformance.checks.first { $0.name == name })
    try Self.run(check, faults: [.delay(upTo: .milliseconds(20))])
  }

  /// Each of these faults breaks a promise that one of the checks tests.
  @Test func aBrokenEngineIsFound() throws {
    func fails(_ name: String, _ faults: [InMemoryTransport.Fault], plain: Bool = false) throws {
      let check = try #require(TransportConformance.checks.first { $0.name == name })
      #expect(throws: (any Error).self) { try Self.run(check, faults: faults, plain: plain) }
    }
    try fails("delivers", [.duplicate(1)])
    try fails("groups", [.duplicate(0.5)])
    try fails("order", [.drop(0.2)])
    try fails("retry", [.duplicate(1)])
    try fails("atMostOnce", [.drop(0.5)], plain: true)
    try fails("duplicates", [.loseReceipt(1)])
  }
}
