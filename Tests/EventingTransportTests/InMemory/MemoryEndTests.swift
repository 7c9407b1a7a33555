import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of the ends of subscriptions, responders and the engine in memory, while other work comes
/// in.
@Suite(.timeLimit(.minutes(10))) struct MemoryEndTests {
  private struct Handled: BegunMessage {
    var knownVerdict: Verdict? { .done }
    var verdict: Verdict { get async { .done } }
  }

  /// A message whose handler needs a long time.
  private struct LongWork: BegunMessage {
    let clock: ManualClock
    var verdict: Verdict {
      get async {
        try? await clock.sleep(for: .seconds(1_000))
        return .done
      }
    }
  }

  /// Closes the engine while a subscription is being made. The engine compares the subject with
  /// many filters, so that the close usually comes during the comparison.
  @Test func noSubscriptionOutlivesTheEngine() async throws {
    let subjects = (0..<2_000).map { "other.\($0)" } + ["numbers"]
    for _ in 0..<20 {
      let bus = InMemoryTransport(subjects: subjects)
      let isSubscribing = Guarded(false)
      let subscribing = Task(executorPreference: EventContext.executor) {
        isSubscribing.withLock { $0 = true }
        return try await bus.subscribe("numbers", SubscribeOptions()) { _ in Handled() }
      }
      while !isSubscribing.withLock({ $0 }) { await Task.yield() }
      await bus.close()
      let result = await subscribing.result
      #expect(bus.subscriptionCount == 0)
      if case .failure(let error) = result { #expect((error as? TransportError)?.code == .closed) }
    }
  }

  /// The last message wakes the first member, whose handler still works on message 1. Before the
  /// member takes the last message, its subscription begins to end by `drain(within:)`. The end
  /// waits for message 1, but the last message must go to another member at once.
  @Test(arguments: 2...4) func aDrainPassesOnTheMessageThatItsMemberDoesNotTake(memberCount: Int) throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      var options = SubscribeOptions()
      options.group = "one"
      let times = Notes<Duration>()
      let first = try await bus.subscribe("numbers", options) { message -> any BegunMessage in
        message.position == 1 ? LongWork(clock: clock) : Handled()
      }
      for _ in 1..<memberCount {
        _ = try await bus.subscribe("numbers", options) { _ in
          times.note(clock.now.offset)
          return Handled()
        }
      }
      try await clock.sleep(for: .seconds(1))
      // The members take turns.
      for _ in 0..<memberCount {
        _ = try await bus.publish(RemoteMessage(), to: "numbers")
        try await clock.sleep(for: .seconds(1))
      }
      _ = try await bus.publish(RemoteMessage(), to: "numbers")
      await first.drain(within: .seconds(100))
      try await clock.sleep(for: .seconds(1))
      // `times` has the times at which the other members got messages. The last one is that of
      // message 1: the first member's `drain(within:)` gave message 1 back at its limit of 100
      // seconds.
      let expected = ((2...memberCount + 1).map { $0 } + [memberCount + 101]).map { Duration.seconds($0) }
      try require(times.values == expected, "\(times.values), expected \(expected)")
    }
  }

  /// The engine chooses a responder for a request, and then the responder counts the request as one
  /// of its own. Between these steps, the responder may end by `drain(within:)`. The request must
  /// then go to another responder.
  @Test func aRequestFindsTheMemberThatStays() async throws {
    let bus = InMemoryTransport().plain
    _ = try await bus.respond(to: "double", group: "one", inFlight: 8) { $0 }
    let isOver = Guarded(false)
    let draining = Task(executorPreference: EventContext.executor) {
      while !isOver.withLock({ $0 }) {
        let other = try await bus.respond(to: "double", group: "one", inFlight: 8) { $0 }
        await Task.yield()
        await other.drain(within: .seconds(100))
      }
    }
    let errors = Guarded<[String]>([])
    for _ in 0..<20_000 {
      do { _ = try await bus.request(RemoteMessage(), to: "double", within: .seconds(100)) } catch {
        errors.withLock { $0.append("\(error)") }
      }
    }
    isOver.withLock { $0 = true }
    try await draining.value
    let found = errors.withLock { $0 }
    #expect(found.isEmpty, "\(found.count) errors, the first: \(found.first ?? "")")
  }
}
