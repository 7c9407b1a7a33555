#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// A stream that is deleted and made again has the same name and the same positions. Nothing that
  /// names a message by both may take a message of one for a message of the other.
  @Suite(.serialized, .timeLimit(.minutes(2))) struct StreamIdentityTests {
    /// A message whose verdict a test gives.
    private struct Given: BegunMessage {
      let given = OneShot<Verdict>()
      var verdict: Verdict { get async { await given.value } }
    }

    /// One member of a group, with the messages that it has begun.
    private final class Member: Sendable {
      let begun = Guarded<[(message: RemoteMessage, verdict: OneShot<Verdict>)]>([])

      func begin(_ message: RemoteMessage) -> any BegunMessage {
        let given = Given()
        begun.withLock { $0.append((message, given.given)) }
        return given
      }

      var messages: [RemoteMessage] { begun.withLock { $0.map(\.message) } }
      func decide(_ index: Int, _ verdict: Verdict) { begun.withLock { $0[index].verdict }.set(verdict) }
    }

    private static let options: SubscribeOptions = {
      var options = SubscribeOptions()
      (options.group, options.inFlight, options.start) = ("one", 1, .first)
      return options
    }()

    private func makeAgain(_ nats: NATS) async throws -> NATSTransport {
      _ = try await nats.plain.request(RemoteMessage(), to: "$JS.API.STREAM.DELETE.TEST", within: .seconds(20))
      return try await nats.stream("TEST", subjects: ["test.>"])
    }

    @Test func aLateVerdictDoesNotSettleAMessageOfTheNewStream() async throws {
      let server = try NATSServer()
      let (nats, other) = (try await server.connect(), try await server.connect())
      let (slow, quick) = (Member(), Member())
      let old = try await nats.stream("TEST", subjects: ["test.>"])
      let made = try await old.subscribe("test.a", StreamIdentityTests.options) { slow.begin($0) }
      let first = try #require(made as? StreamSubscription)
      _ = try await old.publish(RemoteMessage(body: [1]), to: "test.a")
      try await eventually("expected the old message") { slow.messages.map(\.body) == [[1]] }
      let new = try await makeAgain(other)
      _ = try await new.publish(RemoteMessage(body: [2]), to: "test.a")
      let second = try await new.subscribe("test.a", StreamIdentityTests.options) { quick.begin($0) }
      try await eventually("expected the new message") { quick.messages.map(\.body) == [[2]] }
      slow.decide(0, .done)
      try await eventually("expected the verdict in the send queue") { first.inflow.count == 0 }
      // This connection's messages reach the server in order, so the server has the verdict.
      _ = try await nats.plain.request(RemoteMessage(), to: "$JS.API.INFO", within: .seconds(20))
      first.cancel()
      quick.decide(0, .retry(after: .zero))
      try await eventually("expected the new message again") { quick.messages.map(\.body) == [[2], [2]] }
      #expect(quick.messages.map(\.attempt) == [1, 2] && quick.messages.map(\.position) == [1, 1])
      withExtendedLifetime(second) {}
      await nats.close(within: .zero)
      await other.close(within: .zero)
    }

    @Test func theIdOfAMessageWithoutOneSaysWhichStreamItIsOf() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let member = Member()
      let old = try await nats.stream("TEST", subjects: ["test.>"])
      let subscription = try await old.subscribe("test.a", StreamIdentityTests.options) { member.begin($0) }
      let raw = try RawClient(server.port)
      raw.publish("test.a", block: "NATS/1.0\r\n\r\n", body: "old")
      try await eventually("expected the old message") { member.messages.count == 1 }
      member.decide(0, .done)
      _ = try await makeAgain(nats)
      raw.publish("test.a", block: "NATS/1.0\r\n\r\n", body: "new")
      try await eventually("expected the new message") { member.messages.count == 2 }
      let messages = member.messages
      #expect(messages.map(\.position) == [1, 1] && messages[0].id != messages[1].id)
      #expect(messages.allSatisfy { $0.id == "TEST.\($0.streamMark).1" })
      withExtendedLifetime(subscription) {}
      await nats.close(within: .zero)
    }

    /// Only the server writes to the inbox of a subscription. A program that writes there must not
    /// make this process acknowledge messages of others.
    @Test func theSubjectForAVerdictIsThatOfThisConsumer() throws {
      let place = try #require(StreamPlace("$JS.ACK.TEST.one_x_y.1.7.3.1700000000000000000.0"))
      #expect(place.stream == "TEST" && place.consumer == "one_x_y")
      let long = try #require(StreamPlace("$JS.ACK.hub.account.TEST.one_x_y.1.7.3.1700000000000000000.0.random"))
      #expect(long.stream == "TEST" && long.consumer == "one_x_y")
    }

    /// Swift takes texts for equal that look equal. Engines and databases compare bytes.
    @Test func idsAreComparedByTheirBytes() {
      #expect("\u{e9}" == "e\u{301}" && ExactText("\u{e9}") != ExactText("e\u{301}"))
      #expect(!StreamName(name: "TEST", subjects: ["caf\u{e9}"]).stores("cafe\u{301}"))
    }
  }
#endif
