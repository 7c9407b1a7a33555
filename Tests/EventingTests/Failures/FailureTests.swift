import Dispatch
import Eventing
import Testing

/// Tests of guarantee G19: a handler that throws stops no other handler, and its error is in the
/// report.
@Suite(.fewAtATime) struct FailureTests {
  struct Problem: Error, Equatable {
    let number: Int
  }

  @Test(arguments: SerialKind.allCases) func errorOfAHandlerIsInTheReport(kind: SerialKind) async throws {
    let event = Event<Int>()
    let token = add(kind, to: event) { number in throw Problem(number: number) }
    let report = await event.send(7)
    let failure = try #require(report.failures.first)
    #expect(report.failures.count == 1)
    #expect(failure.error as? Problem == Problem(number: 7))
    #expect(failure.handler == token)
    #expect(report.skipped == 0)
    #expect(report.delivered == (kind == .actor ? 1 : 0))
  }

  @Test(arguments: [AsyncDelivery.concurrent(limit: 2), .task]) func errorOfAnOverlappingHandlerIsInTheReport(
    delivery: AsyncDelivery
  ) async {
    let event = Event<Int>()
    event.addHandler(on: delivery) { number in
      await Task.yield()
      throw Problem(number: number)
    }
    #expect(await event.send(7).failures.map { $0.error as? Problem } == [Problem(number: 7)])
    #expect(await event.submit(8).report.failures.map { $0.error as? Problem } == [Problem(number: 8)])
  }

  @Test func errorsOfAllDeliveriesAreInTheReportInTheOrderOfTheHandlers() async {
    let event = Event<Int>()
    let tokens = addOneOfEach(to: event)
    for _ in 0..<50 {
      let report = await event.send(1)
      #expect(report.failures.map { $0.error as? Problem } == (0..<11).map { Problem(number: $0) })
      #expect(report.failures.map(\.handler) == tokens)
      #expect(report.delivered == 0)
    }
  }

  @MainActor @Test func errorsOfASendFromTheMainActorAreInTheOrderOfTheHandlers() async {
    let event = Event<Int>()
    addOneOfEach(to: event)
    let report = await event.send(1)
    #expect(report.failures.map { $0.error as? Problem } == (0..<11).map { Problem(number: $0) })
  }

  @Test func errorsAreInTheTicketsReportInTheOrderOfTheHandlers() async {
    let event = Event<Int>()
    addOneOfEach(to: event)
    let report = await event.submit(1).report
    #expect(report.failures.map { $0.error as? Problem } == (0..<11).map { Problem(number: $0) })
  }

  @Test func errorsAreInTheOrderOfPrioritiesBeforeThatOfAddition() async {
    let event = Event<Int>()
    event.addHandler(.priority(-5), on: .background) { _ in throw Problem(number: 4) }
    event.addHandler { _ in throw Problem(number: 2) }
    event.addHandler(.priority(9)) { _ async throws in throw Problem(number: 0) }
    event.addHandler(.priority(9)) { _ in throw Problem(number: 1) }
    event.addHandler(on: .task) { _ in throw Problem(number: 3) }
    #expect(await event.send(1).failures.map { ($0.error as? Problem)?.number } == [0, 1, 2, 3, 4])
  }

