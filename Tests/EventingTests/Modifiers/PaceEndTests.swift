import Dispatch
import EventingTesting
import Synchronization
import Testing

@testable import Eventing

/// Tests of guarantee H6 of PROOF.md where something ends the waiting of a pace: the event's end,
/// `finish()`, `quiesce()` or a lock.
@Suite(.fewAtATime) struct PaceEndTests {
  struct Refused: Error {}

  /// Each call yields for a while, in which no other call may begin.
  @Test func theEventsEndDeliversToOneInlineHandlerAfterTheOther() async {
    let (clock, running, seen) = (ManualClock(), RunningCalls(), Recorder<Int>())
    var event: Event<Int>? = Event()
    for number in 0..<3 {
      event?.add(
        Handler(.debounced(for: .seconds(1), clock: clock)) { (_: Int) in
          running.begin()
          for _ in 0..<5_000 where running.most == 1 { giveWay() }
          seen.record(number)
          running.end()
        })
    }
    event?.post(1)
    event = nil
    #expect(await eventually { seen.count == 3 })
    #expect(seen.values == [0, 1, 2] && running.most == 1)
  }

  /// The dead letter is delivered before the failure is.
  @Test func theEventsEndMakesADeadLetter() async {
    let (clock, letters, failures) = (ManualClock(), Recorder<Int>(), Recorder<Int>())
    var event: Event<Int>? = Event()
    event?.deadLetters.addHandler { letters.record($0.payload) }
    event?.failures.addHandler { failures.record($0.attempts) }
    event?.addHandler(.debounced(for: .seconds(1), clock: clock)) { (_: Int) in throw Refused() }
    event?.post(7)
    event = nil
    #expect(await eventually { failures.count == 1 })
    #expect(letters.values == [7])
  }

  @Test func observersSeeTheCallThatFinishMakes() {
    let (event, clock, notes) = (Event<Int>("e"), ManualClock(), ObserverTests.Notes())
    event.addHandler(.named("a"), .debounced(for: .seconds(1), clock: clock)) { (_: Int) in }
    event.observe(with: notes)
    event.post(1)
    event.finish()
    #expect(notes.lines.values.filter { $0.hasSuffix("1") } == ["e 1", "began a 1", "ended a 1"])
  }

  @Test func observersSeeOnceThatALockHoldsTheLastOfABurst() async {
    let (event, clock, notes) = (Event<Int>("e"), ManualClock(), ObserverTests.Notes())
    let token = event.addHandler(.named("a"), .debounced(for: .seconds(1), clock: clock)) { (_: Int) in }
    event.observe(with: notes)
    func held() -> [String] { notes.since.filter { $0.hasPrefix("held") } }
    event.post(1)
    event.lock(token, holding: .latest)
    await event.quiesce()
    #expect(held() == ["held a 1"])
    await event.quiesce()
    await event.quiesce()
    #expect(held() == [])
    event.post(2)
    await event.quiesce()
    await event.quiesce()
    #expect(held() == ["held a 2"])
    event.unlock(token)
    await event.quiesce()
    event.post(3)
    event.lock(token, holding: .latest)
    await event.quiesce()
    #expect(notes.since == ["dropped a 1", "began a 2", "ended a 2", "e 3", "held a 3"])
  }

