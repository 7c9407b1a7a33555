import Dispatch
import Eventing
import EventingDiagnostics
import Testing

/// Tests that `EventDiagnostics` report each hanging call once, while it hangs, and name the sends
/// and barriers that wait for it.
///
/// The tests call `look()` in place of the timer, so no test waits for time to pass.
@Suite(.fewAtATime) struct StuckTests {
  typealias Finding = EventDiagnostics.Finding

  /// Diagnostics that record what they find.
  struct Watch {
    let found = Recorder<Finding>()
    let diagnostics: EventDiagnostics

    init(stuckAfter limit: Duration = .seconds(3_600)) {
      diagnostics = EventDiagnostics(stuckAfter: limit) { [found] in found.record($0) }
    }

    func look(_ times: Int = 1) { for _ in 0..<times { diagnostics.look() } }
    var stuck: [Finding] { found.values.filter { $0.kind == .stuckHandler } }
  }

  @Test(arguments: LaneDelivery.allCases) func aCallThatHangsIsToldOnceWhileItHangs(lane: LaneDelivery) async {
    let (event, watch, begun, gate) = (Event<Int>("orders"), Watch(), Gate(), Gate())
    event.observe(with: watch.diagnostics)
    let handler = lane.handler(DispatchQueue(label: "test"), until: gate) { begun.open() }.with(.named("billing"))
    let token = event.add(handler)
    event.post(1)
    await begun.opened()
    watch.look(2)
    #expect(watch.found.count == 0)  // the call may have begun just before the first check, so it is not reported yet
    watch.look(5)
    #expect(watch.found.count == 1)
    let finding = watch.found.values[0]
    #expect(finding.kind == .stuckHandler && finding.handler == token && finding.event == "orders")
    #expect(finding.eventIdentity == event.identity)
    #expect(finding.duration.map { $0 >= .zero } == true)
    #expect(finding.handler?.fileID == "EventingTests/LaneDelivery.swift" && finding.handler?.line != nil)
    #expect("\(finding)".hasPrefix("billing of orders has been running for "))
    #expect("\(finding)".contains(" s, more than 3600.0 seconds, LaneDelivery.swift:"))
    gate.open()
    await event.quiesce()
    watch.look(5)
    #expect(watch.found.count == 1)
  }

  @Test func anInlineHandlerThatBlocksItsPosterIsTold() async {
    let (event, watch, begun, gate) = (Event<Int>("orders"), Watch(), Gate(), Gate())
    event.observe(with: watch.diagnostics)
    let token = event.addHandler(.named("blocking")) { _ in
      begun.open()
      gate.wait()
    }
    let poster = startThread { event.post(1) }
    await begun.opened()
    watch.look(3)
    #expect(watch.stuck.map(\.handler) == [token])
    #expect(watch.stuck.map { $0.handler?.fileID } == ["EventingTests/StuckTests.swift"])
    gate.open()
    await poster.opened()
  }

  @Test func eachCallIsTold() async {
    let (event, watch, begun, gate) = (Event<Int>(), Watch(), Countdown(3), Gate())
    event.observe(with: watch.diagnostics)
    event.addHandler(on: .concurrent(limit: 3)) { (_: Int) async in
      begun.arrive()
      await gate.opened()
    }
    for number in 0..<3 { event.post(number) }
    await begun.opened()
    watch.look(4)
    #expect(watch.stuck.count == 3)
    gate.open()
    await event.quiesce()
  }

  @Test func aCallThatEndsInTimeIsNotTold() async {
    let (event, watch) = (Event<Int>(), Watch())
    event.observe(with: watch.diagnostics)
    for _ in 0..<10 {
      let (begun, gate) = (Gate(), Gate())
      let token = event.addHandler { (_: Int) async in
        begun.open()
        await gate.opened()
      }
      event.post(1)
      await begun.opened()
      watch.look(2)
      gate.open()
      await event.quiesce()
      event.remove(token)
      watch.look(1)
    }
    #expect(watch.found.count == 0)
  }

  @Test func callsOfOtherEventsAreNotTold() async {
    let (event, other, watch, begun, gate) = (Event<Int>(), Event<Int>(), Watch(), Countdown(3), Gate())
    struct Nothing: EventObserver { func observe(_ step: EventStep) {} }
    other.observe(with: Nothing())
    let observation = event.observe(with: watch.diagnostics)
    let unobserved = Event<Int>()
    for event in [event, other, unobserved] {
      event.addHandler { (_: Int) async in
        begun.arrive()
        await gate.opened()
      }
      event.post(1)
    }
    await begun.opened()
    watch.look(2)
    observation.end()
    watch.look(3)
    #expect(watch.found.count == 0)
    gate.open()
    for event in [event, other, unobserved] { await event.quiesce() }
  }

  @Test func severalDiagnosticsAreTold() async {
    let (event, begun, gate) = (Event<Int>(), Gate(), Gate())
    let (watch, late) = (Watch(), Watch())
    for watch in [watch, late] { event.observe(with: watch.diagnostics) }
    event.addHandler { (_: Int) async in
      begun.open()
      await gate.opened()
    }
    event.post(1)
    await begun.opened()
    watch.look(3)
    late.look(2)
    #expect(watch.stuck.count == 1 && late.stuck.count == 0)
    late.look(1)
    #expect(late.stuck.count == 1)
    gate.open()
    await event.quiesce()
  }

