import Eventing
import EventingTesting
import EventingTransport
import Testing

/// A forward to a remote event with keys publishes to the key of each payload.
@Suite(.timeLimit(.minutes(10))) struct KeyedForwardTests {
  struct Order: Codable, Sendable {
    var customer: String
    var number: Int
  }

  @Test func eachPayloadGoesToItsKey() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let placed = Event<Order>("placed")
      let orders = RemoteKeyedEvent<String, Order>("orders", over: bus)
      let numbers = RemoteKeyedEvent<String, Int>("numbers", over: bus)
      let (whole, parts) = (Notes<String>(), Notes<String>())
      orders.anyKey.addHandler { whole.note("\($0.key) \($0.payload.number)") }
      numbers["a/b"].addHandler { parts.note("\($0)") }
      try await orders.listen()
      try await numbers.listen()
      placed.forward(to: orders, by: \.customer)
      placed.forward(to: numbers) { order in order.number > 1 ? (order.customer, order.number) : nil }
      for number in 1...4 {
        let report = await placed.send(Order(customer: number % 2 == 0 ? "a/b" : "c", number: number))
        try require(report.delivered == (number == 1 ? 1 : 2) && report.failures.isEmpty, "\(report)")
      }
      try await clock.sleep(for: .seconds(1))
      try require(whole.values == ["c 1", "a/b 2", "c 3", "a/b 4"], "\(whole.values)")
      try require(parts.values == ["2", "4"], "\(parts.values)")
    }
  }

  @Test func whatHasNoKeyOrABadOneIsNotPublished() throws {
    try simulate(1...5) { clock in
      let orders = RemoteKeyedEvent<String, Order>("orders", over: InMemoryTransport(clock: clock))
      let placed = Event<Order>("placed")
      placed.forward(to: orders) { order in order.number > 0 ? (order.customer, order) : nil }
      let leftOut = await placed.send(Order(customer: "a", number: 0))
      try require(leftOut.skipped == 1, "\(leftOut)")
      let refused = await placed.send(Order(customer: String(repeating: "a", count: 256), number: 1))
      try require((refused.failures.first?.error as? TransportError)?.code == .badSubject, "\(refused)")
    }
  }

  /// Tests guarantee R7 of PROOF.md: a forward sends no message to a key that the message came
  /// through. Here it sends each message from one of four keys to the next, in a cycle. So the
  /// message goes once to each key.
  @Test func aMessageComesBackToNoKeyThatItCameThrough() throws {
    try simulate(1...20) { clock in
      let steps = RemoteKeyedEvent<Int, String>("steps", over: InMemoryTransport(clock: clock))
      let notes = Notes<Int>()
      steps.anyKey.addHandler { notes.note($0.key) }
      steps.anyKey.forward(to: steps) { key, payload in ((key + 1) % 4, payload) }
      try await steps.listen(as: "one")
      try await steps.publish("a", to: 1)
      try await clock.sleep(for: .seconds(100))
      try require(notes.values == [1, 2, 3, 0], "\(notes.values)")
    }
  }
}
