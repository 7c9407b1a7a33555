import Eventing
import EventingTesting
import EventingTransport
import Testing

/// The errors of a question, and what ends its answers: the removal of a responder, `finish()`, the
/// end of a listening by `drain(within:)`, and locks.
extension RemoteQuestionTests {
  @Test func everyRefusalSaysWhatWasExpected() throws {
    try simulate(1...3) { clock in
      let bus = InMemoryTransport(clock: clock)
      let numbers = RemoteQuestion<Double, Double>("numbers", over: bus)
      let (words, other) = (
        RemoteQuestion<String, String>("words", over: bus), RemoteQuestion<String, Int>("words", over: bus)
      )
      numbers.addResponder { _ in .infinity }
      words.addResponder { word in String(repeating: word, count: 1 << 20) }
      try await numbers.listen()
      try await words.listen()
      let large = String(repeating: "a", count: 1 << 20)
      let expected: [(TransportError?, TransportError.Code, String)] = [
        (
          await Self.error { try await numbers.firstAnswer(to: .nan) }, .notEncodable,
          "expected a Double that can be encoded for numbers; the encoder says: "
        ),
        (
          await Self.error { try await numbers.firstAnswer(to: 1) }, .responderFailed,
          "expected an answer to numbers; a responder says: expected a Double that can be encoded"
        ),
        (
          await Self.error { try await words.firstAnswer(to: large) }, .tooLarge,
          "expected at most 1048576 bytes for words, got 1048578"
        ),
        (
          await Self.error { try await words.firstAnswer(to: "a") }, .responderFailed,
          "expected an answer of at most 1048576 bytes, got 1048578"
        ),
        (
          await Self.error { try await other.firstAnswer(to: "") }, .notDecodable,
          "expected a reply of Int to words; the decoder says: "
        ),
      ]
      for (error, code, text) in expected {
        try require(error?.code == code, "expected \(code), got \(String(describing: error))")
        try require(error?.description.contains(text) == true, "expected \(text), got \(String(describing: error))")
      }
    }
  }

