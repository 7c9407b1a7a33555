import Eventing
import EventingTesting
import Testing

/// Tests of `ticket.acceptance`: what the handlers of each kind have taken, before their calls end.
@Suite(.fewAtATime) struct AcceptanceTests {
  @Test func aFullBufferIsToldBeforeAnyCallEnds() async {
    let (jobs, gate) = (Event<Int>(), Gate())
    jobs.addHandler(.buffering(.suspendingSender(2))) { _ async in await gate.opened() }
    var dropped = 0
    for number in 1...6 { dropped += await jobs.submit(number).acceptance.dropped }
    #expect(dropped == 6 - 1 - 2 || dropped == 6 - 2)  // the worker may not have taken the first one yet
    gate.open()
    await jobs.quiesce()
  }

  @Test func eachKindOfHandlerCountsOnce() async {
    let (event, target, gate) = (Event<Int>(), Event<Int>(), Gate())
    struct Refused: Error {}
    target.addHandler { _ async in await gate.opened() }
    event.addHandler { _ in }
    event.addHandler { _ in throw Refused() }
    event.addHandler { _ async in await gate.opened() }
    event.addHandler(on: .concurrent(limit: 2)) { _ async in await gate.opened() }
    event.addHandler(on: .task) { _ async in await gate.opened() }
    event.addHandler(on: .background) { _ in }
    event.batches(of: 9, within: .seconds(1_000)).addHandler { (_: [Int]) async in }
    event.addHandler(.debounced(for: .seconds(1_000))) { _ in }
    event.forward(to: target)
    let payloads = event.payloads()
    event.filter { $0 > 5 }.addHandler { _ in }
    let locked = event.addHandler { _ in }
    event.lock(locked)
    let holding = event.addHandler { _ in }
    event.lock(holding, holding: .unbounded)
    let ticket = event.submit(1)
    let acceptance = await ticket.acceptance
    #expect((acceptance.accepted, acceptance.dropped, acceptance.held) == (10, 0, 1))
    #expect("\(acceptance)" == "10 accepted, 0 dropped, 1 held")
    gate.open()
    await event.quiesce()  // delivers what waits for a batch or a pace
    let report = await ticket.report
    #expect((report.skipped, report.held) == (2, 1))
    withExtendedLifetime(payloads) {}
  }

  @Test func aBusyEventAnswersInItsTurnAndATicketOftenAndInAHandler() async {
    let (event, gate) = (Event<Int>(), Gate())
    let answers = Recorder<Int>()
    let began = Gate()
    event.addHandler { number in
      guard number == 1 else { return }
      began.open()
      gate.wait()
    }
    let busy = Task.detached { event.post(1) }
    await began.opened()
    let ticket = event.submit(2)
    let asking = (0..<3).map { _ in Task { answers.record(await ticket.acceptance.accepted) } }
    #expect(answers.values.isEmpty)
    gate.open()
    for task in asking { await task.value }
    await busy.value
    #expect(answers.values == [1, 1, 1])
    #expect(await ticket.report.delivered == 1)
    let own = Event<Int>()
    own.addHandler { number async in
      if number == 1 { answers.record(await own.submit(2).acceptance.accepted) }
    }
    await own.send(1)
    #expect(answers.values.last == 1)
  }

  @Test func anEventWithoutHandlersAndOneThatHasFinishedAcceptNothing() async {
    let event = Event<Int>()
    #expect(await event.submit(1).acceptance.accepted == 0)
    event.addHandler { _ in }
    event.finish()
    let acceptance = await event.submit(2).acceptance
    #expect((acceptance.accepted, acceptance.dropped, acceptance.held) == (0, 0, 0) && !acceptance.isComplete)
    let guarded = Event<Int>()
    guarded.intercept(.priority(1)) { $0 < 0 ? .stop : .proceed }
    let work = guarded.addHandler(on: .background) { _ in }
    #expect(await guarded.submit(1).acceptance.isComplete)
    #expect(await guarded.submit(-1).acceptance.accepted == 0)
    guarded.lock(work)
    #expect(await !guarded.submit(1).acceptance.isComplete)
    guarded.unlock(work)
    guarded.lock(work, holding: .unbounded)
    #expect(await guarded.submit(1).acceptance.isComplete)
    let rooms = KeyedEvent<Int, Int>()
    rooms[1].addHandler(on: .background) { _ in }
    #expect(await rooms.submit(1, to: 1).acceptance.accepted == 1)
    #expect(await rooms.submit(1, to: 2).acceptance.accepted == 0)
  }
}
