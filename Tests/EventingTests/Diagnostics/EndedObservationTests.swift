import Eventing
import EventingDiagnostics
import Testing

/// Tests that diagnostics forget an event when its observation ends, and tell of a batch's call
/// once.
@Suite(.fewAtATime) struct EndedObservationTests {
  typealias Finding = EventDiagnostics.Finding

  @Test func handlersOfAnEndedObservationDoNotCount() {
    let (event, found) = (Event<Int>("event"), Recorder<Finding>())
    let diagnostics = EventDiagnostics(moreHandlersThan: 10) { found.record($0) }
    let first = event.observe(with: diagnostics)
    let tokens = (0..<8).map { _ in event.addHandler { _ in } }
    first.end()
    event.removeAll(where: .oneOf(tokens))
    let second = event.observe(with: diagnostics)
    for _ in 0..<10 { event.addHandler { _ in } }
    #expect(found.count == 0)
    second.end()
  }

  @Test func eachHandlerCountsOnceForTwoObservations() {
    let (event, found) = (Event<Int>("event"), Recorder<Finding>())
    let diagnostics = EventDiagnostics(moreHandlersThan: 10) { found.record($0) }
    let observations = (0..<2).map { _ in event.observe(with: diagnostics) }
    for _ in 0..<10 { event.addHandler { _ in } }
    #expect(found.count == 0)
    observations[0].end()
    event.addHandler { _ in }
    #expect(found.values.map(\.handlerCount) == [11])  // the other observation still notes all of them
  }

  /// An observer that counts what begins and what ends, such as one of metrics, is at zero when its
  /// observation has ended, also if another one of the same event goes on.
  @Test func whatAnObserverWasToldOfEndsWithTheObservation() async {
    final class Counts: EventObserver {
      let running = Guarded(0), handlers = Guarded(0)
      func observe(_ step: EventStep) {
        switch step.kind {
        case .began: running.withLock { $0 += 1 }
        case .ended, .left: running.withLock { $0 -= 1 }
        case .added: handlers.withLock { $0 += 1 }
        case .removed: handlers.withLock { $0 -= 1 }
        default: break
        }
      }
      var all: [Int] { [running.withLock { $0 }, handlers.withLock { $0 }] }
    }
    let (event, counts, begun, gate) = (Event<Int>("event"), Counts(), Gate(), Gate())
    event.addHandler { _ async in
      begun.open()
      await gate.opened()
    }
    for _ in 0..<3 { event.addHandler { _ in } }
    let observations = (0..<2).map { _ in event.observe(with: counts) }
    event.post(1)
    await begun.opened()
    #expect(counts.all == [2, 8])
    observations[0].end()
    #expect(counts.all == [1, 4])
    gate.open()
    await event.quiesce()
    #expect(counts.all == [0, 4])
    observations[1].end()
    observations[1].end()
    #expect(counts.all == [0, 0])
  }

  /// The slot of a removed handler stays until the next occurrence, and the end of the event comes
  /// before that.
  @Test func aRemovedHandlerIsToldOfOnce() {
    final class Counts: EventObserver {
      let handlers = Guarded(0)
      func observe(_ step: EventStep) {
        if step.kind == .added { handlers.withLock { $0 += 1 } }
        if step.kind == .removed { handlers.withLock { $0 -= 1 } }
      }
    }
    let counts = Counts()
    do {
      let event = Event<Int>("event")
      let tokens = (0..<2).map { _ in event.addHandler { _ in } }
      event.observe(with: counts)
      event.remove(tokens[0])
      #expect(counts.handlers.withLock { $0 } == 1)
    }
    #expect(counts.handlers.withLock { $0 } == 0)
  }

  @Test func theLanesOfAnEndedObservationAreNotLookedAt() async {
    let (slow, other, watch, gate) = (Event<Int>("slow"), Event<Int>("other"), StuckTests.Watch(), Gate())
    let (observation, begun) = (slow.observe(with: watch.diagnostics), Gate())
    other.observe(with: watch.diagnostics)
    slow.addHandler { (_: Int) async in
      begun.open()
      await gate.opened()
    }
    slow.post(0)
    await begun.opened()
    observation.end()
    watch.look()
    for number in 0..<2_000 { slow.post(number) }
    watch.look(4)
    #expect(watch.found.count == 0)
    gate.open()
    await slow.quiesce()
  }

  @Test func theCallOfABatchIsFoundOnce() async {
    let (event, watch, begun, gate) = (Event<Int>("event"), StuckTests.Watch(), Gate(), Gate())
    let slow = Recorder<Finding>()
    event.observe(with: watch.diagnostics)
    event.observe(with: EventDiagnostics(slowerThan: .zero) { slow.record($0) })
    event.batches(of: 10, within: .seconds(3_600)).addHandler { (_: [Int]) async in
      begun.open()
      await gate.opened()
    }
    for number in 0..<10 { event.post(number) }
    await begun.opened()
    watch.look(4)
    #expect(watch.stuck.count == 1)
    gate.open()
    await event.quiesce()
    #expect(slow.count == 1)
  }
}
