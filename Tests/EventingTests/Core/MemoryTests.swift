import Dispatch
import Synchronization
import Testing

#if DEBUG
  @testable import Eventing
#else
  import Eventing
#endif

/// Tests of guarantee G22: handlers and occurrences that have ended leave no memory behind.
@Suite(.fewAtATime) struct MemoryTests {
  @Test(arguments: RemovalOrder.allCases) func aMillionHandlersAddedAndRemovedWithoutSendsLeaveNothing(
    order: RemovalOrder
  ) async {
    let event = Event<Int>()
    let closures = LiveCount()
    await onThread { event.addAndRemove(many, order, closures) }
    #expect(closures.alive == 0)
    #expect(event.handlerCount == 0)
    let excess = await event.excess()
    #expect(excess == nil)
  }

  @Test(arguments: RemovalOrder.allCases) func handlersAddedAndRemovedBetweenSendsLeaveNothing(order: RemovalOrder)
    async
  {
    let event = Event<Int>()
    let closures = LiveCount()
    await onThread {
      event.addAndRemove(many / 10, order, closures) { number in if number % (many / 100) == 0 { event.post(number) } }
      event.post(1)
    }
    #expect(closures.alive == 0)
    let excess = await event.excess()
    #expect(excess == nil)
  }

  @Test(arguments: RemovalOrder.allCases) func handlersAddedAndRemovedAroundOneThatStaysLeaveOnlyThat(
    order: RemovalOrder
  ) async {
    let event = Event<Int>()
    let closures = LiveCount()
    await onThread {
      let tokens = event.addMany(many / 20, closures)
      event.addHandler { _ in }
      let later = event.addMany(many / 20, closures)
      for token in order.arranged(tokens + later) { event.remove(token) }
    }
    #expect(closures.alive == 0)
    #expect(event.handlerCount == 1)
    let excess = await event.excess(over: 1)
    #expect(excess == nil)
    #expect(await event.send(1).delivered == 1)
  }

  @Test func handlersOfManyPrioritiesLeaveNothing() async {
    let event = Event<Int>()
    let closures = LiveCount()
    let tokens = (0..<5_000).map { number in
      let canary = Canary(closures)
      return event.addHandler(.priority(number)) { _ in canary.sing() }
    }
    for token in tokens { event.remove(token) }
    #expect(closures.alive == 0)
    let excess = await event.excess()
    #expect(excess == nil)
  }

  @Test func aMillionPairsOfAddAndRemoveLeaveNothing() async {
    let event = Event<Int>()
    await onThread {
      for number in 0..<many {
        let token = event.addHandler { _ in }
        if number % (many / 10) == 0 { event.post(number) }
        event.remove(token)
      }
    }
    let excess = await event.excess()
    #expect(excess == nil)
  }

  @Test func removingAllOfManyLeavesNothing() async {
    let event = Event<Int>()
    let closures = LiveCount()
    await onThread {
      _ = event.addMany(many / 10, closures)
      #expect(event.removeAll() == many / 10)
    }
    #expect(closures.alive == 0)
    let excess = await event.excess()
    #expect(excess == nil)
  }

  @Test func manyOnceHandlersUsedUpByOneSendLeaveNothing() async {
    let event = Event<Int>()
    let closures = LiveCount()
    await onThread {
      for _ in 0..<many / 10 {
        let canary = Canary(closures)
        event.once { _ in canary.sing() }
      }
      event.post(1)
    }
    #expect(closures.alive == 0)
    #expect(event.handlerCount == 0)
    let excess = await event.excess()
    #expect(excess == nil)
  }

  @Test func manyChangesOfABusyEventLeaveNothing() async {
    let event = Event<Int>()
    let closures = LiveCount()
    let (isInside, mayLeave) = (Gate(), Gate())
    let own = event.addHandler { number in
      guard number == 0 else { return }
      isInside.open()
      mayLeave.wait()
    }
    let poster = startThread { event.post(0) }
    await isInside.opened()
    // If many changes wait, the thread sleeps for a short time at each further change. So this test
    // makes fewer changes than the other tests.
    await onThread {
      event.addAndRemove(10_000, .forwards, closures)
      for _ in 0..<1_000 { event.post(1) }
      event.addAndRemove(5_000, .backwards, closures)
    }
    mayLeave.open()
    await poster.opened()
    await event.quiesce()
    event.remove(own)
    #expect(closures.alive == 0)
    let excess = await event.excess()
    #expect(excess == nil)
  }

  @Test func handlersRemovedFromABusyEventLeaveNothing() async {
    let event = Event<Int>()
    let closures = LiveCount()
    let (isInside, mayLeave) = (Gate(), Gate())
    let passed = event.addMany(1_000, closures)
    let blocking = event.addHandler { _ in
      isInside.open()
      mayLeave.wait()
    }
    let poster = startThread { event.post(0) }
    await isInside.opened()
    #expect(event.removeAll(where: .oneOf(passed)) == 1_000)
    event.remove(blocking)
    mayLeave.open()
    await poster.opened()
    #expect(closures.alive == 0)
    let excess = await event.excess()
    #expect(excess == nil)
  }

