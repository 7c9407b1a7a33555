import Eventing
import EventingTesting
import EventingTransport
import Testing

@Suite(.timeLimit(.minutes(10))) struct RemoteQuestionTests {
  static func error<Value>(_ body: () async throws -> Value) async -> TransportError? {
    do {
      _ = try await body()
      return nil
    } catch { return error as? TransportError }
  }

  @Test func oneMemberOfAGroupAnswers() throws {
    try simulate { clock in
      let bus = InMemoryTransport(seed: 4, clock: clock)
      let asking = RemoteQuestion<Int, Int>("double", over: bus.plain)
      let members = (0..<3).map { _ in RemoteQuestion<Int, Int>("double", over: bus.plain) }
      let asked = Notes<Int>()
      for (index, member) in members.enumerated() {
        member.addResponder { number in
          asked.note(index)
          return number * 2
        }
        try await member.listen(as: "shops")
      }
      for number in 1...20 {
        let answer = try await asking.firstAnswer(to: number)
        try require(answer == number * 2, "\(answer)")
      }
      try require(asked.count == 20 && Set(asked.values).count == 3, "\(asked.values)")
      withExtendedLifetime(members) {}  // a listening ends with its question
    }
  }

  @Test func whereNoProcessListensTheErrorComesAtOnce() throws {
    try simulate { clock in
      let question = RemoteQuestion<Int, Int>("double", over: InMemoryTransport(clock: clock))
      let error = await Self.error { try await question.firstAnswer(to: 1, within: .seconds(9)) }
      try require(error?.code == .noResponders && clock.now.offset == .zero, "\(String(describing: error))")
      let listening = try await question.listen()
      let without = await Self.error { try await question.firstAnswer(to: 1) }
      try require(without?.code == .noResponders, "\(String(describing: without))")
      listening.cancel()
      question.addResponder { $0 }
      let over = await Self.error { try await question.firstAnswer(to: 1) }
      try require(over?.code == .noResponders, "\(String(describing: over))")
    }
  }

  @Test func failuresAndTimeOutsAreErrors() throws {
    try simulate { clock in
      let question = RemoteQuestion<Int, Int>("double", over: InMemoryTransport(clock: clock))
      question.addResponder { number async throws in
        if number == 0 { throw Refused() }
        try await clock.sleep(for: .seconds(number))
        return number
      }
      try await question.listen(inFlight: 2)
      let failed = await Self.error { try await question.firstAnswer(to: 0) }
      try require(
        failed?.code == .responderFailed && failed?.description.contains("Refused") == true,
        "\(String(describing: failed))")
      let late = await Self.error { try await question.firstAnswer(to: 60, within: .seconds(2)) }
      try require(late?.code == .timedOut, "\(String(describing: late))")
    }
  }

  @Test func aCancelledCallerReturnsAtOnce() throws {
    try simulate { clock in
      let question = RemoteQuestion<Int, Int>("double", over: InMemoryTransport(clock: clock))
      question.addResponder { number async throws in
        try await clock.sleep(for: .seconds(60))
        return number
      }
      try await question.listen()
      let task = Task(executorPreference: EventContext.executor) {
        try await question.firstAnswer(to: 1, within: .seconds(1_000))
      }
      try await clock.sleep(for: .seconds(1))
      task.cancel()
      let result = await task.result
      try require(clock.now.offset == .seconds(1), "\(clock.now)")
      guard case .failure(let error) = result, error is CancellationError else { throw Unmet(description: "\(result)") }
    }
  }

  /// Each responder answers one query at a time. So three responders are needed to work on three
  /// queries at once.
  @Test(arguments: [1, 2, 3]) func requestsInFlightAreBounded(inFlight: Int) throws {
    let peaks = Guarded<Set<Int>>([])
    try simulate { clock in
      let question = RemoteQuestion<Int, Int>(
        "double", over: InMemoryTransport(clock: clock), codec: .json, answerCodec: .json)
      let running = Guarded((now: 0, most: 0))
      for responder in 0..<3 {
        question.addResponder { number async throws in
          guard number % 3 == responder else { return nil }
          running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
          try await clock.sleep(for: .seconds(1))
          running.withLock { $0.now -= 1 }
          return number
        }
      }
      try await question.listen(inFlight: inFlight)
      let answers = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 1...6 { group.addTask { try await question.firstAnswer(to: number, within: .seconds(60)) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      let most = running.withLock { $0.most }
      try require(answers.sorted() == Array(1...6) && most <= inFlight, "\(answers), \(most) at a time")
      peaks.withLock { _ = $0.insert(most) }
    }
    #expect(peaks.withLock { $0.max() } == inFlight)
  }
}
