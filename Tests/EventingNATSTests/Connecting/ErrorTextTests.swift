#if NATS
  import Eventing
  import EventingNATS
  import Foundation
  import Testing

  /// A connection of libnats stores only its last error. Yet each error is reported with its own
  /// text.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct ErrorTextTests {
    @Test func errorsThatComeTogetherKeepTheirTexts() async throws {
      let server = try TextServer(TextServer.info(), pongs: .max)
      let nats = try await NATS.connect("nats://127.0.0.1:\(server.port)")
      let reasons = Guarded<[String]>([])
      nats.incidents.addHandler { incident in reasons.withLock { $0.append(incident.reason) } }
      let texts = (0..<500).map { "Permissions Violation for Publish to \"a\($0)\"" }
      server.say(texts.map { "-ERR '\($0)'\r\n" }.joined())
      try await eventually("expected 500 incidents, got \(reasons.withLock { $0.count })") {
        reasons.withLock { $0.count } == 500
      }
      #expect(reasons.withLock { $0 } == texts)
      await nats.close()
    }

    /// If the later error hid the refusal, the listening would seem to have begun, but would
    /// receive nothing.
    @Test func aRefusedSubscriptionIsToldBeforeALaterError() async throws {
      let server = try TextServer(TextServer.info(), pongs: .max) { number in
        // The client sends the first `PING` when it connects, and the second one when it subscribes
        // to replies. The third one follows the subscription to `a`.
        let errors = #"""
          -ERR 'Permissions Violation for Subscription to "a"'\#r
          -ERR 'Permissions Violation for Publish to "b"'\#r

          """#
        return (number == 3 ? errors : "") + "PONG\r\n"
      }
      let nats = try await NATS.connect("nats://127.0.0.1:\(server.port)")
      let event = RemoteEvent<Int>("a", over: nats.plain)
      let error = await transportError { try await event.listen() }
      #expect(error?.code == .refused)
      #expect(error?.description.contains(#"for Subscription to "a""#) == true, "\(error.map { "\($0)" } ?? "none")")
      try await event.listen()  // succeeds, although libnats still stores the last error of the first listening
      await nats.close()
    }
  }
#endif
