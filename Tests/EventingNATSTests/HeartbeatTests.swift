#if NATS
  import Eventing
  import EventingNATS
  import Foundation
  import Testing

  /// The server hears that a handler is at work, even while other code occupies Swift's pool.
  @Suite(.serialized, .timeLimit(.minutes(2))) struct HeartbeatTests {
    /// Has a process of its own, because the test stops all tasks for longer than the server waits
    /// for a verdict.
    @Test func aMessageStaysInHandWhileThePoolIsFlooded() async throws {
      await #expect(processExitsWith: .success) {
        let server = try NATSServer()
        let nats = try await server.connect(publishTimeout: .seconds(60))
        let stream = try await nats.stream("TEST", subjects: ["test.>"])
        let event = RemoteEvent<Int>("test.a", over: stream)
        let (numbers, isOver) = (Guarded<[Int]>([]), Guarded(false))
        event.addHandler { number async throws in
          numbers.withLock { $0.append(number) }
          guard number == 1 else { return }
          // The server waits for a verdict or a heartbeat for 10 s.
          Foundation.Thread.detachNewThread {
            Foundation.Thread.sleep(forTimeInterval: 13)
            isOver.withLock { $0 = true }
          }
          for _ in 0..<64 { Task { HeartbeatTests.block(until: isOver) } }
          HeartbeatTests.block(until: isOver)
        }
        try await event.listen(as: "one")
        try await event.publish(1)
        try await eventually("expected the end of the flood") { isOver.withLock { $0 } }
        try await event.publish(2)
        try await eventually("expected 2, got \(numbers.withLock { $0 })") { numbers.withLock { $0.contains(2) } }
        #expect(numbers.withLock { $0 } == [1, 2])
        await nats.close()
      }
    }

    /// Blocks a thread of Swift's pool until `isOver` is true.
    static func block(until isOver: Guarded<Bool>) {
      while !isOver.withLock({ $0 }) { Foundation.Thread.sleep(forTimeInterval: 0.01) }
    }
  }
#endif
