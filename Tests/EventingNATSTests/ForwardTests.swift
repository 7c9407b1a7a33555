#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// A message that a forward publishes has its place in the order as soon as it is in the send
  /// queue.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct ForwardTests {
    /// The server sends no receipt. The forward publishes the next payloads nevertheless.
    @Test func aForwardWaitsForNoReceipt() async throws {
      let server = try TextServer(TextServer.info(), pongs: .max)
      let nats = try await NATS.connect("nats://127.0.0.1:\(server.port)", publishTimeout: .seconds(600))
      let stream = NATSTransport(nats.engine, StreamName(name: "TEST", subjects: ["test.>"]))
      let (placed, local) = (RemoteEvent<String>("test.a", over: stream), Event<String>("local"))
      local.forward(to: placed)
      for number in 1...64 { local.post("<\(number)>") }
      /// Returns the number of each message once, in the order of the first arrivals. The engine
      /// sends a message again if no receipt comes.
      func numbers() -> [Int] {
        server.received.matches(of: /<(\d+)>/).compactMap { Int($0.1) }.reduce(into: []) { numbers, number in
          if !numbers.contains(number) { numbers.append(number) }
        }
      }
      try await eventually("expected 64 messages, got \(numbers())") { numbers().count == 64 }
      #expect(numbers() == Array(1...64))
      await nats.close(within: .zero)
      withExtendedLifetime(placed) {}
    }
  }
#endif
