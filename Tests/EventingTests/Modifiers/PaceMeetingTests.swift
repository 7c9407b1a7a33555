import Eventing
import EventingTesting
import Testing

/// Tests of pace, batches and later posts together with keys, lanes, buses and carried values.
@Suite(.fewAtATime) struct PaceMeetingTests {
  @Test(arguments: [false, true]) func aPaceIsPerHandlerAndNotPerKey(isPacedFirst: Bool) async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    let handler = Handler<Int>(on: .concurrent(limit: 4)) { payload async throws in seen.record(payload) }
    event.add(
      isPacedFirst
        ? handler.with(.debounced(for: .seconds(1), clock: clock)).with(.inOrder { $0 })
        : handler.with(.inOrder { $0 }).with(.debounced(for: .seconds(1), clock: clock)))
    let tickets = (1...3).map { event.submit($0) }
    await event.quiesce()
    var dropped: [Int] = []
    for ticket in tickets { dropped.append(await ticket.report.dropped) }
    #expect(seen.values == [3] && dropped == [1, 1, 0])
  }

  @Test func quiesceOfABusEndsTheWaitingOfABatchAndOfAPace() async {
    let (bus, clock, batches, seen) = (EventBus(), ManualClock(), Recorder<[Int]>(), Recorder<String>())
    bus.event(for: Int.self).batches(of: 9, within: .seconds(1), clock: clock).addHandler { batches.record($0) }
    bus.event(for: String.self).add(
      Handler(.debounced(for: .seconds(1), clock: clock)) { text async throws in seen.record(text) })
    for payload in 1...3 { bus.post(payload) }
    bus.post("a")
    await bus.quiesce()
    #expect(batches.values == [[1, 2, 3]] && seen.values == ["a"])
  }

  @Test func aBatchOnASharedLaneIsOneOfItsCalls() async {
    let (lane, one, other, clock) = (HandlerLane(), Event<Int>(), Event<Int>(), ManualClock())
    let (running, seen, gate) = (RunningCalls(), Recorder<[Int]>(), Gate())
    one.batches(of: 2, within: .seconds(1), clock: clock).addHandler(on: .lane(lane)) { batch in
      running.begin()
      seen.record(batch)
      await Task.yield()
      running.end()
    }
    other.addHandler(on: .lane(lane)) { payload in
      running.begin()
      seen.record([payload])
      await gate.opened()
      running.end()
    }
    other.post(10)
    #expect(await eventually { seen.count == 1 })
    let tickets = (1...5).map { one.submit($0) }
    other.post(11)
    gate.open()
    await lane.quiesce()
    for ticket in tickets { #expect(await ticket.report.delivered == 1) }
    // The last batch waited for a second payload until `quiesce` ended the waiting. So its call
    // began after the call with 11.
    #expect(seen.values == [[10], [1, 2], [3, 4], [11], [5]] && running.most == 1)
  }

  @TaskLocal static var request = 0

  @Test func aLaterPostCarriesTheValuesOfItsCaller() async {
    let carrying = EventContext.propagate(PaceMeetingTests.$request)
    defer { carrying.end() }
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<[Int]>())
    event.addHandler { seen.record([$0, PaceMeetingTests.request]) }
    event.addHandler { payload async in seen.record([payload, PaceMeetingTests.request]) }
    for request in 1...2 {
      PaceMeetingTests.$request.withValue(request) { _ = event.post(request, after: .seconds(request), clock: clock) }
    }
    for request in 1...2 {
      #expect(await eventually { clock.sleeperCount == 1 })
      clock.advance(by: .seconds(1))
      #expect(await eventually { seen.count == 2 * request })
    }
    #expect(seen.values == [[1, 1], [1, 1], [2, 2], [2, 2]])
    event.finish()
  }

  /// A payload that opens the way for another handler when it is dropped, and then waits until the
  /// sender has its report. So the report is read while the pace passes the newer payload on.
  private final class Dropped: Sendable {
    let onEnd: (@Sendable () -> Void)?
    init(_ onEnd: (@Sendable () -> Void)? = nil) { self.onEnd = onEnd }
    deinit { onEnd?() }
  }

  @Test func aReportThatIsReadWhileAPacePassesAnOccurrenceOnCountsTheHandlerOnce() async {
    let (lane, clock, returns, isRead) = (HandlerLane("shared"), ManualClock(), Gate(), Gate())
    let (target, start, reports) = (Event<Dropped>("target"), Event<Int>("start"), Recorder<SendReport>())
    target.addHandler(.throttled(every: .seconds(1), clock: clock), on: .lane(lane)) { (_: Dropped) async in }
    target.addHandler { payload async in if payload.onEnd == nil { await returns.opened() } }
    start.addHandler(on: .lane(lane)) { (_: Int) async in
      // The throttled handler waits on the lane behind this call. When the pace passes the second
      // payload on, the lane drops the first.
      let first = Dropped {
        returns.open()
        isRead.wait()
      }
      target.post(consume first)
      let report = await target.send(Dropped())
      isRead.open()
      reports.record(report)
    }
    start.post(1)
    #expect(await eventually { clock.sleeperCount == 1 && target.handlerCount == 2 })
    while await target.handlers().map(\.callCount).max() != 2 { await Task.yield() }
    await Task.detached { clock.advance(by: .seconds(1)) }.value
    #expect(await eventually { reports.count == 1 })
    #expect(reports.values.first.map { $0.delivered + $0.deferred + $0.dropped + $0.skipped } == 2)
    #expect(reports.values.first?.deferred == 1)
  }
}
