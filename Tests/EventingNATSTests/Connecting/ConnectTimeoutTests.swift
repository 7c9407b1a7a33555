#if NATS
  import Eventing
  import EventingNATS
  import Foundation
  import Testing

  /// `connectTimeout:` ends every wait of a connect, wherever the server stops answering.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct ConnectTimeoutTests {
    /// The behavior of servers that fall silent: the text that a server sends to a new connection,
    /// and the number of `PING`s that it then answers with `PONG`.
    static let silences: [(greeting: String, pongs: Int)] = [
      ("", 0), ("INFO {", 0), (TextServer.info(), 0), (TextServer.info(), 1),
      (TextServer.info(#","tls_required":true"#), 0),
    ]

    @Test(arguments: silences.indices) func aServerThatSaysNothingIsLeftInTime(index: Int) async throws {
      let (greeting, pongs) = Self.silences[index]
      let server = try TextServer(greeting, pongs: pongs)
      let error = await transportError {
        _ = try await NATS.connect("nats://127.0.0.1:\(server.port)", connectTimeout: .milliseconds(300))
      }
      #expect(error?.code == .timedOut, "\(error.map { "\($0)" } ?? "no error")")
      #expect(error?.description.contains("within the connectTimeout of 0.3 seconds") == true)
    }

    @Test func aConnectEndsWithItsTask() async throws {
      let server = try TextServer("")
      let address = "nats://127.0.0.1:\(server.port)"
      let connect = Task { try await NATS.connect(address, connectTimeout: .seconds(50)) }
      let begin = ContinuousClock.now
      connect.cancel()
      await #expect(throws: CancellationError.self) { try await connect.value }
      #expect(.now - begin < .seconds(30))
    }

    /// `connectTimeout` is divided among the servers of a call. So a silent server does not use up
    /// the time of the other server.
    @Test func theServerBehindASilentOneIsTaken() async throws {
      let (silent, server) = (try TextServer(""), try NATSServer(hasStreams: false))
      try await server.connect().close()
      for _ in 0..<2 {  // libnats tries the two servers in any order
        let nats = try await NATS.connect(
          "nats://127.0.0.1:\(silent.port)", server.address, connectTimeout: .seconds(20))
        await nats.close()
      }
    }

    @Test(arguments: [Duration.zero, .seconds(-1)]) func aTimeoutOfNothingIsRefused(timeout: Duration) async throws {
      let error = await transportError { _ = try await NATS.connect("nats://127.0.0.1:1", connectTimeout: timeout) }
      #expect(error?.code == .badOption)
    }

    @Test func aHugeTimeoutIsTaken() async throws {
      let server = try NATSServer(hasStreams: false)
      try await server.connect().close()
      try await NATS.connect(server.address, connectTimeout: .seconds(Int64.max)).close()
    }
  }
#endif