  @Test func aHandlerThatALockPausesIsNotStuck() async {
    let (event, watch) = (Event<Int>(), Watch())
    event.observe(with: watch.diagnostics)
    let token = event.addHandler { (_: Int) async in }
    event.lock(token, holding: .unbounded)
    for number in 0..<3 { event.post(number) }
    watch.look(5)
    #expect(watch.found.count == 0)
    event.unlock(token)
    await event.quiesce()
  }

  // MARK: What waits for the call

  @Test(arguments: [LaneDelivery.inOrder, .background, .concurrent, .task])
  func sendsThatWaitForTheCallAreNamed(lane: LaneDelivery) async {
    let (event, watch, begun, gate) = (Event<Int>("orders"), Watch(), Gate(), Gate())
    event.observe(with: watch.diagnostics)
    event.add(lane.handler(DispatchQueue(label: "test"), until: gate) { begun.open() })
    event.addHandler { _ in }
    let send = Task { await event.send(1) }
    await begun.opened()
    watch.look(3)
    let waits = watch.stuck.first?.waits ?? []
    #expect(waits.map(\.event) == [event.identity] && waits.map(\.sequence) == [1])
    #expect("\(watch.stuck[0])".contains("; waiting for it: orders #1 for "))
    gate.open()
    #expect(await send.value.delivered == 2)
  }

  @Test func sendsAndBarriersBehindTheCallAreNamed() async {
    let (event, watch, begun, gate) = (Event<Int>("orders"), Watch(), Gate(), Gate())
    event.observe(with: watch.diagnostics)
    event.addHandler { (_: Int) async in
      begun.open()
      await gate.opened()
    }
    event.post(1)
    await begun.opened()
    let sends = (2...3).map { number in Task { await event.send(number) } }
    while await event.handlers()[0].waitingCount < 2 { await Task.yield() }
    event.post(4)
    while await event.handlers()[0].waitingCount < 3 { await Task.yield() }
    watch.look(3)
    #expect(watch.stuck.map(\.waitingCount) == [3])
    #expect(watch.stuck.first.map { Set($0.waits.map(\.sequence)) } == [2, 3])
    gate.open()
    for send in sends { #expect(await send.value.delivered == 1) }
  }

  @Test func sendsToAnEventThatAnInlineHandlerBlocksAreNamed() async {
    let (event, watch, begun, gate) = (Event<Int>("orders"), Watch(), Gate(), Gate())
    event.observe(with: watch.diagnostics)
    event.addHandler { _ in
      begun.open()
      gate.wait()
    }
    let poster = startThread { event.post(1) }
    await begun.opened()
    let sends = (2...3).map { number in startSend(number, through: event) }
    let quiesced = startQuiesce(event)
    watch.look(3)
    let waits = watch.stuck.first?.waits ?? []
    #expect(waits.map(\.event) == [event.identity, event.identity, event.identity])
    #expect(waits.map(\.sequence) == [nil, nil, nil])
    #expect("\(watch.stuck[0])".contains("; waiting for it: orders for "))
    gate.open()
    await poster.opened()
    for send in sends { await send.value }
    await quiesced.value
  }

  /// Starts a send. Returns when it is enqueued.
  private func startSend(_ number: Int, through event: Event<Int>) -> Task<Void, Never> {
    Task.immediate { _ = await event.send(number) }
  }
  private func startQuiesce(_ event: Event<Int>) -> Task<Void, Never> { Task.immediate { await event.quiesce() } }

  @Test func aSendThatWaitsForAForwardIsNamed() async {
    let (orders, copies, watch, begun, gate) = (Event<Int>("orders"), Event<Int>("copies"), Watch(), Gate(), Gate())
    for event in [orders, copies] { event.observe(with: watch.diagnostics) }
    orders.forward(to: copies)
    copies.addHandler(.named("copying")) { (_: Int) async in
      begun.open()
      await gate.opened()
    }
    let send = Task { await orders.send(1) }
    await begun.opened()
    watch.look(3)
    #expect(watch.stuck.map(\.event) == ["copies"])
    #expect(watch.stuck.first?.waits.map(\.event) == [orders.identity])
    gate.open()
    #expect(await send.value.delivered == 1)
  }

  @Test func ticketsThatAreAwaitedAreNamed() async {
    let (event, watch, begun, gate) = (Event<Int>("orders"), Watch(), Gate(), Gate())
    event.observe(with: watch.diagnostics)
    event.addHandler { (_: Int) async in
      begun.open()
      await gate.opened()
    }
    let ticket = event.submit(1)
    await begun.opened()
    watch.look(2)
    let reports = (0..<2).map { _ in Task.immediate { await ticket.report.delivered } }
    watch.look(1)
    #expect(watch.stuck.first?.waits.count == 1)
    gate.open()
    for report in reports { #expect(await report.value == 1) }
  }
}
