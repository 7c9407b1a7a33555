#if NATS
  import Eventing
  @testable import EventingNATS
  import EventingTesting
  import Foundation
  import Testing

  @Suite(.serialized) struct ConformanceTests {
    @Test(.timeLimit(.minutes(2)), arguments: TransportConformance.checks)
    func streamsKeepThePromisesOfATransport(check: TransportConformance.Check) async throws {
      try await run(check, NATSServer()) { try await $0.stream("TEST", subjects: ["test.>"]) }
    }

    @Test(.timeLimit(.minutes(2)), arguments: TransportConformance.handlerChecks)
    func handlersDoToAMessageWhatTheTableSays(check: TransportConformance.Check) async throws {
      try await run(check, NATSServer()) { try await $0.stream("TEST", subjects: ["test.>"]) }
    }

    @Test(.timeLimit(.minutes(2)), arguments: TransportConformance.checks)
    func plainMessagesKeepThePromisesOfATransport(check: TransportConformance.Check) async throws {
      try await run(check, NATSServer(hasStreams: false)) { $0.plain }
    }

    /// Runs a check. Each transport has a connection and a proxy of its own. When the check cuts a
    /// proxy, the client looks to the server like a process that died.
    private func run(
      _ check: TransportConformance.Check, _ server: NATSServer,
      _ transport: @escaping @Sendable (NATS) async throws -> NATSTransport
    ) async throws {
      let proxies = Guarded<[ObjectIdentifier: Proxy]>([:])
      try await TransportConformance(prefix: "test", pause: ContinuousClock()) {
        let proxy = try Proxy(to: server.port)
        let result = try await transport(server.connect(through: proxy))
        proxies.withLock { $0[ObjectIdentifier(result.engine)] = proxy }
        return result
      } restart: {
        server.end()
        try server.start()
      } close: { transport in
        await (transport as? NATSTransport)?.engine.close(within: .milliseconds(300))
      } vanish: { transport in
        guard let transport = transport as? NATSTransport else { return }
        proxies.withLock { $0[ObjectIdentifier(transport.engine)] }?.cut()
      }.run(check)
    }
  }
#endif
