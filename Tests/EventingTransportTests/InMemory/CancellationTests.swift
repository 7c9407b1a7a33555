import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of calls whose task is cancelled while the engine is away.
@Suite(.timeLimit(.minutes(10))) struct CancellationTests {
  @Test(arguments: ["publish", "ask", "listen"]) func aCancelledCallReturnsAtOnce(_ call: String) throws {
    try simulate(1...60) { clock in
      let bus = InMemoryTransport(clock: clock, publishTimeout: .seconds(1_000))
      let event = RemoteEvent<Int>("numbers", over: bus)
      let question = RemoteQuestion<Int, Int>("double", over: bus.plain)
      bus.disconnect()
      bus.plain.disconnect()
      let begin = clock.now
      let task = Task(executorPreference: EventContext.executor) {
        switch call {
        case "publish": try await event.publish(1)
        case "ask": _ = try await question.firstAnswer(to: 1, within: .seconds(1_000))
        default: try await event.listen(as: "one")
        }
      }
      await Task.yield()
      task.cancel()
      let result = await task.result
      guard case .failure(let error) = result else { throw Unmet(description: "\(call) returned") }
      try require(error is CancellationError, "\(error)")
      try require(clock.now == begin, "\(begin.duration(to: clock.now)) later")
    }
  }
}
