import Eventing
import EventingTesting
import Testing

/// Tests of sends in calls on a shared lane: which of them wait, and which are deferred.
@Suite(.fewAtATime) struct SharedLaneWaitTests {
  @Test func aSendWaitsForItsLaneWhileASlotIsFree() async {
    let (lane, one, other, reports) = (HandlerLane(limit: 2), Event<Int>(), Event<Int>(), Recorder<Int>())
    other.addHandler(on: .lane(lane)) { _ in await Task.yield() }
    one.addHandler(on: .lane(lane)) { payload in
      let report = await other.send(payload)
      reports.record(report.delivered - report.deferred)
    }
    for payload in 0..<50 { #expect(await one.send(payload).delivered == 1) }
    #expect(reports.values == Array(repeating: 1, count: 50))
  }

  /// Checks a send to a lane with two slots. One slot runs the call that sends, the other a call
  /// that waits for a gate of the test. The call at the gate needs no further slot to end, so it
  /// does not wait for the sender. So the send can wait until this call frees its slot, and is not
  /// deferred.
  @Test func aSendWaitsForASlotThatOtherWorkOccupies() async {
    let (lane, one, other, long) = (HandlerLane(limit: 2), Event<Int>(), Event<Int>(), Event<Int>())
    let (gate, begun, isSending, delivered) = (Gate(), Gate(), Gate(), Recorder<Int>())
    other.addHandler(on: .lane(lane)) { _ in }
    long.addHandler(on: .lane(lane)) { _ in
      begun.open()
      await gate.opened()
    }
    one.addHandler(on: .lane(lane)) { payload in
      isSending.open()
      delivered.record(await other.send(payload).delivered)
    }
    long.post(1)
    await begun.opened()
    one.post(1)
    await isSending.opened()
    for _ in 0..<200 { await Task.yield() }
    #expect(delivered.count == 0)
    gate.open()
    await lane.quiesce()
    #expect(delivered.values == [1])
  }

  @Test func aSendIsDeferredIfEachSlotWaitsForTheLane() async {
    for _ in 0..<50 {
      let (lane, one, other) = (HandlerLane(limit: 2), Event<Int>(), Event<Int>())
      let (both, reports, seen) = (Countdown(2), Recorder<[Int]>(), Recorder<Int>())
      other.addHandler(on: .lane(lane)) { seen.record($0) }
      one.addHandler(on: .lane(lane)) { payload in
        both.arrive()
        await both.opened()
        let report = await other.send(payload)
        reports.record([report.delivered, report.deferred])
      }
      one.post(1)
      one.post(2)
      await lane.quiesce()
      // Each of the two calls sends to `other`, whose handler needs a slot of the lane. The earlier
      // send waits until the call with the later send frees its slot. If the later send waited,
      // too, neither call would end. So the later send does not wait, and reports its handler as
      // deferred.
      #expect(reports.values.sorted { $0[0] < $1[0] } == [[0, 1], [1, 0]])
      await lane.quiesce()
      #expect(seen.values.sorted() == [1, 2])
    }
  }

  @Test func aSenderThatIsSuspendedOnItsOwnLaneIsDeferred() async {
    let (lane, one, other) = (HandlerLane(), Event<Int>(), Event<Int>())
    let (reports, seen) = (Recorder<[Int]>(), Recorder<Int>())
    other.addHandler(.buffering(.suspendingSender(1)), on: .lane(lane)) { seen.record($0) }
    one.addHandler(on: .lane(lane)) { _ in
      other.post(1)  // the lane of the handler is full
      for payload in 2...3 {
        let report = await other.send(payload)
        reports.record([report.deferred, report.dropped])
      }
      other.post(4)
    }
    #expect(await one.send(0).delivered == 1)
    await lane.quiesce()
    #expect(reports.values == [[1, 0], [1, 0]] && seen.values == [1, 2, 3])
    #expect(await other.handlers().map(\.droppedCount) == [1])
  }
}
