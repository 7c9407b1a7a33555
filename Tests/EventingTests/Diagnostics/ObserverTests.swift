import Dispatch
import Eventing
import EventingDiagnostics
import EventingTesting
import Synchronization
import Testing

@testable import EventingInspection

/// Tests of observers, of occurrences that reach no handler, and of diagnostics.
@Suite(.fewAtATime) struct ObserverTests {
  /// An observer that records each of its calls in one line, with the name of the handler.
  final class Notes: EventObserver {
    let lines = Recorder<String>()
    let durations = Recorder<Duration>()

    func observe(_ step: EventStep) {
      let (name, sequence) = (step.handler.map { $0.name ?? "?" } ?? "", step.sequence.map { " \($0)" } ?? "")
      switch step.kind {
      case .accepted: lines.record("\(step.event.name ?? "?")\(sequence)")
      case .ended: lines.record("ended \(name)\(sequence)\(step.error == nil ? "" : " failed")")
      case .left: break
      default: lines.record("\(step.kind) \(name)\(sequence)")
      }
      if step.kind == .ended, let duration = step.duration { durations.record(duration) }
    }

    var since: [String] {
      defer { lines.removeAll() }
      return lines.values
    }
  }

  struct Problem: Error {}

  @Test func anObserverReceivesEveryOutcomeOfInlineHandlers() async {
    let (event, notes) = (Event<Int>("e"), Notes())
    let a = event.addHandler(.named("a"), .priority(1)) { if $0 == 2 { throw Problem() } }
    event.post(1)
    let watching = event.observe(with: notes)
    #expect(notes.since == ["added a"])
    event.once(.named("b")) { _ in }
    event.post(2)
    #expect(notes.since == ["added b", "e 2", "began a 2", "ended a 2 failed", "began b 2", "ended b 2", "removed b"])
    event.lock(a)
    event.post(3)
    event.lock(a, holding: .latest)
    #expect(await event.send(4).held == 1)
    event.unlock(a)
    #expect(notes.since == ["e 3", "skipped a 3", "e 4", "held a 4", "began a 4", "ended a 4"])
    event.intercept { _ in .stop }
    event.post(5)
    #expect(notes.since == ["added ?", "e 5", "began a 5", "ended a 5", "began ? 5", "ended ? 5"])
    event.remove(a)
    watching.end()
    event.post(6)
    event.addHandler { _ in }
    #expect(notes.since == ["removed a", "removed ?"])
    #expect(notes.durations.values.allSatisfy { $0 >= .zero })
  }

  @Test(arguments: BoundedLane.allCases) func anObserverReceivesTheOutcomesOfLanes(lane: BoundedLane) async {
    let (event, notes, gate, begun) = (Event<Int>("e"), Notes(), Gate(), Gate())
    let token = event.add(
      lane.handler(.oldest(1), until: gate) { _ in
        begun.open()
      }.with(.named("a")))
    event.observe(with: notes)
    event.post(1)
    await begun.opened()
    let ticket = event.submit(2)
    event.post(3)
    event.removeAll(where: .oneOf([token]))
    gate.open()
    #expect(await ticket.report.skipped == 1)
    await event.quiesce()
    let expected = ["added a", "e 1", "e 2", "e 3", "dropped a 3", "removed a"]
    #expect(notes.lines.values.filter { expected.contains($0) } == expected)
    #expect(await eventually { Set(notes.lines.values) == Set(expected + ["began a 1", "ended a 1", "skipped a 2"]) })
  }

  @Test(arguments: LaneDelivery.allCases) func aSendToAnObservedLaneIsAwaitedAndReported(lane: LaneDelivery) async {
    let (event, notes, calls) = (Event<Int>("e"), Notes(), Counter())
    event.add(lane.handler(DispatchQueue(label: "test")) { calls.add() }.with(.named("a")))
    event.observe(with: notes)
    let report = await event.send(1)
    #expect(report.delivered == 1 && calls.value == 1)
    #expect(notes.since == ["added a", "e 1", "began a 1", "ended a 1"])
  }

  @Test func sequencesForwardsAndKeysAreReported() async {
    let (event, copy, notes) = (Event<Int>("e"), Event<Int>("c"), Notes())
    let payloads = event.payloads()
    event.forward(to: copy)
    event.observe(with: notes)
    event.post(1)
    #expect(notes.since == ["added ?", "added ?", "e 1", "began ? 1", "ended ? 1", "began ? 1", "ended ? 1"])
    withExtendedLifetime(payloads) {}
    let keyed = KeyedEvent<String, Int>("k")
    keyed["a"].addHandler(.named("a")) { _ in }
    keyed.observe(with: notes)
    keyed.post(1, to: "a")
    keyed.post(2, to: "b")
    #expect(notes.since == ["added a", "k 1", "began a 1", "ended a 1", "k 2"])
  }