  @Test func handlerThatThrowsStopsNoOther() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    for index in 0..<10 {
      event.addHandler { _ in
        seen.record(index)
        if !index.isMultiple(of: 3) { throw Problem(number: index) }
      }
    }
    let report = await event.send(1)
    #expect(seen.values == Array(0..<10))
    #expect(report.delivered == 4)
    #expect(report.failures.map { ($0.error as? Problem)?.number } == [1, 2, 4, 5, 7, 8])
  }

  @Test func handlerThatThrowsIsCalledAgain() async {
    let event = Event<Int>()
    let calls = Counter()
    event.addHandler { _ in
      calls.add()
      throw Problem(number: 0)
    }
    event.addHandler(on: .background) { _ in
      calls.add()
      throw Problem(number: 1)
    }
    for number in 0..<10 {
      event.post(number)
      #expect(await event.send(number).failures.count == 2)
    }
    #expect(calls.value == 40)
  }

  @Test func errorOnTheFastPathLeavesTheCountsRight() async {
    // On the fast path the delivery reads no handler's record until a handler throws.
    let event = Event<Int>()
    for index in 0..<20 {
      event.addHandler(.priority(index % 4)) { number in
        if number == index { throw Problem(number: number) }
      }
    }
    for number in -5..<25 {
      let report = await event.send(number)
      let failing = (0..<20).contains(number) ? 1 : 0
      #expect(report.delivered == 20 - failing)
      #expect(report.failures.map { ($0.error as? Problem)?.number } == (failing == 1 ? [number] : []))
    }
  }

  @Test func throwIfFailedThrowsTheFirstErrorInTheOrderOfTheHandlers() async {
    let event = Event<Int>()
    let gate = Gate()
    event.addHandler { _ in }
    event.addHandler { _ in
      await gate.opened()
      throw Problem(number: 1)  // thrown last, but the first failure in the report
    }
    event.addHandler { _ in throw Problem(number: 2) }
    event.addHandler(on: .background) { _ in
      defer { gate.open() }
      throw Problem(number: 3)
    }
    let failure = await #expect(throws: HandlerFailure.self) { try await event.send(1).throwIfFailed() }
    #expect(failure?.error as? Problem == Problem(number: 1))
  }

  @Test func throwIfFailedThrowsNothingWithoutErrors() async throws {
    let event = Event<Int>()
    event.addHandler { _ in }
    event.addHandler(on: .background) { _ in }
    try await event.send(1).throwIfFailed()
    event.lock()
    try await event.send(1).throwIfFailed()
  }

  @Test func cancellationThatAHandlerThrowsIsAnErrorLikeAnyOther() async {
    let event = Event<Int>()
    event.addHandler(on: .task) { _ in try Task.checkCancellation() }
    let report = await inCancelledTask { await event.send(1) }
    #expect(report.delivered == 0)
    #expect(report.failures.map { $0.error is CancellationError } == [true])
  }

  /// Adds one handler of each kind. The handler at index n throws `Problem(number: n)`.
  @discardableResult private func addOneOfEach(to event: Event<Int>) -> [HandlerToken] {
    let queue = DispatchQueue(label: "errors")
    let stage = Stage()
    var tokens = [
      event.addHandler { _ in throw Problem(number: 0) },
      event.addHandler(on: .background) { _ in throw Problem(number: 1) },
      event.addHandler { _ async throws in throw Problem(number: 2) },
      event.addHandler(on: .main) { _ in throw Problem(number: 3) },
      event.addHandler(on: .task) { _ in throw Problem(number: 4) },
      event.addHandler(on: .main) { _ in
        await Task.yield()
        throw Problem(number: 5)
      },
      event.addHandler(on: .concurrent(limit: 2)) { _ in
        for _ in 0..<5 { await Task.yield() }
        throw Problem(number: 6)
      },
      event.addHandler(isolatedTo: stage) { _, _ in throw Problem(number: 7) },
      event.addHandler(on: .queue(queue)) { _ in throw Problem(number: 8) },
      event.occurrences.addHandler { _ in throw Problem(number: 9) },
    ]
    tokens.append(
      event.addHandler { _ in
        withExtendedLifetime(stage) {}
        throw Problem(number: 10)
      })
    return tokens
  }
}

#if DEBUG
  extension SyncPointTests {
    @Test func errorsAreInTheOrderOfTheHandlersWhenTwoThreadsAddAtTheSameTime() async {
      // The handler that is made first is enqueued second. `handlers` may have the two in either
      // order here, but the report must have their errors in the order that `handlers` has.
      let event = Event<Int>()
      let (inside, gate) = (Gate(), Gate())
      event.once { _ in
        inside.open()
        gate.wait()
      }
      let poster = startThread { event.post(0) }
      await inside.opened()
      let hold = Hold(at: .foundBusy)
      let adder = startThread {
        hold.during {
          event.addHandler(.named("second"), on: .background) { _ in throw FailureTests.Problem(number: 2) }
        }
      }
      await hold.reached.opened()
      event.addHandler(.named("first"), on: .background) { _ in throw FailureTests.Problem(number: 1) }
      hold.release()
      await adder.opened()
      gate.open()
      await poster.opened()
      let names = await event.handlers().map(\.name)
      let report = await event.send(1)
      #expect(Set(names) == ["first", "second"])
      #expect(report.failures.map { ($0.error as? FailureTests.Problem)?.number == 1 ? "first" : "second" } == names)
    }
  }
#endif
