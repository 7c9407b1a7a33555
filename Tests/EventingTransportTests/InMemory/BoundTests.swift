import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests that the engine in memory keeps all unhandled messages, and no more handled ones than its
/// limit says. The work for the end of one subscription must not grow with the number of
/// subscriptions.
@Suite(.timeLimit(.minutes(10))) struct BoundTests {
  @Test func aListeningWithNothingToDoKeepsNothing() throws {
    try simulate(1...2) { clock in
      let bus = InMemoryTransport(clock: clock, keeping: 10)
      let (busy, idle) = (
        RemoteEvent<[UInt8]>("busy", over: bus, codec: .bytes), RemoteEvent<[UInt8]>("idle", over: bus, codec: .bytes)
      )
      let notes = Notes<Void>()
      busy.addHandler { _ in notes.note(()) }
      idle.addHandler { _ in notes.note(()) }
      try await idle.listen(as: "one")
      try await idle.listen()
      try await busy.listen(as: "one")
      for _ in 0..<2_000 { try await busy.publish([]) }
      try await clock.sleep(for: .seconds(1))
      try require(notes.count == 2_000 && bus.storedCount <= 10, "\(notes.count), \(bus.storedCount)")
      try await idle.publish([])
      try await clock.sleep(for: .seconds(1))
      try require(notes.count == 2_002, "\(notes.count)")
    }
  }

  /// A listener's closure is released with its subscription, or else with the engine.
  @Test(arguments: [true, false], [nil, "one"]) func anEngineLeavesNothing(isCancelled: Bool, group: String?)
    async throws
  {
    final class Canary: Sendable {}
    weak var last: Canary?
    do {
      let bus = InMemoryTransport()
      let canary = Canary()
      last = canary
      var options = SubscribeOptions()
      options.group = group
      for transport in [bus, bus.plain] {
        let subscription = try await transport.subscribe("numbers", options) { _ in
          withExtendedLifetime(canary) {}
          return Handled()
        }
        _ = try await transport.publish(RemoteMessage(), to: "numbers")
        if isCancelled { subscription.cancel() }
      }
    }
    for _ in 0..<1_000_000 where last != nil { await Task.yield() }  // until the tasks that deliver have ended
    #expect(last == nil)
  }

  private struct Handled: BegunMessage {
    var knownVerdict: Verdict? { .done }
    var verdict: Verdict { get async { .done } }
  }

  /// The engine keeps three messages to a subject without a handler. Of the later messages to
  /// another subject, which were handled, it keeps only the last ones, up to its bound.
  @Test func oneUnhandledMessageDelaysNoOther() throws {
    try simulate(1...2) { clock in
      let bus = InMemoryTransport(clock: clock, keeping: 10)
      let (busy, idle) = (
        RemoteEvent<[UInt8]>("busy", over: bus, codec: .bytes), RemoteEvent<[UInt8]>("idle", over: bus, codec: .bytes)
      )
      let (notes, late) = (Notes<Void>(), Notes<UInt64>())
      busy.addHandler { _ in notes.note(()) }
      try await idle.listen(as: "one")
      try await busy.listen(as: "one")
      for _ in 0..<3 { try await idle.publish([]) }
      for _ in 0..<2_000 { try await busy.publish([]) }
      try await clock.sleep(for: .seconds(1))
      try require(notes.count == 2_000 && bus.storedCount <= 13, "\(notes.count), \(bus.storedCount)")
      idle.remoteOccurrences.addHandler { late.note($0.position ?? 0) }
      try await clock.sleep(for: .seconds(1))
      try require(late.values == [1, 2, 3] && bus.storedCount <= 10, "\(late.values), \(bus.storedCount)")
    }
  }

  /// Counts the calls of `isReady`, which the engine calls each time that it wakes a subscription.
  @Test(arguments: [true, false]) func theEndOfASubscriptionWakesNoOthers(hasWork: Bool) throws {
    try Simulation.run(seed: 1, limit: 1_000_000) {
      let clock = Simulation.clock
      let bus = InMemoryTransport(clock: clock)
      let looks = Guarded(0)
      var options = SubscribeOptions()
      options.group = "one"
      options.isReady = {
        looks.withLock { $0 += 1 }
        return false
      }
      var subscriptions: [any TransportSubscription] = []
      for _ in 0..<300 {
        subscriptions.append(try await bus.subscribe("numbers", options) { _ in Nothing() })
      }
      if hasWork { _ = try await bus.publish(RemoteMessage(), to: "numbers") }
      try await clock.sleep(for: .seconds(1))
      looks.withLock { $0 = 0 }
      for subscription in subscriptions {
        subscription.cancel()
        try await clock.sleep(for: .milliseconds(1))
      }
      let count = looks.withLock { $0 }
      try require(count <= 3 * 300, "\(count) looks for 300 ends")
    }
  }

  private struct Nothing: BegunMessage {
    var knownVerdict: Verdict? { .done }
    var verdict: Verdict { get async { .done } }
  }
}
