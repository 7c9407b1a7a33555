#if NATS
  import Eventing
  import EventingNATS
  import Foundation
  import Testing

  /// A lock loses no message of the group, and changes no order.
  @Suite(.serialized, .timeLimit(.minutes(2))) struct LockTests {
    @Test(arguments: [true, false], [1, 256]) func aLockKeepsTheOrder(ofEvent isOfEvent: Bool, inFlight: Int)
      async throws
    {
      guard isOfEvent || inFlight == 1 else { return }  // returned messages may come in another order
      let server = try NATSServer()
      let nats = try await server.connect()
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let event = RemoteEvent<Int>("test.a", over: stream)
      let numbers = Guarded<[Int]>([])
      let token = event.addHandler { number in numbers.withLock { $0.append(number) } }
      try await event.listen(as: "one", inFlight: inFlight)
      for round in 0..<40 {
        // The subscription has requested messages before the lock, so they may arrive during the
        // lock.
        if isOfEvent { event.lock() } else { event.lock(token) }
        for number in 1...3 { try await event.publish(round * 3 + number) }
        if isOfEvent { event.unlock() } else { event.unlock(token) }
        try await eventually("expected three more after \(round * 3), got \(numbers.withLock { $0 })") {
          numbers.withLock { $0.count } >= round * 3 + 3
        }
      }
      #expect(numbers.withLock { $0 } == Array(1...120))
      await nats.close()
    }

    @Test(arguments: [1, 256]) func aLockedMemberLeavesTheMessagesToOthers(inFlight: Int) async throws {
      let server = try NATSServer()
      let (nats, other) = (try await server.connect(), try await server.connect())
      let numbers = Guarded<[Int]>([])
      var events: [RemoteEvent<Int>] = []
      for nats in [nats, other] {
        let event = RemoteEvent<Int>("test.a", over: try await nats.stream("TEST", subjects: ["test.>"]))
        event.addHandler { number in numbers.withLock { $0.append(number) } }
        try await event.listen(as: "one", inFlight: inFlight)
        events.append(event)
      }
      // After a member has returned a message, nats-server 2.9.10 may send a message twice, both
      // times as new. So the test compares sets.
      for number in 1...20 { try await events[0].publish(number) }
      try await eventually("expected 1 to 20, got \(numbers.withLock { $0 })") {
        numbers.withLock { Set($0) } == Set(1...20)
      }
      events[0].lock()
      for number in 21...40 { try await events[0].publish(number) }
      try await eventually("expected 1 to 40, got \(numbers.withLock { $0 })") {
        numbers.withLock { Set($0) } == Set(1...40)
      }
      await nats.close()
      await other.close()
      withExtendedLifetime(events) {}
    }
  }
#endif
