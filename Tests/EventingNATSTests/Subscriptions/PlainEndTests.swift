#if NATS
  import Dispatch
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// The end of a listening or of a connection over plain NATS, where no stream stores the
  /// messages. Each received message is handled, or counted as dropped. Each message or reply that
  /// waits to be sent is sent, or counted as dropped.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct PlainEndTests {
    /// A begun message whose handling ends when a test sets `isOver`.
    private struct Begun: BegunMessage {
      let isOver: Guarded<Bool>
      var verdict: Verdict {
        get async {
          while !isOver.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(5)) }
          return .done
        }
      }
    }

    /// If the connection is closed while `drain(within:)` of a subscription is under way, the close
    /// waits for the messages that the server has sent, as the drain does.
    @Test func twoEndsWaitForTheSameStepsOfTheServer() {
      var ending = SubscriptionEnding()
      let steps = Guarded<[String]>([])
      func closure(_ step: String) -> @Sendable () -> Void { { steps.withLock { $0.append(step) } } }
      let first = ending.begin(closure("next 1"))
      let second = ending.begin(closure("next 2"))
      for number in 1...2 { for closure in ending.whenDelivered(closure("delivered \(number)")) { closure() } }
      #expect(first.isFirst && !second.isFirst && first.due.isEmpty && second.due.isEmpty && ending.hasBegun)
      for closure in ending.enqueued() + ending.enqueued() { closure() }
      let third = ending.begin(closure("next 3"))
      for closure in third.due + ending.whenDelivered(closure("delivered 3")) { closure() }
      #expect(steps.withLock { $0 } == ["next 1", "next 2", "next 3"])
      for closure in ending.delivered() + ending.delivered() { closure() }
      for closure in ending.begin(closure("next 4")).due + ending.whenDelivered(closure("delivered 4")) { closure() }
      #expect(
        steps.withLock { $0.dropFirst(3) } == ["delivered 1", "delivered 2", "delivered 3", "next 4", "delivered 4"])
    }

    @Test func aDrainCountsWhatDidNotBeginInTime() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let (dropped, begun, isOver) = (Guarded(0), Guarded(0), Guarded(false))
      nats.incidents.addHandler { incident in
        if incident.kind == .slowConsumer { dropped.withLock { $0 += incident.dropped } }
      }
      var options = SubscribeOptions()
      options.inFlight = 1
      let subscription = try await nats.plain.subscribe("a", options) { _ in
        begun.withLock { $0 += 1 }
        return Begun(isOver: isOver)
      }
      for _ in 0..<5 { _ = try await nats.plain.publish(RemoteMessage(), to: "a") }
      try await eventually("expected a begun message") { begun.withLock { $0 } == 1 }
      await subscription.drain(within: .milliseconds(50))
      try await eventually("expected 4, got \(dropped.withLock { $0 })") { dropped.withLock { $0 } == 4 }
      #expect(begun.withLock { $0 } == 1)
      isOver.withLock { $0 = true }
      await nats.close()
    }

    @Test func aCloseCountsThePlainMessagesThatItDoesNotSend() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let found = Guarded<[TransportIncident]>([])
      nats.incidents.addHandler { incident in
        if incident.kind == .refused { found.withLock { $0.append(incident) } }
      }
      server.end()
      try await eventually("expected a lost connection") { !nats.engine.isConnected }
      for _ in 0..<3 {
        let isTaken = nats.engine.hand(Outgoing(subject: "a"), cost: 1)
        #expect(isTaken)
      }
      await nats.close(within: .zero)
      try await eventually("expected an incident") { !found.withLock { $0.isEmpty } }
      let isTaken = nats.engine.hand(Outgoing(subject: "a"), cost: 1)  // its publisher gets an error
      #expect(!isTaken && found.withLock { $0.map(\.dropped) } == [3])
    }

    @Test func aCloseCountsTheRepliesThatItDoesNotSend() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let (found, begun, isOver) = (Guarded<[TransportIncident]>([]), Guarded(0), Guarded(false))
      nats.incidents.addHandler { incident in
        if incident.kind == .refused { found.withLock { $0.append(incident) } }
      }
      _ = try await nats.plain.respond(to: "a", group: nil, inFlight: 3) { message in
        begun.withLock { $0 += 1 }
        return await Begun(isOver: isOver).verdict == .done ? message : RemoteMessage()
      }
      let raw = try RawClient(server.port)
      for _ in 0..<3 { raw.publish("a", reply: "_INBOX.b", block: "NATS/1.0\r\n\r\n", body: "") }
      try await eventually("expected 3 begun requests") { begun.withLock { $0 } == 3 }
      server.end()
      try await eventually("expected a lost connection") { !nats.engine.isConnected }
      isOver.withLock { $0 = true }
      await nats.close(within: .seconds(30))  // waits for the replies
      try await eventually("expected an incident") { !found.withLock { $0.isEmpty } }
      #expect(found.withLock { $0.map(\.dropped) } == [3])
    }

    /// When the end of a subscription begins, the subscription asks libnats how many of its
    /// messages libnats has dropped. It never asks again. So that this number stays right, it first
    /// removes the limit of libnats's buffer. Afterwards libnats must drop no message.
    @Test func libnatsDropsNoMessageAfterTheEndHasBegun() async throws {
      // The first two `PONG`s answer the connect and the subscribe call. The messages come before
      // the third one, which answers the flush after the end.
      let messages = String(repeating: "MSG a 1 1\r\nx\r\n", count: 10)
      let server = try TextServer(TextServer.info(), pongs: .max) { ($0 == 3 ? messages : "") + "PONG\r\n" }
      let made = try ConnectOptions(["nats://127.0.0.1:\(server.port)"], nil, nil, within: .seconds(20))
      let connection = try await onOwnThread { try made.connect(ConnectionEvents(made.secrets)) }
      let (mayReceive, count, isDelivered) = (DispatchSemaphore(value: 0), Guarded(0), OneShot<Void>())
      let subscription = try await onOwnThread {
        try connection.subscribe("a", group: nil, limit: 2) { _ in
          mayReceive.wait()
          mayReceive.signal()
          count.withLock { $0 += 1 }
        }
      }
      subscription.end(delivered: { isDelivered.set(()) })
      try await onOwnThread { try connection.flush(within: .seconds(20)) }
      mayReceive.signal()
      await isDelivered.value
      #expect(count.withLock { $0 } == 10 && subscription.dropped == 0)
      connection.close()
    }
  }
#endif
