import Eventing
import EventingDiagnostics
import Testing

/// Tests that `EventDiagnostics` report lanes on which more and more occurrences wait.
@Suite(.fewAtATime) struct GrowingLaneTests {
  typealias Watch = StuckTests.Watch

  private func growing(_ watch: Watch) -> [Int] {
    watch.found.values.filter { $0.kind == .growingLane }.map(\.waitingCount)
  }

  @Test(arguments: [BoundedLane.inOrder, .background, .concurrent], [Buffering.unbounded, .oldest(10_000)])
  func aLaneThatGrowsIsToldAgainWhenItHasDoubled(lane: BoundedLane, buffering: Buffering) async {
    let (event, watch, begun, gate) = (Event<Int>("orders"), Watch(), Gate(), Gate())
    event.observe(with: watch.diagnostics)
    let token = event.add(lane.handler(buffering, until: gate) { (_: Int) in begun.open() }.with(.named("slow")))
    event.post(0)
    await begun.opened()
    var posted = 0
    /// Posts until a number of occurrences wait, and then runs the check of the diagnostics.
    func look(at count: Int) async {
      while await event.handlers()[0].waitingCount < count {
        event.post(posted)
        posted += 1
      }
      watch.look()
    }
    await look(at: 0)
    await look(at: 1_024)
    #expect(growing(watch) == [])
    await look(at: 1_025)
    #expect(growing(watch) == [1_025])
    watch.look()
    await look(at: 2_050)
    #expect(growing(watch) == [1_025])
    await look(at: 2_051)
    #expect(growing(watch) == [1_025, 2_051])
    let finding = watch.found.values.first { $0.kind == .growingLane }
    #expect(finding?.handler == token && finding?.event == "orders" && finding?.eventIdentity == event.identity)
    #expect(finding.map { "\($0)" }?.hasPrefix("slow of orders has 1025 waiting occurrences, more than 1024, ") == true)
    gate.open()
    await event.quiesce()
  }

  @Test func aLongQueueThatShrinksIsNotTold() async {
    let (event, watch, begun, gate) = (Event<Int>(), Watch(), Gate(), Gate())
    let token = event.addHandler { (_: Int) async in
      begun.open()
      await gate.opened()
    }
    for number in 0..<2_000 { event.post(number) }
    await begun.opened()
    let observation = event.observe(with: watch.diagnostics)
    watch.look(4)  // the first check has no earlier one to compare with, so it finds nothing
    #expect(growing(watch) == [])
    event.lock(token, holding: nil)
    gate.open()
    await event.quiesce()
    watch.look()
    #expect(growing(watch) == [])
    observation.end()
  }

  @Test func aLaneThatALockPausesIsNotTold() async {
    let (event, watch, begun, gate) = (Event<Int>(), Watch(), Gate(), Gate())
    event.observe(with: watch.diagnostics)
    let token = event.addHandler { (_: Int) async in
      begun.open()
      await gate.opened()
    }
    watch.look()
    for number in 0..<2_000 { event.post(number) }
    await begun.opened()
    event.lock(token, holding: .unbounded)
    watch.look()
    #expect(growing(watch) == [])
    event.unlock(token)
    gate.open()
    await event.quiesce()
  }

  @Test func aSequenceFromWhichNothingIsTakenIsTold() {
    let (event, watch) = (Event<Int>("orders"), Watch())
    event.observe(with: watch.diagnostics)
    let payloads = event.payloads(named: "log")
    watch.look()
    for number in 0..<1_025 { event.post(number) }
    watch.look()
    #expect(growing(watch) == [1_025])
    withExtendedLifetime(payloads) {}
  }

  @Test func aLaneIsReleasedWithItsHandler() async {
    let (event, watch, live) = (Event<Int>(), Watch(), LiveCount())
    event.observe(with: watch.diagnostics)
    let canary = Canary(live)
    let token = event.addHandler { [canary] (_: Int) async in canary.sing() }
    _ = consume canary
    await event.send(1)
    watch.look()
    event.remove(token)
    await event.quiesce()
    #expect(await eventually { live.alive == 0 })
  }
}
