#if NATS
  import Eventing
  import EventingNATS
  import Foundation
  import Testing

  /// R12: the text of a header or of an id never becomes another header of its message.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct HeaderTests {
    private static let bad: [[String: String]] = [
      ["": "a"], ["a b": "a"], ["a:": "a"], ["a: b\r\nc": "d"], ["a\nb": "c"], ["a\r": "b"], ["ä": "a"], ["a\0": "b"],
      ["a": "b\r\nc: d"], ["a": "b\nc: d"], ["a": "b\r"], ["a": "b\0"], ["a": "\u{7f}"], ["a": " b"],
      ["a": "b "], ["a": "\tb"], ["a": " "],
    ]

    @Test func headersThatCannotBeSentAreRefused() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let (stream, plain) = (try await nats.stream("TEST", subjects: ["test.>"]), nats.plain)
      let found = Guarded<[RemoteMessage]>([])
      for transport in [stream, plain] {
        _ = try await transport.subscribe("test.a", SubscribeOptions()) { message in
          found.withLock { $0.append(message) }
          return Handled()
        }
      }
      let responder = try await plain.respond(to: "test.q", group: nil, inFlight: 1) { $0 }
      for headers in HeaderTests.bad {
        let message = RemoteMessage(headers: headers)
        for error in [
          await transportError { _ = try await stream.publish(message, to: "test.a") },
          await transportError { _ = try await stream.publish(message, to: "test.a") {} },
          await transportError { _ = try await plain.publish(message, to: "test.a") },
          await transportError { _ = try await plain.request(message, to: "test.q", within: .seconds(20)) },
        ] {
          #expect(error?.code == .badHeader && error?.description.hasPrefix("expected a ") == true, "\(headers)")
        }
      }
      // Had a refused message been sent, it would come before these.
      for transport in [stream, plain] { _ = try await transport.publish(RemoteMessage(body: [7]), to: "test.a") }
      // Both transports receive both messages: the stream also stores what `plain` publishes.
      try await eventually("expected 4 messages, got \(found.withLock { $0 })") { found.withLock { $0.count } == 4 }
      #expect(found.withLock { $0.allSatisfy { $0.body == [7] && $0.headers.isEmpty } })
      responder.cancel()
      await nats.close()
    }

    @Test func anIDThatCannotBeSentIsRefused() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      for id in ["a\r\nb: c", "a\n", "\0", "a\u{7f}"] {
        let message = RemoteMessage(id: id)
        for error in [
          await transportError { _ = try await stream.publish(message, to: "test.a") },
          await transportError { _ = try await nats.plain.publish(message, to: "test.a") },
          await transportError { _ = try await nats.plain.request(message, to: "test.q", within: .seconds(20)) },
        ] {
          #expect(error?.code == .badOption && error?.description.hasPrefix("expected an id ") == true)
        }
      }
      await nats.close()
    }

    @Test func aReplyWithSuchHeadersSaysSo() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      // Each responder has a subject of its own, because a responder that ends refuses later
      // requests.
      for (number, headers) in HeaderTests.bad.enumerated() {
        let responder = try await nats.plain.respond(to: "test.q\(number)", group: nil, inFlight: 1) { _ in
          RemoteMessage(headers: headers, body: [1])
        }
        let reply = try await nats.plain.request(RemoteMessage(), to: "test.q\(number)", within: .seconds(20))
        #expect(reply.headers["Eventing-Failure"] == "responderFailed", "\(headers)")
        #expect(reply.headers["Eventing-Failure-Reason"]?.hasPrefix("expected a ") == true)
        #expect(reply.headers.count == 2 && reply.body.isEmpty)
        responder.cancel()
      }
      await nats.close()
    }

    private struct Handled: BegunMessage {
      var knownVerdict: Verdict? { .done }
      var verdict: Verdict { get async { .done } }
    }
  }
#endif
