import Dispatch
import Eventing
import Testing

/// Tests of guarantee G16: a `send` returns when every handler that the occurrence reached has
/// finished.
///
/// If the wait would close a cycle, the handler is deferred.
@Suite(.fewAtATime) struct SendCompletionTests {
  // MARK: The calls that a send waits for

  @Test(arguments: SerialKind.allCases) func sendReturnsAfterTheHandlerFinished(kind: SerialKind) async {
    let event = Event<Int>()
    let (began, gate, finished) = (Gate(), Gate(), Counter())
    add(kind, to: event) { _ in
      began.open()
      if !kind.isAsync { gate.wait() }
      if !kind.isAsync { finished.add() }
    } later: { _ in
      await gate.opened()
      finished.add()
    }
    async let finishedAtReturn = {
      await event.send(1)
      return finished.value
    }()
    await began.opened()
    #expect(finished.value == 0)
    gate.open()
    #expect(await finishedAtReturn == 1)
  }

  @Test func sendReturnsAfterHandlersOnEveryLaneFinished() async {
    let event = Event<Int>()
    let (gate, finished) = (Gate(), Counter())
    let began = Countdown(10)
    let body: @Sendable (Int) async -> Void = { _ in
      began.arrive()
      await gate.opened()
      finished.add()
    }
    let blocking: @Sendable (Int) -> Void = { _ in
      began.arrive()
      gate.wait()
      finished.add()
    }
    event.addHandler(on: .background, perform: blocking)
    event.addHandler(on: .queue(DispatchQueue(label: "one")), perform: blocking)
    event.addHandler(perform: body)
    event.addHandler(on: .inOrder(priority: .utility), perform: body)
    event.addHandler(on: .concurrent(limit: 2), perform: body)
    event.addHandler(on: .task, perform: body)
    event.addHandler(on: .task(priority: .low), perform: body)
    event.addHandler(on: .main) { await body($0) }
    let stage = Stage()
    event.addHandler(isolatedTo: stage) { _, number in await body(number) }
    event.addHandler { _ in began.arrive() }
    async let result = {
      let report = await event.send(1)
      return (report, finished.value)
    }()
    await began.opened()
    gate.open()
    let (report, finishedAtReturn) = await result
    #expect(finishedAtReturn == 9)
    #expect(report.delivered == 10)
    withExtendedLifetime(stage) {}
  }

  @Test func sendToABusyEventReturnsAfterItsTurn() async {
    let event = Event<Int>()
    let (inside, gate, finished) = (Gate(), Gate(), Recorder<Int>())
    event.addHandler { number in
      if number == 1 {
        inside.open()
        gate.wait()
      }
    }
    event.addHandler { number in
      await Task.yield()
      finished.record(number)
    }
    let poster = startThread { event.post(1) }
    await inside.opened()
    async let result = {
      let report = await event.send(2)
      return (report, finished.values)
    }()
    // By now the send is usually queued behind 1. Nothing signals that, and no expectation depends
    // on it.
    await Task.yield()
    gate.open()
    let (report, finishedAtReturn) = await result
    #expect(report.sequence == 2)
    #expect(report.delivered == 2)
    #expect(finishedAtReturn == [1, 2])
    await poster.opened()
  }

  @Test func sendFromAHandlerOfAnotherEventIsWaitedFor() async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let finished = Recorder<String>()
    second.addHandler { number in
      for _ in 0..<10 { await Task.yield() }
      finished.record("second \(number)")
    }
    first.addHandler { number in
      let report = await second.send(number)
      finished.record("first \(number), \(report.delivered) delivered, \(report.deferred) deferred")
    }
    let report = await comesBack { await first.send(1) }
    #expect(report?.delivered == 1)
    #expect(finished.values == ["second 1", "first 1, 1 delivered, 0 deferred"])
  }

  @Test func sendsOfTwoChildTasksThatMeetAtOneEventAreNoCycle() async {
    let events = (0..<4).map { _ in Event<Int>() }
    let reports = Recorder<SendReport>()
    events[3].addHandler { _ in await Task.yield() }
    for middle in 1...2 { events[middle].addHandler { number in reports.record(await events[3].send(number)) } }
    events[0].addHandler { number in
      async let left = events[1].send(number)
      async let right = events[2].send(number)
      let both = await [left, right]
      for report in both { reports.record(report) }
    }
    await comesBack { await events[0].send(1) }
    #expect(reports.values.map(\.delivered) == [1, 1, 1, 1])
    #expect(reports.values.map(\.deferred) == [0, 0, 0, 0])
  }

  // MARK: Tickets

  @Test func ticketIsJudgedAtEachAwait() async throws {
    let event = Event<Int>()
    let (tickets, inner, calls) = (Recorder<SendTicket>(), Recorder<SendReport>(), Recorder<Int>())
    let (ready, outside) = (Gate(), Gate())
    event.addHandler { number in
      calls.record(number)
      guard number == 1 else { return }
      let ticket = event.submit(2)
      tickets.record(ticket)
      ready.open()
      await outside.opened()
      for _ in 0..<100 { await Task.yield() }
      inner.record(await ticket.report)
    }
    event.post(1)
    await ready.opened()
    let ticket = try #require(tickets.values.first)
    async let early = {
      outside.open()
      return await (ticket.report, calls.values)
    }()
    let (report, callsAtReturn) = await early
    #expect(report.delivered == 1)
    #expect(report.deferred == 0)
    #expect(callsAtReturn == [1, 2])
    #expect(inner.values.map(\.deferred) == [1])
    #expect(inner.values.map(\.delivered) == [0])
    let late = await ticket.report
    #expect(late.delivered == 1)
    #expect(late.deferred == 0)
  }

  @Test func ticketCanBeAwaitedByMany() async {
    let event = Event<Int>()
    let gate = Gate()
    event.addHandler { _ in await gate.opened() }
    let ticket = event.submit(1)
    let reports = await comesBack {
      await withTaskGroup(of: SendReport.self) { group in
        for _ in 0..<20 { group.addTask { await ticket.report } }
        group.addTask {
          gate.open()
          return await ticket.report
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
    }
    #expect(reports?.map(\.delivered) == Array(repeating: 1, count: 21))
  }

  @Test func ticketOfAnEventThatIsGoneIsComplete() async {
    let (gate, tickets) = (Gate(), Recorder<SendTicket>())
    do {
      let event = Event<Int>()
      event.addHandler { _ in await gate.opened() }
      tickets.record(event.submit(1))
      tickets.record(event.submit(2))
    }
    gate.open()
    for ticket in tickets.values {
      let report = await comesBack { await ticket.report }
      #expect(report?.delivered == 1)
    }
  }
}
