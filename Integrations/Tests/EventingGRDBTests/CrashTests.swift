import Eventing
import EventingGRDB
import EventingTesting
import EventingTransport
import Foundation
import GRDB
import Testing

/// Tests of the crash points in the table of the README. In place of a crash, each test throws an
/// error after one step of an outbox's relay, or of an inbox that handles a message: this ends the
/// relay or the handling. Then the test continues with new objects, which know only what is in the
/// database and in the engine.
@Suite(.timeLimit(.minutes(2))) struct CrashTests {
  private static let orders = Array(0..<8)

  @Test(arguments: RelayStep.allCases, [1, 4, 8])
  func aRelayThatEndsAfterAStepLosesNothing(_ step: RelayStep, _ count: Int) async throws {
    let store = try Store()
    let placed = RemoteEvent<Int>("orders.placed", over: InMemoryTransport())
    let recorder = EventRecorder(placed)
    try await placed.listen(as: "test", startingAt: .first, inFlight: 1)
    let crashed = Outbox<Int>("orders", in: store.database, afterStep: crashing(step, at: count))
    for order in Self.orders { try store.place(order, in: crashed) }
    await #expect(throws: Crash.self) { try await crashed.relay(to: placed) }
    let left = Self.orders.count - count + (step == .deleted ? 0 : 1)
    #expect(try store.pendingCount == left)
    try await relaying(Outbox<Int>("orders", in: try store.opened()), to: placed) {
      try await recorder.expect(Self.orders, within: .seconds(60))
      #expect(try await eventually { try store.pendingCount == 0 })
    }
    // Nothing more arrives, because the stream stored each id once.
    try await recorder.expectNone()
  }

  @Test(arguments: InboxStep.allCases, [1, 4, 8])
  func aHandlingThatEndsAfterAStepHasItsEffectOnce(_ step: InboxStep, _ count: Int) async throws {
    let store = try Store()
    let placed = RemoteEvent<Int>("orders.placed", over: InMemoryTransport())
    let inbox = Inbox("billing", in: store.database, afterStep: crashing(step, at: count))
    let failures = EventRecorder(placed.failures.map { "\($0.error)" })
    placed.remoteOccurrences.addHandler { message in
      try await inbox.handle(message) { db in try Store.bill(message.payload, in: db) }
    }
    try await placed.listen(as: "billing", inFlight: 1, retry: .immediately(attempts: 3))
    for order in Self.orders { try await placed.publish(order) }
    #expect(try await eventually { try store.bills.count == Self.orders.count })
    #expect(try await eventually { failures.entries.count == 1 })
    await placed.quiesce()
    #expect(try store.bills.sorted() == Self.orders)
  }

  @Test func aMessageThatComesTwiceIsHandledOnce() async throws {
    let store = try Store()
    let placed = RemoteEvent<Int>("orders.placed", over: InMemoryTransport(seed: 5, faults: [.duplicate(0.7)]))
    let inbox = Inbox("billing", in: store.database)
    let handled = Event<Bool>()
    let outcomes = EventRecorder(handled)
    placed.remoteOccurrences.addHandler { message in
      handled.post(try await inbox.handle(message) { db in try Store.bill(message.payload, in: db) })
    }
    try await placed.listen(as: "billing", inFlight: 1)
    for order in Self.orders { try await placed.publish(order) }
    #expect(
      try await eventually {
        let found = outcomes.entries.map(\.payload)
        return found.count(where: { $0 }) == Self.orders.count && found.contains(false)
      })
    #expect(try store.bills.sorted() == Self.orders)
  }

  @Test func inboxesOfDifferentNamesEachHandleAMessage() async throws {
    let store = try Store()
    let placed = RemoteEvent<Int>("orders.placed", over: InMemoryTransport())
    for name in ["billing", "audit"] {
      let inbox = Inbox(name, in: store.database)
      placed.remoteOccurrences.addHandler { message in
        try await inbox.handle(message) { db in try Store.bill(message.payload, in: db) }
      }
    }
    try await placed.listen(as: "test")
    try await placed.publish(1)
    #expect(try await eventually { try store.bills == [1, 1] })
  }

  /// Returns a remote event with a handler that bills each message once. Also returns the store
  /// that has these bills, and the inbox that tells the handler which messages it has handled.
  private func billed() async throws -> (placed: RemoteEvent<Int>, store: Store, inbox: Inbox) {
    let store = try Store()
    let placed = RemoteEvent<Int>("orders.placed", over: InMemoryTransport())
    let inbox = Inbox("billing", in: store.database)
    placed.remoteOccurrences.addHandler { message in
      try await inbox.handle(message) { db in try Store.bill(message.payload, in: db) }
    }
    try await placed.listen(as: "test")
    return (placed, store, inbox)
  }

  @Test func aMessageThatIsNoCloudEventIsKnownByItsOwnID() async throws {
    let (placed, store, _) = try await billed()
    for number in 1...2 { try await placed.publish(number, headers: ["ce-source": "shop", "ce-id": "7"]) }
    #expect(try await eventually { try store.bills.sorted() == [1, 2] })
  }

  @Test func forgettingRemovesOnlyWhatIsOld() async throws {
    let (placed, store, inbox) = try await billed()
    try await placed.publish(1)
    #expect(try await eventually { try store.bills == [1] })
    let other = Inbox("other", in: store.database)
    let counts = try await store.database.write { db in
      [
        try inbox.forget(handledBefore: Date(timeIntervalSinceNow: -3_600), in: db),
        try other.forget(handledBefore: Date(timeIntervalSinceNow: 60), in: db),
        try inbox.forget(handledBefore: Date(timeIntervalSinceNow: 60), in: db),
      ]
    }
    #expect(counts == [0, 0, 1])
  }
}
