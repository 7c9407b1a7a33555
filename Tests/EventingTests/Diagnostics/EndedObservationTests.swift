import Eventing
import Testing

/// Tests that diagnostics forget an event when its observation ends, and tell of a batch's call
/// once.
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct EndedObservationTests {
  typealias Finding = EventDiagnostics.Finding

  @Test func handlersOfAnEndedObservationDoNotCount() {
    let (event, found) = (Event<Int>("event"), Recorder<Finding>())
    let diagnostics = EventDiagnostics(moreHandlersThan: 10) { found.record($0) }
    let first = event.observe(with: diagnostics)
    let tokens = (0..<8).map { _ in event.addHandler { _ in } }
    first.end()
    event.remove(tokens)
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
    event.add(
      Handler(batchesOf: 10, within: .seconds(3_600)) { (_: [Int]) async in
        begun.open()
        await gate.opened()
      })
    for number in 0..<10 { event.post(number) }
    await begun.opened()
    watch.look(4)
    #expect(watch.stuck.count == 1)
    gate.open()
    await event.quiesce()
    #expect(slow.count == 1)
  }
}