  @Test func theIntervalOfAThrottleBeginsAnewWithTheCallThatQuiesceMakes() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Duration>())
    event.addHandler(.throttled(every: .seconds(10), clock: clock)) { (_: Int) in seen.record(clock.now.offset) }
    event.post(1)
    await clock.advanceWhenIdle(by: .seconds(6))
    event.post(2)
    await event.quiesce()
    event.post(3)
    await clock.advanceWhenIdle(by: .seconds(9))
    #expect(seen.values == [.zero, .seconds(6)])
    await clock.advanceWhenIdle(by: .seconds(9))
    await clock.waitUntilIdle()
    #expect(seen.values == [.zero, .seconds(6), .seconds(16)])
  }

  /// The first occurrence is on the lane when something passes the last one on early.
  @Test(arguments: ["queue", "lane"], ["finish", "quiesce", "end", "unlock"])
  func onlyWhatWaitsForThePaceIsReplaced(place: String, how: String) async throws {
    let (gate, seen, clock, lane) = (Gate(), Recorder<Int>(), ManualClock(), HandlerLane("busy"))
    var event: Event<Int>? = Event("progress")
    let other = Event<Int>("other")
    let queue = DispatchQueue(label: "busy")
    let handler: Handler<Int>
    if place == "queue" {
      queue.async { gate.wait() }
      handler = Handler(on: .queue(queue)) { seen.record($0) }
    } else {
      let busy = Gate()
      other.addHandler(on: .lane(lane)) { _ in
        busy.open()
        await gate.opened()
      }
      other.post(0)
      await busy.opened()
      handler = Handler(on: .lane(lane)) { payload async in seen.record(payload) }
    }
    let token = try #require(event?.add(handler.with(.throttled(every: .seconds(1), clock: clock))))
    let first = try #require(event?.submit(1))
    event?.post(2)
    let last = try #require(event?.submit(3))
    switch how {
    case "finish": event?.finish()
    case "quiesce": _ = event?.submit(4)
    case "end": event = nil
    default:
      event?.lock(token, holding: .latest)
      #expect(await eventually { clock.sleeperCount == 1 })
      clock.advance(by: .seconds(1))
      #expect(await last.report.held == 1)
      event?.unlock(token)
      _ = await event?.handlers()
    }
    let barrier = how == "quiesce" ? Task.immediate { [event] in await event?.quiesce() } : nil
    gate.open()
    await barrier?.value
    #expect(await first.report.delivered == 1)
    #expect(await eventually { seen.count == 2 })
    #expect(seen.values == (how == "quiesce" ? [1, 4] : [1, 3]))
    event?.finish()
    await event?.quiesce()
    #expect(seen.count == 2)
  }
}

#if DEBUG
  extension SyncPointTests {
    /// The lock begins when the pace has seen that no lock silences the handler, and is about to
    /// claim the call.
    @Test func aLockHoldsTheLastOfABurstThatIsAboutToBeDelivered() async {
      let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
      let token = event.addHandler(.throttled(every: .seconds(1), clock: clock)) { seen.record($0) }
      event.post(1)
      let ticket = event.submit(2)
      event.lock(token, holding: .oldest(9))
      await clock.advanceWhenIdle(by: .seconds(1))
      #expect(await ticket.report.held == 1)
      // A thread of the pool may still be inside the event. Then that thread would call the handler
      // after the `unlock` below. But the test needs the call on this thread, because
      // `SyncPoints.watch` sees only the claims of this thread.
      while event.core.stateWord.load(ordering: .relaxed) & CoreState.busy != 0 { await Task.yield() }
      var isLocked = false
      SyncPoints.watch({ edge in
        guard edge == .claiming, !isLocked else { return }
        isLocked = true
        event.lock(token, holding: .oldest(9))
      }) {
        event.unlock(token)
      }
      await event.quiesce()
      #expect(isLocked && seen.values == [1])
      event.unlock(token)
      await event.quiesce()
      #expect(seen.values == [1, 2])
      #expect(await event.handlers().map(\.skippedCount) == [0])
    }

    /// A `quiesce()` ends the waiting of a pace. Here it runs on the main queue, so the pace calls
    /// its `.main` handler at once. A lock begins before that call is claimed, and so holds the
    /// occurrence on the handler's lane.
    @MainActor @Test func aReportCountsWhatALockHoldsBehindThePaceOfAMainHandler() async {
      let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
      let token = event.addHandler(.debounced(for: .seconds(1), clock: clock), on: .main) { seen.record($0) }
      let ticket = event.submit(1)
      var (isLocked, barrier): (Bool, Task<Void, Never>?) = (false, nil)
      SyncPoints.watch({ edge in
        guard edge == .claiming, !isLocked else { return }
        isLocked = true
        event.lock(token, holding: .latest)
      }) {
        barrier = Task.immediate { await event.quiesce() }
      }
      await barrier?.value
      #expect(isLocked)
      let report = await ticket.report
      #expect(report.held == 1 && report.delivered == 0 && report.skipped == 0)
      event.unlock(token)
      await event.quiesce()
      #expect(seen.values == [1])
    }
  }
#endif
