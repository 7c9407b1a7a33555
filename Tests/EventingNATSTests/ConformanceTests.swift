#if NATS
  import Eventing
  import EventingNATS
  import EventingTesting
  import Foundation
  import Testing

  @Suite(.serialized) struct ConformanceTests {
    @Test(.timeLimit(.minutes(2)), arguments: TransportConformance.checks)
    func streamsKeepThePromisesOfATransport(check: TransportConformance.Check) async throws {
      let server = try NATSServer()
      try await conformance(server) { try await server.connect().stream("TEST", subjects: ["test.>"]) }.run(check)
    }

    @Test(.timeLimit(.minutes(2)), arguments: TransportConformance.checks)
    func plainMessagesKeepThePromisesOfATransport(check: TransportConformance.Check) async throws {
      let server = try NATSServer(hasStreams: false)
      try await conformance(server) { try await server.connect().plain }.run(check)
    }

    private func conformance(
      _ server: NATSServer, _ connect: @escaping @Sendable () async throws -> any Transport
    ) -> TransportConformance {
      TransportConformance(prefix: "test", pause: ContinuousClock(), connect: connect) {
        server.end()
        try server.start()
      }
    }
  }
#endif
