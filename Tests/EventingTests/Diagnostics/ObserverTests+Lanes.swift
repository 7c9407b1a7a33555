import Dispatch
import Eventing
import EventingDiagnostics
import Testing

extension ObserverTests {
  // MARK: Lifetimes

  @Test func anObserverThatKeepsTokensIsReleasedWithItsEvent() {
    final class Keeper: EventObserver {
      let tokens = Recorder<HandlerToken>()
      let canary: Canary
      init(_ live: LiveCount) { canary = Canary(live) }
      func observe(_ step: EventStep) { if let handler = step.handler { tokens.record(handler) } }
    }
    let live = LiveCount()
    for _ in 0..<10 {
      let event = Event<Int>()
      event.observe(with: Keeper(live))
      event.addHandler { _ in }
      event.post(1)
    }
    #expect(live.alive == 0)
  }

  @Test func endingTheObservationOfNewEventsEndsItForEachOfThem() async {
    await #expect(processExitsWith: .success) {
      let (log, live) = (Recorder<UInt64>(), LiveCount())
      let everywhere = CountedObserver(log, live).observeNewEvents()
      let event = Event<Int>()
      event.post(1)
      everywhere.end()
      precondition(live.alive == 0)
      event.post(2)
      precondition(log.values == [1])
      #if DEBUG
        precondition(event.hasFastPath)
      #endif
    }
  }

  private final class CountedObserver: EventObserver {
    let log: Recorder<UInt64>
    let canary: Canary
    init(_ log: Recorder<UInt64>, _ live: LiveCount) { (self.log, canary) = (log, Canary(live)) }
    func observe(_ step: EventStep) {
      if step.kind == .accepted, let sequence = step.sequence { log.record(sequence) }
    }
  }

  @Test func diagnosticsDoNotMixEventsUp() {
    let found = Recorder<String>()
    let diagnostics = EventDiagnostics(slowerThan: nil, moreHandlersThan: 10) { found.record("\($0)") }
    for _ in 0..<1_000 {
      let event = Event<Int>()
      let observation = event.observe(with: diagnostics)
      event.addHandler { _ in }
      observation.end()
    }
    #expect(found.values == [])
  }

  @Test func unheardEndsWithTheEvent() async {
    let event = Event<Int>()
    let unhandled = event.unhandled.payloads()
    event.post(1)
    event.finish()
    event.post(2)
    var seen: [Int] = []
    for await occurrence in unhandled { seen.append(occurrence.payload) }
    #expect(seen == [1])
  }

  // MARK: Observed lanes and sequences

  @Test func aForwardBehindALaneIsObservedWithoutARace() async {
    let (event, copy, calls) = (Event<Int>(), Event<Int>(), Counter())
    event.addHandler(on: .background) { _ in calls.add() }
    // Spins until the lane has called its handler. So the lane has read the completion of the
    // occurrence before the forward runs.
    event.addHandler { number in while calls.value < number {} }
    event.forward(to: copy)
    event.observe(with: Notes())
    for number in 1...20 {
      let ticket = await onThread { event.submit(number) }
      #expect(await ticket.report.delivered == 3)
    }
  }

  @Test func aPayloadWithoutRoomInASequenceIsReportedAsDropped() {
    let (event, notes) = (Event<Int>("e"), Notes())
    let payloads = event.payloads(buffering: .newest(1))
    event.observe(with: notes)
    for number in 1...3 { event.post(number) }
    #expect(notes.lines.values.filter { $0.hasPrefix("dropped") } == ["dropped ? 2", "dropped ? 3"])
    withExtendedLifetime(payloads) {}
  }

  @Test func heldAndSkippedOccurrencesOfALaneAreReported() async {
    let (event, notes, queue) = (Event<Int>("e"), Notes(), DispatchQueue(label: "test"))
    let token = event.addHandler(.named("a"), on: .queue(queue)) { _ in }
    event.observe(with: notes)
    queue.suspend()
    let tickets = [event.submit(1), event.submit(2)]
    event.lock(token, holding: .latest)
    queue.resume()
    for ticket in tickets { #expect(await ticket.report.held == 1) }
    for number in 3...4 { event.post(number) }
    event.remove(token)
    let told = notes.lines.values.filter { $0.hasPrefix("held") || $0.hasPrefix("skipped") }
    #expect(
      told.sorted() == ["held a 1", "held a 2", "held a 3", "held a 4", "skipped a 1", "skipped a 2", "skipped a 3"])
  }

  enum PausableLane: CaseIterable, Sendable { case concurrent, serial, byKey }

  /// Adds a handler that opens a gate, and then waits for another one.
  private func addHandler(on lane: PausableLane, to event: Event<Int>, _ begun: Gate, _ gate: Gate) -> HandlerToken {
    let body: @Sendable (Int) async -> Void = { _ in
      begun.open()
      await gate.opened()
    }
    let handler =
      switch lane {
      case .concurrent: Handler(on: .concurrent(limit: 1), perform: body)
      case .serial: Handler(on: .inOrder, perform: body)
      case .byKey: Handler(.inOrder(by: { $0 % 7 }), on: .concurrent(limit: 1), perform: body)
      }
    return event.add(handler)
  }

  @Test(arguments: PausableLane.allCases)
  func aHeldOccurrenceIsToldOnceAtAConstantCost(lane: PausableLane) async {
    let (event, begun, gate, notes) = (Event<Int>("e"), Gate(), Gate(), Notes())
    let token = addHandler(on: lane, to: event, begun, gate)
    event.observe(with: notes)
    for _ in 0..<2 { event.post(0) }
    await begun.opened()
    event.lockAll(where: .oneOf([token]), holding: .oldest(.max))
    gate.open()
    await event.quiesce()
    // A lane that searched all its waiting items at each new item would need about half a minute
    // for this unlock.
    for number in 0..<20_000 { event.post(number) }
    event.unlockAll(where: .oneOf([token]))
    await event.quiesce()
    #expect(await event.handlers().map(\.callCount) == [20_002])
    let held = notes.lines.values.filter { $0.hasPrefix("held") }
    #expect(held.count == 20_001 && Set(held).count == held.count)
  }

  @Test(arguments: PausableLane.allCases)
  func anOccurrenceThatTwoLocksHoldInTurnIsToldOnce(lane: PausableLane) async {
    let (event, begun, gate, notes) = (Event<Int>("e"), Gate(), Gate(), Notes())
    let token = addHandler(on: lane, to: event, begun, gate)
    event.observe(with: notes)
    event.post(0)
    await begun.opened()
    event.lockAll(where: .oneOf([token]), holding: .oldest(.max))
    event.post(1)
    event.unlockAll(where: .oneOf([token]))
    event.lockAll(where: .oneOf([token]), holding: .oldest(.max))
    gate.open()
    await event.quiesce()
    #expect(notes.lines.values.filter { $0.hasPrefix("held") } == ["held ? 2"])
    event.unlockAll(where: .oneOf([token]))
    await event.quiesce()
    #expect(await event.handlers().map(\.callCount) == [2])
  }
}

#if DEBUG
  extension SyncPointTests {
    /// Begins a lock while the main queue is about to make a call.
    @Test(arguments: [false, true]) func anObserverIsToldOnceOfACallThatALockHolds(isBounded: Bool) async {
      let (event, notes, hold) = (Event<Int>("e"), ObserverTests.Notes(), Hold(at: .claiming))
      let bound: HandlerOption<Int> = isBounded ? .buffering(.newest(10)) : .options()
      let token = event.addHandler(.named("a"), bound, on: .main) { _ in }
      event.observe(with: notes)
      let poster = Task { @MainActor in hold.during { event.post(1) } }
      await hold.reached.opened()
      event.lock(token, holding: .oldest(100))
      hold.release()
      await poster.value
      #expect(notes.since == ["added a", "e 1", "held a 1"])
      // A second lock begins before the main queue can make the call.
      await MainActor.run {
        event.unlock(token)
        event.lock(token, holding: .oldest(100))
      }
      await event.quiesce()
      #expect(notes.since == [])
      event.unlock(token)
      await event.quiesce()
      #expect(notes.since == ["began a 1", "ended a 1"])
    }
  }
#endif
