import Eventing
import EventingTesting
@testable import EventingTransport
import Testing

/// Whatever makes an event ready for messages again wakes its listenings. The engine in memory asks
/// only when it is told.
@Suite(.timeLimit(.minutes(10))) struct ReadinessTests {
  private static func run(
    _ name: String, _ prepare: @escaping @Sendable (RemoteEvent<Int>, HandlerToken, Notes<Int>) async throws -> Void
  ) throws {
    try simulate(1...20) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let notes = Notes<Int>()
      let token = event.addHandler(.named("one")) { notes.note($0) }
      try await event.listen(as: "one")
      try await prepare(event, token, notes)
      try await clock.sleep(for: .seconds(1))
      try require(notes.values == [1], "\(name): \(notes.values)")
    }
  }

  enum Unlock: CaseIterable, Sendable { case token, tokens, name, all, event, core, scope, holding }

  @Test(arguments: Unlock.allCases) func anUnlockWakesTheListenings(unlock: Unlock) throws {
    try Self.run("\(unlock)") { event, token, notes in
      @Sendable func publish() async throws {
        try await event.publish(1)
        for _ in 1...100 { await Task.yield() }
        try require(notes.values.isEmpty, "\(notes.values)")
      }
      if unlock == .scope { return try await event.withLocked(token) { try await publish() } }
      switch unlock {
      case .event: event.lock()
      case .core: event.event.lock()
      case .holding: event.lock(token, holding: .oldest(0))
      default: event.lock(token)
      }
      try await publish()
      switch unlock {
      case .token, .holding: event.unlock(token)
      case .tokens: event.unlockAll(where: .oneOf([token]))
      case .name: event.unlockAll(where: .named("one"))
      case .all: event.unlockAll()
      case .event: event.unlock()
      case .core: event.event.unlock()  // as an inspector does, which knows no remote event
      case .scope: break
      }
    }
  }

  @Test func aHandlerOfTheLocalEventWakesTheListenings() throws {
    try Self.run("added") { event, token, notes in
      event.remove(token)
      try await event.publish(1)
      for _ in 1...100 { await Task.yield() }
      event.event.map(\.occurrence.payload).addHandler { notes.note($0) }
    }
  }

  /// A handler that is plainly locked takes no messages from the engine, so another member of the
  /// group gets them.
  @Test func anEventWhoseHandlersAreLockedTakesNothing() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let (locked, other) = (RemoteEvent<Int>("numbers", over: bus), RemoteEvent<Int>("numbers", over: bus))
      let (notes, attempts) = (Notes<Int>(), Notes<Int>())
      let token = locked.addHandler { _ in }
      locked.intercept { number in
        notes.note(number)
        return .proceed
      }
      other.remoteOccurrences.addHandler { attempts.note($0.payload) }
      locked.lock(token)
      try await locked.listen(as: "one", inFlight: 1)
      try await other.listen(as: "one", inFlight: 1)
      for number in 1...4 { try await other.publish(number) }
      try await clock.sleep(for: .milliseconds(50))
      try require(notes.count == 0 && attempts.values == [1, 2, 3, 4], "\(notes.values) \(attempts.values)")
    }
  }
}