  @Test func aHandlerOfAReleasedEventIsReportedAsRemoved() {
    let notes = Notes()
    var event: Event<Int>? = Event("e")
    event?.addHandler(.named("a")) { _ in }
    event?.observe(with: notes)
    event = nil
    #expect(notes.since == ["added a", "removed a"])
  }

  @Test func severalObserversAreCalledInTheirOrder() {
    let (event, log) = (Event<Int>(), Recorder<String>())
    struct Named: EventObserver {
      let name: String
      let log: Recorder<String>
      func observe(_ step: EventStep) {
        if step.kind == .accepted, let sequence = step.sequence { log.record("\(name) \(sequence)") }
      }
    }
    let first = event.observe(with: Named(name: "a", log: log))
    event.observe(with: Named(name: "b", log: log))
    event.post(1)
    first.end()
    first.end()
    event.post(2)
    #expect(log.values == ["a 1", "b 1", "b 2"])
  }

  @Test func anObserverMayDoAnything() {
    final class Adder: EventObserver {
      let event: Event<Int>
      init(_ event: Event<Int>) { self.event = event }
      func observe(_ step: EventStep) {
        if step.kind == .accepted, let sequence = step.sequence, sequence < 100 { event.post(0) }
        if step.kind == .removed { event.addHandler(.named("again")) { _ in } }
      }
    }
    let (event, calls) = (Event<Int>(), Counter())
    let observation = event.observe(with: Adder(event))
    event.once { _ in calls.add() }
    event.post(0)
    observation.end()
    #expect(calls.value == 1 && event.contains(where: .named("again")))
    event.finish()
  }

  // This test has a process of its own, because it observes every new event of the process.