  @Test func manyQueuedOccurrencesLeaveNothing() async {
    let event = Event<Canary>()
    let payloads = LiveCount()
    let queue = DispatchQueue(label: "test")
    let token = event.addHandler(on: .queue(queue)) { $0.sing() }
    queue.suspend()
    await onThread { for _ in 0..<many / 10 { event.post(Canary(payloads)) } }
    #expect(payloads.alive == many / 10)
    queue.resume()
    await event.quiesce()
    #expect(await eventually { payloads.alive == 0 })
    event.remove(token)
    let excess = await event.excess()
    #expect(excess == nil)
  }

  @Test func tenThousandOnceHandlersOnLanesLeaveNothing() async {
    let event = Event<Int>()
    let closures = LiveCount()
    let calls = Atomic<Int>(0)
    let queue = DispatchQueue(label: "test")
    for number in 0..<10_000 {
      let canary = Canary(closures)
      let kind = LaneDelivery.allCases[number % LaneDelivery.allCases.count]
      let handler = kind.handler(queue) {
        canary.sing()
        calls.wrappingAdd(1, ordering: .relaxed)
      }
      event.add(handler.with(.once))
    }
    let report = await event.send(1)
    #expect(report.delivered == 10_000)
    #expect(calls.load(ordering: .relaxed) == 10_000)
    #expect(await event.send(2).reachedNobody)
    #expect(await eventually { closures.alive == 0 })
    #expect(event.handlerCount == 0)
    let excess = await event.excess()
    #expect(excess == nil)
  }

  @Test func lanesThatEndedAfterTheirWorkLeaveNothing() async {
    let event = Event<Int>()
    let closures = LiveCount()
    let queue = DispatchQueue(label: "test")
    queue.suspend()
    let tokens = (0..<2_000).map { _ in
      let canary = Canary(closures)
      return event.addHandler(on: .queue(queue)) { _ in canary.sing() }
    }
    event.post(1)
    for token in tokens { event.remove(token) }
    queue.resume()
    #expect(await eventually { closures.alive == 0 })
    event.post(2)
    let excess = await event.excess()
    #expect(excess == nil)
  }

  @Test func retainedTokensKeepNoHandlerAlive() async {
    let event = Event<Int>()
    let closures = LiveCount()
    let tokens = await onThread { event.addMany(many / 10, closures) }
    await onThread { for token in tokens { event.remove(token) } }
    #expect(closures.alive == 0)
    let excess = await event.excess()
    #expect(excess == nil)
    #expect(tokens.count { event.contains($0) } == 0)
  }

  #if DEBUG
    @Test func droppedTokensLeaveNoRecord() {
      let event = Event<Int>()
      let records = Recorder<WeakRecord>()
      for number in 0..<1_000 {
        let token = event.addHandler(number % 2 == 0 ? .named("name") : .options()) { _ in }
        records.record(WeakRecord(token.record))
        event.remove(token)
      }
      #expect(records.values.count { $0.record != nil } == 0)
    }
  #endif
}

/// The number of handlers in tests that need many.
///
/// A test needs 3 µs for each handler in a debug build, to add, use and remove it, and 30 µs under
/// the thread sanitizer. So debug builds have the smaller number, which suffices to detect a leak.
private let many: Int = {
  #if DEBUG
    100_000
  #else
    1_000_000
  #endif
}()

/// The orders in which many handlers are removed.
enum RemovalOrder: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case forwards, backwards, halfAndHalf, mixed

  func arranged(_ tokens: [HandlerToken]) -> [HandlerToken] {
    switch self {
    case .forwards: return tokens
    case .backwards: return tokens.reversed()
    case .halfAndHalf: return Array(tokens[..<(tokens.count / 2)]) + tokens[(tokens.count / 2)...].reversed()
    case .mixed:
      var random = SeededGenerator.fresh("removals")
      return tokens.shuffled(using: &random)
    }
  }

  var testDescription: String { rawValue }
}

extension Event<Int> {
  fileprivate nonisolated func addMany(_ count: Int, _ closures: LiveCount) -> [HandlerToken] {
    let canary = Canary(closures)  // shared by the closures, so it is deallocated with the last of them
    return (0..<count).map { _ in addHandler { _ in canary.sing() } }
  }

  fileprivate nonisolated func addAndRemove(
    _ count: Int, _ order: RemovalOrder, _ closures: LiveCount, between: (Int) -> Void = { _ in }
  ) {
    let tokens = addMany(count, closures)
    for (number, token) in order.arranged(tokens).enumerated() {
      between(number)
      remove(token)
    }
  }
}

#if DEBUG
  private final class WeakRecord: Sendable {
    weak let record: HandlerRecord?
    init(_ record: HandlerRecord) { self.record = record }
  }
#endif
