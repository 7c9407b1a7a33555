#if NATS
  import Eventing
  import EventingNATS
  import Foundation
  import Testing

  /// A number that is too large counts as the largest one that makes sense, or is refused with an
  /// error.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct HugeValueTests {
    private static let huge = Duration.seconds(Int64.max)

    @Test func listeningsAndResponders() async throws {
      let server = try NATSServer()
      let nats = try await server.connect(publishTimeout: Self.huge)
      let stream = try await nats.stream("TEST", subjects: ["test.>"], maxAge: Self.huge)
      let retry = RetryPolicy.exponential(from: Self.huge, to: Self.huge, attempts: .max)
      for (transport, retry) in [(stream, retry), (nats.plain, nil)] {
        let event = RemoteEvent<Int>("test.a", over: transport)
        let numbers = Guarded<[Int]>([])
        event.addHandler { number in
          numbers.withLock { $0.append(number) }
          if number == 2 { throw CancellationError() }
        }
        let listening = try await event.listen(
          as: "one", inFlight: .max, retry: retry, deduplicating: .last(.max))
        for number in 1...3 { try await event.publish(number) }
        try await eventually("expected 1, 2, 3, got \(numbers.withLock { $0 })") {
          numbers.withLock { $0 } == [1, 2, 3]
        }
        await listening.drain(within: Self.huge)
      }
      let question = RemoteQuestion<Int, Int>("double", over: nats.plain)
      question.addResponder { number in number * 2 }
      let responding = try await question.listen(as: "doublers", inFlight: .max)
      #expect(try await question.firstAnswer(to: 4, within: Self.huge) == 8)
      await responding.drain(within: Self.huge)
      await nats.close(within: Self.huge)
    }

    /// A message whose next attempt is after a year does not come at once.
    @Test func aMessageWaitsForAHugeDelay() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let seen = Guarded<[UInt64]>([])
      var options = SubscribeOptions()
      options.group = "one"
      options.inFlight = .max
      let subscription = try await stream.subscribe("test.a", options) { message in
        seen.withLock { $0.append(message.position ?? 0) }
        return Decided(knownVerdict: message.position == 1 ? .retry(after: Self.huge) : .done)
      }
      for number in 1...20 {
        _ = try await stream.publish(RemoteMessage(), to: "test.a")
        try await eventually("expected \(number), got \(seen.withLock { $0 })") { seen.withLock { $0.count } >= number }
      }
      #expect(seen.withLock { $0 } == Array(1...20))
      await subscription.drain(within: .seconds(5))
      await nats.close()
    }

    private struct Decided: BegunMessage {
      let knownVerdict: Verdict?
      var verdict: Verdict { get async { .done } }
    }

    @Test(arguments: [
      StartPosition.position(.max), .time(.distantFuture), .time(Date(timeIntervalSince1970: 1e30)),
      .time(.distantPast), .time(Date(timeIntervalSince1970: -1e30)), .time(Date(timeIntervalSince1970: .infinity)),
    ])
    func starts(start: StartPosition) async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let event = RemoteEvent<Int>("test.a", over: try await nats.stream("TEST", subjects: ["test.>"]))
      event.addHandler { _ in }
      do { try await event.listen(startingAt: start).cancel() } catch {
        #expect((error as? TransportError)?.code == .badOption, "\(error)")
      }
      await nats.close()
    }

    /// The `maxAge` of a stream may be longer than a year.
    @Test func agesOfManyYearsAreKept() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let age = Duration.seconds(5 * 31_536_000)
      _ = try await nats.stream("TEST", subjects: ["test.>"], maxAge: age)
      let error = await transportError {
        _ = try await nats.stream("TEST", subjects: ["test.>"], maxAge: .seconds(31_536_000))
      }
      #expect(error?.code == .streamDiffers)
      #expect(error?.description.contains("it has \(age)") == true, "\(error.map { "\($0)" } ?? "no error")")
      await nats.close()
    }
  }
#endif