  @Test func newEventsAreObserved() async {
    await #expect(processExitsWith: .success) {
      let notes = Notes()
      let observation = notes.observeNewEvents()
      let (one, two) = (Event<Int>("e"), Event<Int>("e", replaying: .last(1)))
      for event in [one, two] { event.post(1) }
      observation.end()
      let three = Event<Int>("e")
      for event in [one, two, three] { event.post(2) }
      precondition(notes.since == ["e 1", "e 1"])
    }
  }

  // MARK: Unhandled

  @Test func anOccurrenceThatReachesNoHandlerIsUnheard() async {
    let (event, seen, sender) = (Event<Int>("e"), Recorder<String>(), Owner(LiveCount()))
    event.post(1)
    event.unhandled.addHandler {
      seen.record("\($0.eventName ?? "?") \($0.sequence) \($0.payload) \($0.sender === sender)")
    }
    event.post(20, from: sender)
    let token = event.addHandler { if $0 == 60 { throw Problem() } }
    event.post(30)
    event.lock(token)
    await event.send(40)
    event.lock(token, holding: .latest)
    event.post(50)
    event.unlock(token)
    event.post(60)
    event.remove(token)
    event.addHandler(on: .background) { _ in }
    event.post(70)
    #expect(seen.values == ["e 2 20 true", "e 4 40 false"])
  }

  @Test(arguments: BoundedLane.allCases) func anOccurrenceWithoutRoomIsUnheard(lane: BoundedLane) async {
    for buffering in [Buffering.oldest(1), .suspendingSender(1), .newest(1)] {
      let (event, seen, gate, begun) = (Event<Int>(), Recorder<Int>(), Gate(), Gate())
      event.unhandled.addHandler { seen.record($0.payload) }
      event.add(lane.handler(buffering, until: gate) { _ in begun.open() })
      event.post(1)
      await begun.opened()
      for number in 2...3 { event.post(number) }
      #expect(seen.values == (buffering == .newest(1) ? [] : [3]))
      gate.open()
      await event.quiesce()
    }
  }

  @Test func aHandlerOfUnheardMayPostToItsEvent() {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.unhandled.addHandler { [weak event] in
      if $0.payload < 3 { event?.post($0.payload + 1) }
      seen.record($0.payload)
    }
    event.post(1)
    #expect(seen.values == [1, 2, 3])
  }

  // MARK: Racing threads

  @Test func observingDoesNotChangeTheDelivery() async {
    let event = Event<Int>()
    let (seen, accepted, unhandled) = (PlainLog(), Recorder<UInt64>(), Counter())
    struct Accepting: EventObserver {
      let log: Recorder<UInt64>
      func observe(_ step: EventStep) {
        if step.kind == .accepted, let sequence = step.sequence { log.record(sequence) }
      }
    }
    event.addHandler { seen.values.append($0) }
    let count = 5_000
    let running = Atomic<Int>(2)
    await onThreads(3) { index in
      if index < 2 {
        for number in 1...count { event.post(number * 2 + index) }
        running.wrappingSubtract(1, ordering: .releasing)
      } else {
        event.unhandled.addHandler { _ in unhandled.add() }
        while running.load(ordering: .acquiring) > 0 { event.observe(with: Accepting(log: accepted)).end() }
      }
    }
    await event.quiesce()
    for index in 0..<2 { #expect(seen.values.filter { $0 % 2 == index } == (1...count).map { $0 * 2 + index }) }
    #expect(unhandled.value == 0)
    #expect(zip(accepted.values, accepted.values.dropFirst()).allSatisfy { $0 < $1 })
  }

  /// A log without synchronization, because the event makes one call at a time.
  final class PlainLog: @unchecked Sendable {
    var values: [Int] = []
  }

  // MARK: Diagnostics

  @Test func slowHandlersAreFound() async {
    let (event, found, none) = (Event<Int>("e"), Recorder<String>(), Counter())
    // The test needs no particular duration: every call takes longer than -1 ns, and none takes an
    // hour.
    event.observe(
      with: EventDiagnostics(slowerThan: .nanoseconds(-1)) {
        guard $0.kind == .slowHandler, let handler = $0.handler, let took = $0.duration else { return }
        found.record(
          "\(handler.name ?? "?") of \($0.event ?? "?") \(took >= .zero) \("\($0)".hasPrefix("slow of e took "))")
      })
    event.observe(with: EventDiagnostics(slowerThan: .seconds(3_600)) { _ in none.add() })
    event.addHandler(.named("slow"), on: .background) { _ in }
    await event.send(1)
    await event.quiesce()
    #expect(found.values == ["slow of e true true"] && none.value == 0)
  }

  @Test func eventsWithManyHandlersAreFound() {
    let found = Recorder<String>()
    let diagnostics = EventDiagnostics(slowerThan: nil, moreHandlersThan: 2) { found.record("\($0)") }
    let (event, other) = (Event<Int>("e"), Event<Int>())
    event.addHandler(.named("a")) { _ in }
    for event in [event, other] { event.observe(with: diagnostics) }
    let tokens = (0..<2).map { _ in event.addHandler { _ in } }
    #expect(found.values == ["e has 3 handlers, more than 2: 2 without a name, 1 \"a\""])
    event.removeAll(where: .oneOf(tokens))
    for _ in 0..<4 { event.addHandler(.named("b")) { _ in } }
    #expect(found.values.last == "e has 5 handlers, more than 2: 4 \"b\", 1 \"a\"")
    for _ in 0..<2 { other.addHandler { _ in } }
    #expect(found.count == 2)
  }

  /// Observers and inspections are told of the program's events, and of none that the library makes
  /// for itself. A combination is shown as one of the values' types.
  @Test func toolsOfTheLibraryAreNotObserved() async throws {
    final class Types: EventObserver {
      let seen = Guarded<Set<String>>([])
      func observe(_ step: EventStep) {
        if step.kind == .added { seen.withLock { _ = $0.insert("\(step.event.payloadType)") } }
      }
    }
    struct Order: Sendable {}
    struct Price: Sendable {}
    let types = Types()
    EventRegistry.start()
    let observation = types.observeNewEvents()
    let (bus, orders) = (EventBus(), Event<Order>("orders"))
    bus.all(as: Order.self).addHandler { _ in }
    let (first, second) = (Observed(Order()), Observed(Price()))
    first.combineLatest(second).addHandler { _, _ in }
    let recorder = EventRecorder(orders)
    async let payloads = recorder.expect(1)
    while orders.handlerCount == 0 { await Task.yield() }
    orders.post(Order())
    _ = try await payloads
    observation.end()
    let registered = EventRegistry.events.map { "\($0.type)" }
    EventRegistry.stop()
    let seen = types.seen.withLock { $0 }
    #expect(seen.contains { $0.contains("Order") && $0.contains("Price") })
    for names in [Array(seen), registered] {
      #expect(!names.contains { $0.contains("LatestValues") || $0.contains("NoPayload") })
    }
  }
}
