import Dispatch
import Eventing
import Testing

extension ReportTests {
  // MARK: Changes while an occurrence waits on a lane

  @Test(arguments: SerialKind.allCases) func handlerThatIsRemovedWhileItWaitsOnItsLaneIsSkipped(kind: SerialKind) async
  {
    await expectReports(kind, [(1, 0), (0, 1), (0, 1)]) { event, token in event.remove(token) }
  }

  @Test(arguments: SerialKind.allCases) func handlerThatIsLockedWhileItWaitsOnItsLaneIsSkipped(kind: SerialKind) async {
    await expectReports(kind, [(1, 0), (0, 1), (0, 1)]) { event, token in event.lock(token) }
  }

  @Test(arguments: SerialKind.allCases) func eventThatIsLockedWhileAHandlerWaitsOnItsLaneSkipsIt(kind: SerialKind) async
  {
    await expectReports(kind, [(1, 0), (0, 1), (0, 1)]) { event, _ in event.lock() }
  }

  @Test(arguments: SerialKind.allCases) func handlerThatWasLockedAndUnlockedMeanwhileIsDelivered(kind: SerialKind) async
  {
    await expectReports(kind, [(1, 0), (1, 0), (1, 0)]) { event, token in
      event.lock(token)
      event.unlock(token)
    }
  }

  @Test func onceHandlerThatIsUsedUpWhileItWaitsOnItsLaneIsSkipped() async {
    let event = Event<Int>()
    let (executor, queue, stage, calls) = (StepExecutor(), DispatchQueue(label: "once"), Stage(), Recorder<Int>())
    queue.suspend()
    event.once(on: .queue(queue)) { calls.record($0) }
    executor.adding {
      event.once { number async in calls.record(number) }
      event.once(on: .concurrent(limit: 1)) { calls.record($0) }
      event.addHandler(.once, isolatedTo: stage) { _, number in calls.record(number) }
    }
    let tickets = (1...3).map { event.submit($0) }
    queue.resume()
    let reports = Task { await (tickets[0].report, tickets[1].report, tickets[2].report) }
    let over = Gate()
    Task {
      _ = await reports.value
      over.open()
    }
    while !over.isOpen { await executor.run() }
    let (first, second, third) = await reports.value
    #expect([first, second, third].map(\.delivered) == [4, 0, 0])
    #expect([first, second, third].map(\.skipped) == [0, 4, 4])
    #expect(calls.values == [1, 1, 1, 1])
    withExtendedLifetime(stage) {}
  }

  @Test(arguments: SerialKind.allCases) func eventThatEndsWhileAHandlerWaitsOnItsLaneStillDelivers(kind: SerialKind)
    async
  {
    await expectReports(kind, [(1, 0), (1, 0), (1, 0)]) { event, _ in event.finish() }
  }

  @Test func ownerThatGoesWhileItsHandlerWaitsOnItsLaneIsSkipped() async throws {
    let event = Event<Int>()
    let queue = DispatchQueue(label: "owned")
    let (live, calls) = (LiveCount(), Counter())
    queue.suspend()
    let tickets: [SendTicket]
    do {
      let owner = Canary(live)
      event.addHandler(on: .queue(queue), owner: owner) { _, _ in calls.add() }
      tickets = (1...2).map { event.submit($0) }
    }
    #expect(live.alive == 0)
    queue.resume()
    for ticket in tickets {
      let report = await ticket.report
      #expect(report.delivered == 0)
      #expect(report.skipped == 1)
    }
    #expect(calls.value == 0)
  }

  @Test func overlappingHandlersThatAreRemovedBeforeTheirCallsBeginAreSkipped() async {
    let event = Event<Int>()
    let (executor, calls) = (StepExecutor(), Counter())
    let tokens = executor.adding {
      [
        event.addHandler(on: .concurrent(limit: 2)) { _ in calls.add() },
        event.addHandler(on: .task) { _ in calls.add() },
      ]
    }
    let ticket = event.submit(1)
    #expect(event.removeAll(where: .oneOf(tokens)) == 2)
    while await executor.run() {}
    let report = await ticket.report
    #expect(report.delivered == 0)
    #expect(report.skipped == 2)
    #expect(calls.value == 0)
  }

  @Test func onceHandlerThatOverlapsIsCalledOnceAndSkippedForTheRest() async {
    let event = Event<Int>()
    let (executor, calls) = (StepExecutor(), Counter())
    executor.adding {
      event.once(on: .concurrent(limit: 3)) { _ in calls.add() }
      event.once(on: .task) { _ in calls.add() }
    }
    let tickets = (1...3).map { event.submit($0) }
    while await executor.run() {}
    var (delivered, skipped) = (0, 0)
    for ticket in tickets {
      let report = await ticket.report
      delivered += report.delivered
      skipped += report.skipped
    }
    #expect(delivered == 2)
    #expect(skipped == 4)
    #expect(calls.value == 2)
  }

  /// Submits 1, 2 and 3, calls `change` while the first call lasts, and compares the reports.
  ///
  /// - Parameter expected: The expected numbers of delivered and skipped calls in each report.
  private func expectReports(
    _ kind: SerialKind, _ expected: [(Int, Int)], sourceLocation: SourceLocation = #_sourceLocation,
    change: (Event<Int>, HandlerToken) -> Void
  ) async {
    let event = Event<Int>()
    let (began, gate, calls, stage) = (Gate(), Gate(), Counter(), Stage())
    let token = add(kind, to: event, stage: stage) { _ in
      calls.add()
      began.open()
      if !kind.isAsync { gate.wait() }
    } later: { _ in
      await gate.opened()
    }
    if kind == .actor { event.removeAll(where: .named("holds the stage")) }
    let tickets = (1...3).map { event.submit($0) }
    await began.opened()
    change(event, token)
    gate.open()
    for (ticket, (delivered, skipped)) in zip(tickets, expected) {
      let report = await ticket.report
      #expect(report.delivered == delivered, sourceLocation: sourceLocation)
      #expect(report.skipped == skipped, sourceLocation: sourceLocation)
      #expect(
        report.dropped + report.deferred + report.held + report.failures.count == 0, sourceLocation: sourceLocation)
    }
    #expect(calls.value == expected.map(\.0).reduce(0, +), sourceLocation: sourceLocation)
    withExtendedLifetime(stage) {}
  }
}
