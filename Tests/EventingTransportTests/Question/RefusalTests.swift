import Eventing
import EventingTesting
import Testing

@testable import EventingTransport

/// Tests of a question that several processes answer or refuse.
@Suite(.timeLimit(.minutes(10))) struct RefusalTests {
  @Test(arguments: ["has no answer", "fails"]) func aLaterAnswerBeatsAnEarlierRefusal(_ other: String) throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock).plain
      let (knows, refuses) = (
        RemoteQuestion<Int, Int>("double", over: bus), RemoteQuestion<Int, Int>("double", over: bus)
      )
      knows.addResponder { number in
        try await clock.sleep(for: .seconds(1))
        return number * 2
      }
      refuses.addResponder { _ -> Int? in
        if other == "fails" { throw Refused() }
        return nil
      }
      try await knows.listen()
      try await refuses.listen()
      let answer = try await RemoteQuestion<Int, Int>("double", over: bus).firstAnswer(to: 21, within: .seconds(10))
      try require(answer == 42, "\(answer)")
    }
  }

  @Test func withoutAnAnswerTheErrorOfAResponderIsTold() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock).plain
      let asker = RemoteQuestion<Int, Int>("double", over: bus)
      let all = (0..<3).map { _ in RemoteQuestion<Int, Int>("double", over: bus) }
      for (number, question) in all.enumerated() {
        question.addResponder { _ -> Int? in
          try await clock.sleep(for: .seconds(number))
          if number == 1 { throw Refused() }
          return nil
        }
        try await question.listen()
      }
      do {
        _ = try await asker.firstAnswer(to: 1, within: .seconds(10))
        throw Unmet(description: "an answer came")
      } catch let error as TransportError {
        try require(error.code == .responderFailed && error.description.contains("Refused"), "\(error)")
      }
    }
  }

  @Test func aRefusalIsToldAtTheTimeLimitIfOthersSayNothing() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock).plain
      let (slow, refuses) = (
        RemoteQuestion<Int, Int>("double", over: bus), RemoteQuestion<Int, Int>("double", over: bus)
      )
      slow.addResponder { number in
        try await clock.sleep(for: .seconds(100))
        return number
      }
      refuses.addResponder { _ -> Int? in throw Refused() }
      try await slow.listen()
      try await refuses.listen()
      do {
        _ = try await RemoteQuestion<Int, Int>("double", over: bus).firstAnswer(to: 1, within: .seconds(5))
        throw Unmet(description: "an answer came")
      } catch let error as TransportError { try require(error.code == .responderFailed, "\(error)") }
    }
  }

  @Test func noResponderBeginsAQueryWhoseCallerHasGone() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock).plain
      let (question, begun) = (RemoteQuestion<Int, Int>("slow", over: bus), Notes<Int>())
      question.addResponder { number in
        begun.note(number)
        try await clock.sleep(for: .seconds(3))
        return number
      }
      try await question.listen(as: "one")
      await withTaskGroup(of: Void.self) { group in
        for number in 1...5 { group.addTask { _ = try? await question.firstAnswer(to: number, within: .seconds(1)) } }
      }
      try await clock.sleep(for: .seconds(100))
      try require(begun.count == 1, "\(begun.values)")
    }
  }

  @Test func withoutAWordOfTheEngineTheLimitInTheRequestCounts() {
    func isWaiting(_ limit: String?) -> Bool {
      RequestCaller.waiting(for: RemoteMessage(headers: limit.map { ["Eventing-Limit": $0] } ?? [:]))()
    }
    for limit in ["0", "-5", "\(Int64.min)"] { #expect(!isWaiting(limit), "\(limit)") }
    for limit in [nil, "60000", "\(Int64.max)", "1e3", ""] { #expect(isWaiting(limit), "\(limit ?? "none")") }
    #expect(RequestCaller.header(.milliseconds(1_500)) == "1500")
    #expect(RequestCaller.header(.seconds(-1)) == "0")
    #expect(isWaiting(RequestCaller.header(.seconds(Int64.max))))
  }
}
