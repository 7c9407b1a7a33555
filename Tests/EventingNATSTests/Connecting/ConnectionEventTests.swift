#if NATS
  import Dispatch
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// The reports of libnats reach the engine in order.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct ConnectionEventTests {
    /// The connection is restored while the engine is still being told of its loss. If the engine
    /// heard of the loss last, it would wait for ever, although the connection is there.
    @Test func anEventThatComesWhileEarlierOnesAreToldIsToldAfterThem() throws {
      let events = ConnectionEvents(try ConnectOptions(["nats://a:1"], nil, nil, within: .seconds(1)).secrets)
      let kinds = Guarded<[String]>([])
      events.tell(.lost)  // no receiver yet
      events.receive { kind in
        if case .lost = kind {
          let isReported = DispatchSemaphore(value: 0)
          Foundation.Thread.detachNewThread {
            events.tell(.reconnected)
            isReported.signal()
          }
          isReported.wait()
        }
        kinds.withLock { $0.append("\(kind)") }
      }
      #expect(kinds.withLock { $0 } == ["lost", "reconnected"])
      events.tell(.closed)
      #expect(kinds.withLock { $0 } == ["lost", "reconnected", "closed"])
    }

    /// libnats reports an error on another thread, perhaps after the flush of the subscribe call
    /// has returned.
    @Test func theRefusalOfASubscriptionIsAwaited() async throws {
      let events = ConnectionEvents(try ConnectOptions(["nats://a:1"], nil, nil, within: .seconds(1)).secrets)
      let watch = events.watchErrors()
      #expect(watch.refusal(of: "a", last: "", before: "") == nil)
      #expect(watch.refusal(of: "a", last: "another", before: "another") == nil)
      let text = "Permissions Violation for Subscription to \"a\""
      Foundation.Thread.detachNewThread { for text in ["another", text, "last"] { events.fail(text) } }
      let refusal = try await onOwnThread { watch.refusal(of: "a", last: "last", before: "") }
      #expect(refusal == text && watch.texts == ["another", text, "last"])
      events.endWatch(watch)
      events.fail("later")
      #expect(watch.texts.count == 3)
    }

    /// libnats refuses a limit of zero. If the subscription began nevertheless, libnats would
    /// buffer as many messages as it does by default, not the number that the caller asked for.
    @Test func aSubscriptionWithoutItsLimitIsRefused() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let connection = nats.engine.connection
      let error = await transportError {
        _ = try await onOwnThread { try connection.subscribe("a", group: nil, limit: 0) { _ in } }
      }
      #expect(error?.code == .refused)
      #expect(error?.description.hasPrefix("expected to subscribe to a; libnats says: ") == true)
      await nats.close()
    }
  }
#endif
