import Eventing
import EventingDiagnostics
import EventingTesting
import Testing

/// Tests of retries together with cancellation, policies, keys, owners, locks and observers.
@Suite(.fewAtATime) struct RetryMeetingTests {
  private typealias Unsteady = RetryTests.Unsteady
  private static let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(8), attempts: 5, jitter: false)

  // MARK: Cancellation

  @Test(arguments: [false, true]) func aCancelledTaskIsNotTriedAgain(hasTimeLimit: Bool) async {
    let (event, clock, attempts) = (Event<Int>(), ManualClock(), Recorder<Int>())
    let handler = Handler<Int>(.retrying(.immediately(attempts: 5)), on: .task) { payload async throws in
      attempts.record(payload)
      try await clock.sleep(for: .seconds(1))
    }
    event.add(hasTimeLimit ? handler.with(.timingOut(after: .seconds(1_000))) : handler)
    let sending = Task { await event.send(1) }
    #expect(await eventually { clock.sleeperCount == 1 })
    sending.cancel()
    #expect(await sending.value.failures.map(\.attempts) == [1])
    #expect(attempts.values == [1])
  }

  @Test(arguments: RetryTests.places) func aCancellationErrorOfATaskThatWasNotCancelledIsTriedAgain(place: String) async
  {
    let (event, failures) = (Event<Int>(), Recorder<Int>())
    event.failures.addHandler { failures.record($0.attempts) }
    event.add(RetryTests.handler(place) { _ in throw CancellationError() }.with(.retrying(.immediately(attempts: 3))))
    #expect(await event.send(1).failures.map(\.attempts) == [3])
    #expect(failures.values == [3])
  }

  // MARK: Policies

  @Test(arguments: RetryTests.places) func aPolicyThatRemovesCountsOccurrencesAndNotAttempts(place: String) async {
    let (event, unsteady) = (Event<Int>(onFailure: .removeHandler(afterFailures: 2)), Unsteady(failures: 9))
    event.add(RetryTests.handler(place, unsteady).with(.retrying(.immediately(attempts: 3))))
    #expect(await event.send(1).failures.map(\.attempts) == [3])
    #expect(event.handlerCount == 1)
    #expect(await event.send(2).failures.map(\.attempts) == [3])
    #expect(event.handlerCount == 0 && unsteady.attempts.values == [1, 1, 1, 2, 2, 2])
  }

  @Test func aPolicyThatStopsDoesSoAfterTheLastAttempt() async {
    let (event, unsteady, seen) = (Event<Int>(onFailure: .skipLaterHandlers), Unsteady(failures: 2), Recorder<Int>())
    let token = event.add(RetryTests.handler("inline", unsteady).with(.retrying(.immediately(attempts: 3))))
    event.addHandler { seen.record($0) }
    #expect(await event.send(1).delivered == 2)
    event.remove(token)
    event.add(RetryTests.handler("inline", unsteady).with(.retrying(.immediately(attempts: 2))).with(.priority(1)))
    #expect(await event.send(2).skipped == 1)
    #expect(seen.values == [1] && unsteady.attempts.values == [1, 1, 1, 2, 2])
  }

  // MARK: Keys

  @Test func aDelayFreesTheSlotAndNotTheKey() async {
    let (event, clock, unsteady) = (Event<Int>(), ManualClock(), Unsteady(failures: 1))
    event.add(
      Handler(.inOrder { $0 % 2 }, .retrying(RetryMeetingTests.policy, clock: clock), on: .concurrent(limit: 1)) {
        payload async throws in
        if payload == 0 { try unsteady.call(0) } else { unsteady.attempts.record(payload) }
      })
    event.post(0)
    #expect(await eventually { clock.sleeperCount == 1 })
    let second = event.submit(2)
    #expect(await event.send(1).delivered == 1)
    for _ in 0..<200 { await Task.yield() }
    #expect(unsteady.attempts.values == [0, 1])
    clock.advance(by: .seconds(1))
    #expect(await second.report.delivered == 1)
    #expect(unsteady.attempts.values == [0, 1, 0, 2])
  }

  // MARK: Owners

  @Test(arguments: ["inOrder", "background", "concurrent", "task"])
  func noDelayHoldsAnOwnerAndNoAttemptFollowsItsLoss(place: String) async {
    let (event, clock, unsteady, live) = (Event<Int>(), ManualClock(), Unsteady(failures: 9), LiveCount())
    var owner: Canary? = Canary(live)
    event.add(
      RetryTests.handler(place, unsteady).with(.retrying(RetryMeetingTests.policy, clock: clock)).owned(by: owner!))
    let ticket = event.submit(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    owner = nil
    #expect(await eventually { live.alive == 0 })
    clock.advance(by: .seconds(1))
    #expect(await ticket.report.failures.map(\.attempts) == [1])
    #expect(unsteady.attempts.values == [1])
  }

  @Test(arguments: ["inOrder", "background", "concurrent", "task"])
  func theNextOccurrenceFindsThatAnOwnerIsLostAndEndsTheDelay(place: String) async {
    let (event, clock, unsteady, live) = (Event<Int>(), ManualClock(), Unsteady(failures: 9), LiveCount())
    var owner: Canary? = Canary(live)
    event.add(
      RetryTests.handler(place, unsteady).with(.retrying(RetryMeetingTests.policy, clock: clock)).owned(by: owner!))
    let ticket = event.submit(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    owner = nil
    event.post(2)
    #expect(await ticket.report.failures.map(\.attempts) == [1])
    #expect(await eventually { clock.sleeperCount == 0 })
    #expect(unsteady.attempts.values == [1] && event.handlerCount == 0)
  }

  // MARK: Locks that hold, and once

  /// Checks that a once handler makes no further attempt after a lock with a holding buffer. For
  /// other handlers, such a lock keeps a call that waits for its next attempt, and the attempt is
  /// made after the unlock. But the first attempt of a once handler has used up the handler, so the
  /// lock ends the call instead.
  @Test(arguments: ["inOrder", "background", "concurrent"], [false, true])
  func aLockThatHoldsEndsTheAttemptsOfAOnceHandler(place: String, isOfEvent: Bool) async {
    let (event, clock, unsteady) = (Event<Int>(), ManualClock(), Unsteady(failures: 9))
    let token = event.add(
      RetryTests.handler(place, unsteady).with(.retrying(RetryMeetingTests.policy, clock: clock)).with(.once))
    let ticket = event.submit(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    if isOfEvent { event.lock(holding: .oldest(9)) } else { event.lock(token, holding: .oldest(9)) }
    let report = await ticket.report
    #expect(report.failures.map(\.attempts) == [1] && report.held == 0)
    if isOfEvent { event.unlock() } else { event.unlock(token) }
    await event.quiesce()
    #expect(unsteady.attempts.values == [1] && event.handlerCount == 0)
  }

  /// Checks a lock that begins while the first attempt of a once handler runs.
  @Test func aLockThatHoldsDuringTheFirstAttemptOfAOnceHandlerEndsTheOthers() async {
    let (event, begun, gate, attempts) = (Event<Int>(), Gate(), Gate(), Recorder<Int>())
    let token = event.add(
      Handler(.retrying(.immediately(attempts: 3)), .once) { payload async throws in
        attempts.record(payload)
        begun.open()
        await gate.opened()
        throw RetryTests.Refused()
      })
    let ticket = event.submit(1)
    await begun.opened()
    event.lock(token, holding: .oldest(9))
    gate.open()
    #expect(await ticket.report.failures.map(\.attempts) == [1])
    #expect(attempts.values == [1])
  }

  // MARK: Pace

  @Test func anAttemptIsNotSubjectToThePace() async {
    let (event, clock, unsteady) = (Event<Int>(), ManualClock(), Unsteady(failures: 2))
    for isPacedFirst in [true, false] {
      let handler = RetryTests.handler("inOrder", unsteady)
      let token = event.add(
        isPacedFirst
          ? handler.with(.throttled(every: .seconds(1), clock: clock)).with(.retrying(.immediately(attempts: 3)))
          : handler.with(.retrying(.immediately(attempts: 3))).with(.throttled(every: .seconds(1), clock: clock)))
      #expect(await event.send(isPacedFirst ? 1 : 2).delivered == 1)
      event.remove(token)
    }
    #expect(unsteady.attempts.values == [1, 1, 1, 2, 2, 2])
  }

  @Test func anOccurrenceThatWaitsForThePaceEndsNoDelay() async {
    let (event, clock, paces, unsteady) = (Event<Int>(), ManualClock(), ManualClock(), Unsteady(failures: 1))
    event.add(
      RetryTests.handler("inOrder", unsteady).with(.retrying(RetryMeetingTests.policy, clock: clock))
        .with(.debounced(for: .seconds(1), clock: paces)))
    event.post(1)
    #expect(await eventually { paces.sleeperCount == 1 })
    paces.advance(by: .seconds(1))
    #expect(await eventually { clock.sleeperCount == 1 })
    let replaced = event.submit(2)
    event.post(3)
    #expect(await replaced.report.dropped == 1)
    #expect(await eventually { paces.sleeperCount == 1 })
    paces.advance(by: .seconds(1))
    #expect(await eventually { paces.sleeperCount == 0 })
    #expect(unsteady.attempts.values == [1])
    clock.advance(by: .seconds(1))
    #expect(await eventually { unsteady.attempts.count == 3 })
    #expect(unsteady.attempts.values == [1, 1, 3])
    event.removeAll()
  }

  // MARK: Diagnostics

  @Test func aDelayIsNotStuckAndACallThatIgnoresItsLimitIs() async {
    let (event, clock, limits) = (Event<Int>("orders"), ManualClock(), ManualClock())
    let (begun, late, gate) = (Gate(), Gate(), Gate())
    let (attempts, found) = (Recorder<Int>(), Recorder<EventDiagnostics.Finding>())
    let diagnostics = EventDiagnostics(stuckAfter: .seconds(3_600)) { found.record($0) }
    event.observe(with: diagnostics)
    let handler = Handler<Int> { payload async throws in
      attempts.record(payload)
      if attempts.count == 1 { throw RetryTests.Refused() }
      begun.open()
      await withTaskCancellationHandler {
        await Task.detached { await gate.opened() }.value  // ignores cancellation
      } onCancel: {
        late.open()
      }
    }
    let token = event.add(
      handler.with(.retrying(RetryMeetingTests.policy, clock: clock)).with(
        .timingOut(after: .seconds(5), clock: limits)))
    let ticket = event.submit(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    for _ in 0..<6 { diagnostics.look() }
    #expect(found.count == 0)
    clock.advance(by: .seconds(1))
    await begun.opened()
    limits.advance(by: .seconds(5))
    await late.opened()
    for _ in 0..<6 { diagnostics.look() }
    #expect(found.values.map(\.kind) == [.stuckHandler] && found.values.map(\.handler) == [token])
    event.remove(token)  // no third attempt
    gate.open()
    #expect(await ticket.report.failures.map(\.attempts) == [2])
  }
}
