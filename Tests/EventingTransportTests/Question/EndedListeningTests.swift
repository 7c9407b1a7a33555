import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of guarantee R11 of PROOF.md for responders: after the end of a listening, none of its
/// queries begins.
@Suite(.timeLimit(.minutes(10))) struct EndedListeningTests {
  private enum End: CaseIterable, Sendable { case cancel, finish, drain }

  /// Checks four queries for a responder that answers one at a time. If `inFlight` is 1, three
  /// queries wait in the engine. If it is 256, all four are in flight, and three wait for the
  /// responder.
  @Test(arguments: 0..<3, [1, 256]) func nothingBeginsAfterTheEnd(kind: Int, inFlight: Int) throws {
    let end = End.allCases[kind]
    try simulate(1...200) { clock in
      let bus = InMemoryTransport(clock: clock)
      let (question, asking) = (
        RemoteQuestion<Int, Int>("double", over: bus.plain), RemoteQuestion<Int, Int>("double", over: bus.plain)
      )
      let begun = Notes<Int>()
      question.addResponder { number async throws in
        begun.note(number)
        try await clock.sleep(for: .seconds(1))
        return number * 2
      }
      let listening = try await question.listen(as: "one", inFlight: inFlight)
      let errors = Notes<TransportError.Code?>()
      let tasks = (1...4).map { number in
        Task(executorPreference: EventContext.executor) {
          let error = await RemoteQuestionTests.error {
            try await asking.firstAnswer(to: number, within: .seconds(100))
          }
          errors.note(error?.code)
        }
      }
      for _ in 0..<3 { await Task.yield() }
      switch end {
      case .cancel: listening.cancel()
      case .finish: question.finish()
      case .drain: await listening.drain(within: .milliseconds(500))
      }
      let count = begun.count
      for task in tasks { await task.value }
      try require(begun.count == count && count <= 1, "\(count) had begun, then \(begun.values)")
      let expected = [TransportError.Code?](repeating: .noResponders, count: 4 - count)
      try require(errors.values.compactMap { $0 } == expected.compactMap { $0 }, "\(errors.values)")
      try require(clock.now.offset <= .seconds(1), "the callers waited until \(clock.now)")
    }
  }

  /// A query waits for room only as long as its caller waits. Afterwards, no responder begins it.
  @Test func aQueryWaitsForRoomUntilItsTimeIsOver() throws {
    try simulate(1...30) { clock in
      let bus = InMemoryTransport(clock: clock)
      let question = RemoteQuestion<Int, Int>("double", over: bus.plain)
      let begun = Notes<Int>()
      question.addResponder { number async throws in
        begun.note(number)
        try await clock.sleep(for: .seconds(1))
        return number * 2
      }
      try await question.listen(as: "one", inFlight: 1)
      let answers = Notes<String>()
      let tasks = [(1, 10), (2, 10), (3, 1), (4, 10)].map { number, limit in
        Task(executorPreference: EventContext.executor) {
          do { answers.note("\(try await question.firstAnswer(to: number, within: .milliseconds(limit * 900)))") } catch
          {
            answers.note((error as? TransportError)?.code == .timedOut ? "late" : "\(error)")
          }
        }
      }
      for task in tasks { await task.value }
      // The responder answers one query at a time, and takes 1 s for each. The caller of query 3
      // waits for 0.9 s only. If another query begins first, this caller gives up before there is
      // room for query 3. So query 3 never begins.
      try require(Set(answers.values) == ["2", "4", "8", "late"], "\(answers.values)")
      try require(begun.values.firstIndex(of: 3) ?? 0 == 0, "\(begun.values)")
    }
  }

  @Test func aQueryWaitsWhileTheEngineIsAway() throws {
    try simulate(1...10) { clock in
      let bus = InMemoryTransport(clock: clock).plain
      let question = RemoteQuestion<Int, Int>("double", over: bus)
      question.addResponder { $0 * 2 }
      try await question.listen()
      bus.disconnect()
      let late = await RemoteQuestionTests.error { try await question.firstAnswer(to: 1, within: .seconds(3)) }
      try require(
        late?.code == .timedOut && clock.now.offset == .seconds(3), "\(String(describing: late)), \(clock.now)")
      let waiting = Task(executorPreference: EventContext.executor) {
        try await question.firstAnswer(to: 2, within: .seconds(3))
      }
      try await clock.sleep(for: .seconds(1))
      bus.reconnect()
      let answer = try await waiting.value
      try require(answer == 4 && clock.now.offset == .seconds(4), "\(answer), \(clock.now)")
    }
  }
}
