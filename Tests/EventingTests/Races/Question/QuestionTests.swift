import Eventing
import EventingTesting
import Testing

/// Tests of questions that responders answer.
@Suite(.fewAtATime) struct QuestionTests {
  struct Odd: Error, Equatable { var number = 0 }

  @Test func theFirstAnswerThatComesCounts() async throws {
    let (price, slow) = (EventQuestion<String, Int>("price"), Gate())
    let failures = EventRecorder(price.failures)
    price.addResponder { _ in nil }
    price.addResponder(.named("odd")) { _ in throw Odd() }
    price.addResponder { item in
      await slow.opened()
      return item.count
    }
    price.addResponder(.priority(-1)) { item in item.count * 10 }
    #expect(try await price.firstAnswer(to: "tea") == 30)
    // Beside racing tests, its call may begin late.
    #expect(try await failures.expect(1, within: .seconds(120)).map(\.handler.name) == ["odd"])
    slow.open()
    #expect(await price.answers(to: "tea").map { try? $0.get() } == [nil, 3, 30])
    #expect("\(price)" == "question \"price\" of String, answered by Int" && price.handlerCount == 4)
  }

  @Test func allAnswersComeInTheOrderOfTheResponders() async {
    let (question, gates) = (EventQuestion<Int, Int>(), (0..<5).map { _ in Gate() })
    for index in 0..<5 {
      question.addResponder(.priority(index == 3 ? 1 : 0)) { number in
        if index < 4 { await gates[index + 1].opened() }  // the last responder answers first
        gates[index].open()
        return number + index
      }
    }
    #expect(await question.answers(to: 100).map { try? $0.get() } == [103, 100, 101, 102, 104])
  }

