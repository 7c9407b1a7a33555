import Eventing
import EventingGRDB
import EventingTesting
import EventingTransport
import Foundation
import GRDB
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct OutboxTests {
  @Test func eventsAreRelayedInTheOrderOfTheirTransactions() async throws {
    let store = try Store()
    let bus = InMemoryTransport()
    let placed = RemoteEvent<Int>("orders.placed", over: bus)
    let recorder = EventRecorder(placed)
    try await placed.listen(as: "test", startingAt: .first, inFlight: 1)
    let outbox = Outbox<Int>("orders", in: store.database)
    for order in 0..<5 { try store.place(order, in: outbox) }
    try await relaying(outbox, to: placed) {
      for order in 5..<10 { try store.place(order, in: outbox) }  // each of these transactions wakes the relay
      try await recorder.expect(Array(0..<10), within: .seconds(60))
      #expect(try await eventually { try store.pendingCount == 0 })
    }
  }

  @Test func anEventOfATransactionThatIsRolledBackIsNeverPublished() async throws {
    let store = try Store()
    let placed = RemoteEvent<Int>("orders.placed", over: InMemoryTransport())
    let recorder = EventRecorder(placed)
    try await placed.listen(as: "test", startingAt: .first)
    let outbox = Outbox<Int>("orders", in: store.database)
    #expect(throws: Crash.self) {
      try store.database.write { db in
        try db.execute(sql: "INSERT INTO orders (id) VALUES (1)")
        try outbox.append(1, in: db)
        throw Crash()
      }
    }
    try store.place(2, in: outbox)
    try await relaying(outbox, to: placed) { try await recorder.expect([2], within: .seconds(60)) }
    #expect(try store.orderCount == 1)
  }

  @Test func appendingOutsideATransactionIsRefused() throws {
    let store = try Store()
    let outbox = Outbox<Int>("orders", in: store.database)
    let error = #expect(throws: OutboxError.self) {
      try store.database.writeWithoutTransaction { db in _ = try outbox.append(1, in: db) }
    }
    #expect(error?.code == .noTransaction)
    #expect(error?.localizedDescription == error?.description)
    #expect(try store.pendingCount == 0)
  }

  @Test func aRelaySurvivesABrokerThatIsAway() async throws {
    let store = try Store()
    let bus = InMemoryTransport(publishTimeout: .milliseconds(5))
    let placed = RemoteEvent<Int>("orders.placed", over: bus)
    let recorder = EventRecorder(placed)
    try await placed.listen(as: "test", startingAt: .first, inFlight: 1)
    let outbox = Outbox<Int>("orders", in: store.database)
    bus.disconnect()
    let incidents = outbox.incidents.payloads()
    for order in 0..<3 { try store.place(order, in: outbox) }
    try await relaying(outbox, to: placed) {
      var last: OutboxIncident?
      for await incident in incidents.prefix(3) { last = incident }
      #expect(last?.kind == .retried)
      #expect(last?.attempts == 3)
      #expect(last?.id == "order-0")
      #expect(try store.pendingCount == 3)
      bus.reconnect()
      try await recorder.expect([0, 1, 2], within: .seconds(60))
      #expect(try await eventually { try store.pendingCount == 0 })
    }
  }

  @Test func lostReceiptsMakeNoSecondMessage() async throws {
    let store = try Store()
    let placed = RemoteEvent<Int>("orders.placed", over: InMemoryTransport(seed: 3, faults: [.loseReceipt(0.4)]))
    let recorder = EventRecorder(placed)
    try await placed.listen(as: "test", startingAt: .first, inFlight: 1)
    let outbox = Outbox<Int>("orders", in: store.database)
    let retries = EventRecorder(outbox.incidents.map(\.attempts))
    for order in 0..<20 { try store.place(order, in: outbox) }
    try await relaying(outbox, to: placed) {
      try await recorder.expect(Array(0..<20), within: .seconds(60))
      #expect(try await eventually { try store.pendingCount == 0 })
    }
    #expect(!retries.entries.isEmpty)
    try await recorder.expectNone()
  }

  @Test func aMessageThatCannotBeSentIsSetAsideAndLetsTheNextPass() async throws {
    let store = try Store()
    let placed = RemoteEvent<Int>("orders.placed", over: InMemoryTransport())
    let recorder = EventRecorder(placed)
    try await placed.listen(as: "test", startingAt: .first, inFlight: 1)
    let outbox = Outbox<Int>("orders", in: store.database)
    try await store.database.write { db in
      try outbox.append(1, id: "with a space", in: db)
      try outbox.append(2, headers: ["bad name": "x"], in: db)
      try Outbox<String>("orders", in: store.database).append("no number", id: "text", in: db)
      try outbox.append(3, in: db)
    }
    let kinds = EventRecorder(outbox.incidents.map(\.kind))
    let attempts = EventRecorder(outbox.incidents.map(\.attempts))
    try await relaying(outbox, to: placed) {
      try await recorder.expect([3], within: .seconds(60))
      #expect(try await eventually { try store.pendingCount == 0 })
    }
    #expect(kinds.entries.map(\.payload) == [.setAside, .setAside, .setAside])
    #expect(attempts.entries.map(\.payload) == [1, 1, 0])  // the last one was not decoded
    let aside = try await store.database.read { try outbox.setAside(in: $0).map(\.id) }
    #expect(aside.count == 3 && aside.first == "with a space" && aside.last == "text")
    let retried = try await store.database.write { db in
      try db.execute(sql: "UPDATE eventing_outbox SET id = 'mended' WHERE id = 'with a space'")
      return try outbox.retrySetAside(in: db)
    }
    #expect(retried == 3)
    try await relaying(outbox, to: placed) { try await recorder.expect([1], within: .seconds(60)) }
  }

  @Test func noIncidentContainsAPayload() async throws {
    struct Card: Codable, Sendable { enum Kind: String, Codable { case visa }; var kind: Kind }
    let (store, secret) = (try Store(), "SECRET-4111")
    let placed = RemoteEvent<Card>("cards", over: InMemoryTransport())
    let outbox = Outbox<Card>("cards", in: store.database)
    let raw = [#"{"kind": "\#(secret)"}"#, #"{"kind": 1, "\#(secret)": 2}"#, #"{"\#(secret)" 4"#, #"["\#(secret)"]"#]
    try await store.database.write { db in
      for json in raw {
        try db.execute(
          sql: "INSERT INTO eventing_outbox (outbox, id, headers, payload) VALUES ('cards', 'x', ?, ?)",
          arguments: [Data("{}".utf8), Data(json.utf8)])
      }
    }
    let incidents = EventRecorder(outbox.incidents)
    _ = try await relaying(outbox, to: placed) { try await incidents.expect(raw.count, within: .seconds(60)) }
    let reasons = try await store.database.read { try outbox.setAside(in: $0).map(\.reason) }
    for text in incidents.payloads.flatMap({ ["\($0)", "\($0.error)", $0.error.localizedDescription] }) + reasons {
      #expect(!text.contains(secret))
      #expect(text.contains("expected a Card"))
    }
  }

  @Test(arguments: [Duration.seconds(Int64.max), .zero, .seconds(-1)])
  func extremeDurationsMeanForEverOrAtOnce(_ duration: Duration) async throws {
    let store = try Store()
    let bus = InMemoryTransport(publishTimeout: .milliseconds(1))
    let placed = RemoteEvent<Int>("orders.placed", over: bus)
    let outbox = Outbox<Int>("orders", in: store.database)
    try store.place(1, in: outbox)
    bus.disconnect()
    let incidents = EventRecorder(outbox.incidents)
    let relay = Task {
      try await outbox.relay(
        to: placed, pollingEvery: max(duration, .milliseconds(1)), retryingAfter: duration, upTo: duration)
    }
    try await incidents.expect(duration > .zero ? 1 : 3, within: .seconds(60))
    relay.cancel()
    try await relay.value
    #expect(try store.pendingCount == 1)
  }

  @Test func severalRelaysOfOneDatabaseTakeTurns() async throws {
    let store = try Store()
    let bus = CountingTransport(InMemoryTransport())
    let placed = RemoteEvent<Int>("orders.placed", over: bus)
    let recorder = EventRecorder(placed)
    try await placed.listen(as: "test", startingAt: .first, inFlight: 1)
    // Each task opens the database itself, as another process would, and ends its relay after some
    // messages.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        let own = try store.opened()
        group.addTask {
          for count in [3, 5, 7] {
            let outbox = Outbox<Int>("orders", in: own, afterStep: crashing(.deleted, at: count))
            do { try await outbox.relay(to: placed, pollingEvery: .milliseconds(5)) } catch is Crash {}
          }
          try await Outbox<Int>("orders", in: own).relay(to: placed, pollingEvery: .milliseconds(5))
        }
      }
      let outbox = Outbox<Int>("orders", in: store.database)
      for order in 0..<60 { try store.place(order, in: outbox) }
      try await recorder.expect(Array(0..<60), within: .seconds(60))
      #expect(try await eventually { try store.pendingCount == 0 })
      group.cancelAll()
      try await group.waitForAll()
    }
    #expect(bus.largestOverlap == 1)
    #expect(bus.publishedCount == 60)
  }

  @Test func relaysOfDifferentOutboxesDoNotWaitForEachOther() async throws {
    let store = try Store()
    let (a, b) = (Outbox<Int>("orders", in: store.database), Outbox<Int>("returns/x", in: store.database))
    let bus = InMemoryTransport()
    let (placed, returned) = (RemoteEvent<Int>("placed", over: bus), RemoteEvent<Int>("returned", over: bus))
    let recorder = EventRecorder(returned)
    try await returned.listen(as: "test", startingAt: .first)
    try await relaying(a, to: placed) {
      try await relaying(b, to: returned) {
        try await store.database.write { db in _ = try b.append(1, in: db) }
        try await recorder.expect([1], within: .seconds(60))
      }
    }
  }

  @Test func relaysOfADatabaseInMemoryExcludeEachOther() async throws {
    let database = try DatabaseQueue()
    try await database.write { try EventingTables.create(in: $0) }
    let outbox = Outbox<Int>("orders", in: database)
    let bus = CountingTransport(InMemoryTransport())
    let placed = RemoteEvent<Int>("placed", over: bus)
    let recorder = EventRecorder(placed)
    try await placed.listen(as: "test", startingAt: .first, inFlight: 1)
    try await relaying(outbox, to: placed) {
      try await relaying(Outbox<Int>("orders", in: database), to: placed) {
        for order in 0..<20 { try await database.write { db in _ = try outbox.append(order, in: db) } }
        try await recorder.expect(Array(0..<20), within: .seconds(60))
      }
    }
    #expect(bus.largestOverlap == 1)
  }

  @Test func aSubjectThatNoStreamStoresEndsTheRelayAndLosesNothing() async throws {
    let store = try Store()
    let placed = RemoteEvent<Int>("orders.placed", over: InMemoryTransport(subjects: ["other.>"]))
    let outbox = Outbox<Int>("orders", in: store.database)
    try store.place(1, in: outbox)
    let error = await #expect(throws: TransportError.self) { try await outbox.relay(to: placed) }
    #expect(error?.code == .badSubject)
    #expect(try store.pendingCount == 1)
  }

  @Test func aClosedTransportEndsTheRelayAndLosesNothing() async throws {
    let store = try Store()
    let bus = InMemoryTransport()
    let placed = RemoteEvent<Int>("orders.placed", over: bus)
    let outbox = Outbox<Int>("orders", in: store.database)
    try store.place(1, in: outbox)
    await bus.close(within: .seconds(1))
    let error = await #expect(throws: TransportError.self) { try await outbox.relay(to: placed) }
    #expect(error?.code == .closed)
    #expect(try store.pendingCount == 1)
  }
}
