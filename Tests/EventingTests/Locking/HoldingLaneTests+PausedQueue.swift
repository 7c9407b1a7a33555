import Dispatch
import Eventing
import Synchronization
import Testing

// Tests of the calls that wait in the queue of a paused lane (G9).
extension HoldingLaneTests {
  @Test func aLaneThatPausedGoesOnWithAsManyCallsAtOnceAsBefore() async {
    let (event, seen, gates, steps) = (Event<Int>(), Recorder<Int>(), (0..<2).map { _ in Gate() }, StepExecutor())
    let token = steps.adding {
      event.addHandler(on: .concurrent(limit: 3)) { number in
        seen.record(number)
        await gates[number / 3].opened()
      }
    }
    for number in 0..<6 { event.post(number) }
    while await steps.run() {}
    #expect(seen.values.sorted() == [0, 1, 2])
    event.lock(token, holding: .oldest(9))
    gates[0].open()
    while await steps.run() {}
    #expect(seen.count == 3)  // the lane has paused
    event.unlock(token)
    while await steps.run() {}
    #expect(seen.values.sorted() == Array(0..<6))  // none of the last three calls has ended
    gates[1].open()
    await steps.runUntilQuiet(event)
  }

  @Test(arguments: BoundedLane.allCases, [Buffering.newest(2), .oldest(2)])
  func occurrencesWithoutRoomOnAPausedLaneAreCountedAndReported(
    lane: BoundedLane, buffering: Buffering
  ) async {
    let (event, seen, notes, gate, begun) = (Event<Int>("e"), Recorder<Int>(), ObserverTests.Notes(), Gate(), Gate())
    let token = event.add(
      lane.handler(buffering, until: gate) {
        seen.record($0)
        begun.open()
      }.with(.named("a")))
    event.observe(with: notes)
    event.post(1)
    await begun.opened()
    for number in 2...3 { event.post(number) }
    event.lockAll(where: .oneOf([token]), holding: .oldest(9))
    for number in 4...5 { event.post(number) }
    gate.open()
    await event.quiesce()  // the lane has paused, and is full
    event.unlockAll(where: .oneOf([token]))
    await event.quiesce()
    let (called, dropped) = buffering == .newest(2) ? ([1, 4, 5], [2, 3]) : ([1, 2, 3], [4, 5])
    #expect(seen.values == called)
    #expect(await event.handlers().map(\.droppedCount) == [2])
    #expect(notes.lines.values.filter { $0.hasPrefix("dropped") } == dropped.map { "dropped a \($0)" })
  }

  /// Checks guarantee G18: the context of each sender reaches the handler.
  @Test(arguments: BoundedLane.allCases, [Buffering.unbounded, .newest(100)])
  func theQueueOfAPausedLaneKeepsTheContextOfTheSenders(
    lane: BoundedLane, buffering: Buffering
  ) async {
    let carrying = EventContext.propagate(HoldingLaneTests.$request)
    defer { carrying.end() }
    let (event, seen, gate, begun) = (Event<Int>(), Recorder<String>(), Gate(), Gate())
    let token = event.add(
      lane.handler(buffering, until: gate) {
        seen.record("\($0) \(HoldingLaneTests.request)")
        begun.open()
      })
    event.post(1)
    await begun.opened()
    let waiting = (2...4).map { number in HoldingLaneTests.$request.withValue("r\(number)") { event.submit(number) } }
    event.lockAll(where: .oneOf([token]), holding: .oldest(9))
    gate.open()
    for ticket in waiting { #expect(await ticket.report.held == 1) }  // the lane has paused
    event.unlockAll(where: .oneOf([token]))
    await event.quiesce()
    #expect(seen.values == ["1 none", "2 r2", "3 r3", "4 r4"])
  }
  @TaskLocal static var request = "none"

  /// Checks guarantee G21: no occurrence is lost.
  @Test(arguments: BoundedLane.allCases, [Buffering.unbounded, .newest(100)])
  func occurrencesThatEndWithAPausedLaneAreReportedAsSkipped(
    lane: BoundedLane, buffering: Buffering
  ) async {
    for isRemoved in [true, false] {
      let (event, notes, gate, begun) = (Event<Int>("e"), ObserverTests.Notes(), Gate(), Gate())
      let token = event.add(lane.handler(buffering, until: gate) { _ in begun.open() }.with(.named("a")))
      event.observe(with: notes)
      event.post(1)
      await begun.opened()
      for number in 2...3 { event.post(number) }
      event.lockAll(where: .oneOf([token]), holding: .oldest(9))
      gate.open()
      await event.quiesce()  // the lane has paused
      #expect(notes.lines.values.filter { $0.hasPrefix("skipped") } == [])
      if isRemoved { event.removeAll(where: .oneOf([token])) } else { event.finish() }
      await event.quiesce()
      #expect(notes.lines.values.filter { $0.hasPrefix("skipped") } == ["skipped a 2", "skipped a 3"])
    }
  }
}