  @Test func noAnswerIsAnError() async {
    let question = EventQuestion<Int, Int>()
    let nobody = await #expect(throws: EventingError.self) { try await question.firstAnswer(to: 1) }
    #expect(nobody == .unanswered)
    #expect(
      nobody?.description
        == "expected an answer to the question of Int, answered by Int; there are 0 responders, and each that was asked passed, had no room, or waits for this call"
    )
    let token = question.addResponder { _ in nil }
    #expect(await #expect(throws: EventingError.self) { try await question.firstAnswer(to: 1) } == .unanswered)
    question.addResponder { throw Odd(number: $0) }
    await #expect(throws: Odd(number: 1)) { try await question.firstAnswer(to: 1) }
    #expect(question.remove(token) && !question.remove(token))
    #expect(await question.answers(to: 2).count == 1)
  }

  @Test func lateAnswersAreLeftOut() async throws {
    let (question, clock, gate) = (EventQuestion<Int, Int>(), ManualClock(), Gate())
    question.addResponder { number in
      await gate.opened()
      return number
    }
    let first = Task { try await question.firstAnswer(to: 1, within: .seconds(2), clock: clock) }
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(2))
    let error = await #expect(throws: EventingError.self) { try await first.value }
    #expect(
      error == .timedOut
        && error?.description
          == "expected an answer to the question of Int, answered by Int within 2.0 seconds; none came"
    )
    question.addResponder { $0 * 2 }
    let all = Task { await question.answers(to: 3, within: .seconds(2), clock: clock).map { try? $0.get() } }
    #expect(await eventually { clock.sleeperCount == 1 })
    #expect(try await question.firstAnswer(to: 4) == 8)  // the second responder has answered query 3 before query 4
    clock.advance(by: .seconds(2))
    #expect(await all.value == [6])
    gate.open()
    #expect(try await question.firstAnswer(to: 5, within: .seconds(2), clock: clock) > 0)
    #expect(await eventually { clock.sleeperCount == 0 })
  }

  @Test func aCancelledInquiryReturnsAtOnce() async {
    let (question, gate, began) = (EventQuestion<Int, Int>(), Gate(), Gate())
    question.addResponder { number in
      began.open()
      await gate.opened()
      return number
    }
    let first = Task { try await question.firstAnswer(to: 1) }
    await began.opened()
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    #expect(await inCancelledTask { await question.answers(to: 2).count } == 0)
    gate.open()
  }

  @Test func aResponderThatAsksItsOwnQuestionIsNotWaitedFor() async throws {
    let question = EventQuestion<Int, Int>()
    question.addResponder { number in
      guard number == 0 else { return number }
      return await question.answers(to: 1).count  // this responder is asked, too, and begins query 1 after query 0
    }
    #expect(await comesBack { try? await question.firstAnswer(to: 0) } == 0)
  }

  // MARK: A responder that stays suspended

  @Test func anAbandonedInquiryIsNotPutToAResponderLater() async throws {
    let (question, clock, gate, asked) = (EventQuestion<Int, Int>(), ManualClock(), Gate(), Recorder<Int>())
    question.addResponder { number in
      asked.record(number)
      await gate.opened()
      return number
    }
    let first = Task { try await question.firstAnswer(to: 0) }
    #expect(await eventually { asked.count == 1 })
    let late = (1...3).map { number in
      Task { try await question.firstAnswer(to: number, within: .seconds(1), clock: clock) }
    }
    let lateOnes = Task { await question.answers(to: 4, within: .seconds(1), clock: clock).count }
    let cancelled = Task { try await question.firstAnswer(to: 5, within: .seconds(9), clock: clock) }
    #expect(await eventually { clock.sleeperCount == 5 })
    clock.advance(by: .seconds(1))
    cancelled.cancel()
    for task in late { #expect(await #expect(throws: EventingError.self) { try await task.value } == .timedOut) }
    #expect(await lateOnes.value == 0)
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    let last = Task { try await question.firstAnswer(to: 6) }
    gate.open()
    #expect(try await first.value == 0)
    #expect(try await last.value == 6)
    #expect(asked.values == [0, 6])
  }

  @Test func anAbandonedInquiryIsReleasedThoughTheResponderStaysSuspended() async throws {
    let (question, clock, gate, live) = (EventQuestion<Canary, Int>(), ManualClock(), Gate(), LiveCount())
    let began = Gate()
    question.addResponder { canary in
      canary.sing()
      began.open()
      await gate.opened()
      return 1
    }
    let first = Task { try await question.firstAnswer(to: Canary(live)) }
    await began.opened()
    let late = (0..<50).map { _ in
      Task { _ = try? await question.firstAnswer(to: Canary(live), within: .seconds(1), clock: clock) }
    }
    let lateOnes = (0..<50).map { _ in
      Task { _ = await question.answers(to: Canary(live), within: .seconds(1), clock: clock) }
    }
    #expect(await eventually { clock.sleeperCount == 100 })
    #expect(live.alive == 101)
    clock.advance(by: .seconds(1))
    for task in late + lateOnes { await task.value }
    #expect(await eventually { live.alive == 1 })
    gate.open()
    #expect(try await first.value == 1)
    #expect(await eventually { live.alive == 0 })
  }

  @Test func anInquiryWithoutRoomAtAResponderCountsAsPassed() async throws {
    let (question, gate, asked, seen) = (EventQuestion<Int, Int>(), Gate(), Recorder<Int>(), Recorder<Int>())
    question.addResponder(.buffering(.newest(4))) { number in
      asked.record(number)
      await gate.opened()
      return number
    }
    question.addResponder { number in
      seen.record(number)
      return number == 9 ? 90 : nil
    }
    var tasks: [Task<Int, any Error>] = []
    for number in 0...8 {
      tasks.append(Task { try await question.firstAnswer(to: number) })
      #expect(await eventually { seen.count == number + 1 && asked.count == 1 })
    }
    for task in tasks[1...4] {  // the suspended first responder had no room for these queries
      #expect(await #expect(throws: EventingError.self) { try await task.value } == .unanswered)
    }
    let all = Task { await question.answers(to: 9).map { try? $0.get() } }
    #expect(await eventually { seen.count == 10 })
    for number in 10...13 { tasks.append(Task { try await question.firstAnswer(to: number) }) }
    #expect(await comesBack { await all.value } == [90])
    gate.open()
    #expect(try await tasks[0].value == 0)
    for number in 10...13 { #expect(try await tasks[number - 1].value == number) }
    #expect(Set(asked.values) == [0, 10, 11, 12, 13])
  }

  @Test func aResponderThatIsRetriedHasOneAnswer() async {
    let (question, tries) = (EventQuestion<Int, Int>(), Counter())
    question.addResponder(.retrying(.immediately(attempts: 2))) { number in
      if tries.add() == 1 { throw Odd() }
      return number
    }
    #expect(await question.answers(to: 7).compactMap { try? $0.get() } == [7])
    #expect(await question.answers(to: 8).count == 1)
  }

  @Test func aResponderAnswersByItsTimeLimitAndPassesWhenALaterQueryCancelsIt() async throws {
    let (clock, slow) = (ManualClock(), EventQuestion<Int, Int>())
    slow.addResponder(.timingOut(after: .seconds(1), clock: clock)) { number in
      while !Task.isCancelled { await Task.yield() }
      return number
    }
    async let late = slow.answers(to: 1)
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(1))
    let answers = await late
    #expect(answers.count == 1)
    #expect(throws: EventingError.self) { try answers[0].get() }

    let (latest, begun) = (EventQuestion<Int, Int>(), Gate())
    latest.addResponder(.cancellingPrevious) { number in
      begun.open()
      while number == 1, !Task.isCancelled { await Task.yield() }
      return number
    }
    async let first = latest.answers(to: 1)
    await begun.opened()
    async let second = latest.answers(to: 2)
    #expect(await second.compactMap { try? $0.get() } == [2])
    #expect(await first.isEmpty)
  }
}