  @Test func anEngineWithoutRequestsIsRefused() async throws {
    var engine = FaultyTransport(InMemoryTransport())
    engine.promises.hasRequests = false
    let question = RemoteQuestion<Int, Int>("double", over: engine)
    for error in [
      await Self.error { try await question.firstAnswer(to: 1) }, await Self.error { try await question.listen() },
    ] {
      #expect(error?.code == .notPromised)
      #expect(
        error?.description
          == "expected a transport that has requests for the question double; this one has none")
    }
  }

  @Test func aResponderThatIsRemovedAnswersNoMore() throws {
    try simulate(1...3) { clock in
      let question = RemoteQuestion<Int, Int>("double", over: InMemoryTransport(clock: clock))
      let even = question.addResponder { number in number % 2 == 0 ? number * 2 : nil }
      question.addResponder { number in number % 2 == 0 ? nil : number * 2 }
      try await question.listen()
      let before = [try await question.firstAnswer(to: 2), try await question.firstAnswer(to: 3)]
      try require(before == [4, 6] && question.handlerCount == 2, "\(before)")
      try require(question.remove(even) && !question.remove(even), "other removals")
      let error = await Self.error { try await question.firstAnswer(to: 2) }
      try require(error?.code == .noResponders, "\(String(describing: error))")
      let after = try await question.firstAnswer(to: 3)
      try require(after == 6 && question.handlerCount == 1, "\(after)")
      try require("\(question)" == "remote question \"double\" of Int, answered by Int", "\(question)")
    }
  }

  @Test func aFinishedQuestionAsksAndAnswersNoMore() throws {
    try simulate(1...3) { clock in
      let bus = InMemoryTransport(clock: clock)
      let (question, other) = (
        RemoteQuestion<Int, Int>("double", over: bus), RemoteQuestion<Int, Int>("double", over: bus)
      )
      question.addResponder { $0 * 2 }
      try await question.listen()
      question.finish()
      let errors = [
        await Self.error { try await other.firstAnswer(to: 1) },
        await Self.error { try await question.firstAnswer(to: 1) },
        await Self.error { try await question.listen() },
      ]
      try require(errors.map(\.?.code) == [.noResponders, .closed, .closed], "\(errors)")
    }
  }

  /// Asks a question with all numbers at the same time. Returns a task for each answer, whose value
  /// is `nil` if none came.
  private static func ask(
    _ question: RemoteQuestion<Int, Int>, _ numbers: ClosedRange<Int>
  ) -> [Task<Int?, Never>] {
    numbers.map { number in
      Task(executorPreference: EventContext.executor) {
        try? await question.firstAnswer(to: number, within: .seconds(100))
      }
    }
  }

  @Test func aDrainAnswersWhatIsInHandAndTakesNothingNew() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let question = RemoteQuestion<Int, Int>("double", over: bus)
      question.addResponder { number async throws in
        try await clock.sleep(for: .seconds(1))
        return number * 2
      }
      let listening = try await question.listen(inFlight: 2)
      // Two queries are in flight, and two wait for a slot. The responder answers one after the
      // other.
      let answers = Self.ask(question, 1...4)
      try await clock.sleep(for: .milliseconds(500))
      async let other: Void = listening.drain(within: .seconds(10))
      let new = Task(executorPreference: EventContext.executor) {
        try? await clock.sleep(for: .milliseconds(100))
        return await Self.error { try await question.firstAnswer(to: 5) }
      }
      await listening.drain(within: .seconds(10))
      await other
      try require(clock.now.offset == .seconds(4), "\(clock.now)")
      var found: [Int?] = []
      for answer in answers { found.append(await answer.value) }
      try require(found == [2, 4, 6, 8], "\(found)")
      let error = await new.value
      try require(error?.code == .noResponders, "\(String(describing: error))")
    }
  }

  @Test func aDrainEndsWithItsLimit() throws {
    try simulate(1...20) { clock in
      let question = RemoteQuestion<Int, Int>("double", over: InMemoryTransport(clock: clock))
      question.addResponder { number async throws in
        try await clock.sleep(for: .seconds(50))
        return number * 2
      }
      let idle = try await question.listen(as: "idle")
      await idle.drain(within: .seconds(10))
      try require(clock.now.offset == .zero, "\(clock.now)")
      let listening = try await question.listen()
      let answers = Self.ask(question, 1...1)
      try await clock.sleep(for: .seconds(1))
      await listening.drain(within: .seconds(10))
      try require(clock.now.offset == .seconds(11), "\(clock.now)")
      let answer = await answers[0].value
      try require(answer == 2 && clock.now.offset == .seconds(50), "\(String(describing: answer)), \(clock.now)")
    }
  }

  @Test func aLockedResponderIsNotAsked() throws {
    try simulate(1...10) { clock in
      let question = RemoteQuestion<Int, Int>("double", over: InMemoryTransport(clock: clock))
      let token = question.addResponder(.named("one")) { $0 * 2 }
      try await question.listen()
      try require(question.lock(token) && question.isLocked(token), "no lock")
      let locked = await Self.error { try await question.firstAnswer(to: 1) }
      try require(locked?.code == .noResponders && question.unlock(token), "\(String(describing: locked))")
      let answer = try await question.firstAnswer(to: 1)
      try require(
        answer == 2 && question.lockAll(where: .named("one")) == 1 && question.lockAll(where: .named("two")) == 0,
        "\(answer)")
      question.addResponder(.named("two")) { $0 * 3 }
      let other = try await question.firstAnswer(to: 1)
      try require(other == 3 && question.unlockAll(where: .named("one")) == 1 && !question.isLocked(token), "\(other)")
      let responders = await question.handlers()
      try require(responders.map(\.name) == ["one", "two"], "\(responders)")
      try require(question.contains(token) && question.contains(where: .named("two")), "responders are missing")
      try require(question.removeAll(where: .named("one")) == 1 && !question.contains(token), "other removals")
      try require(!question.isFinished, "an end")
      question.finish()
      try require(question.isFinished, "no end")
    }
  }
}
