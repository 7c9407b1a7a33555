@testable import Eventing
import EventingTesting
import Testing

/// Tests of guarantees H1 and H2 of PROOF.md: handlers that are called again when they throw.
@Suite(.fewAtATime) struct RetryTests {
  struct Refused: Error {}

  /// A callee whose first `failures` calls with each payload throw.
  final class Unsteady: Sendable {
    let attempts = Recorder<Int>()
    private let failures: Int

    init(failures: Int) { self.failures = failures }

    func call(_ payload: Int) throws {
      attempts.record(payload)
      if attempts.values.count(where: { $0 == payload }) <= failures { throw Refused() }
    }
  }

  /// Returns a handler that calls `unsteady`, without retries. `place`, one of `places`, names
  /// where the handler runs.
  static func handler(_ place: String, _ unsteady: Unsteady) -> Handler<Int> {
    handler(place) { try unsteady.call($0) }
  }

  static func handler(_ place: String, _ body: @escaping @Sendable (Int) throws -> Void) -> Handler<Int> {
    switch place {
    case "inline": Handler { try body($0) }
    case "background": Handler(on: .background) { try body($0) }
    case "inOrder": Handler { payload async throws in try body(payload) }
    case "concurrent": Handler(on: .concurrent(limit: 3)) { payload async throws in try body(payload) }
    case "task": Handler(on: .task) { payload async throws in try body(payload) }
    case "main": Handler(on: .main) { payload in try body(payload) }
    default: Handler(on: .main) { payload async throws in try body(payload) }
    }
  }
  static let places = ["inline", "background", "inOrder", "concurrent", "task", "main", "main, async"]

  @Test(arguments: places) func aSendWaitsForTheLastAttemptAndCountsTheHandlerOnce(place: String) async {
    let (event, unsteady) = (Event<Int>(), Unsteady(failures: 2))
    event.add(RetryTests.handler(place, unsteady).with(.retrying(.immediately(attempts: 3))))
    let report = await event.send(1)
    #expect(report.delivered == 1 && report.failures.isEmpty)
    #expect(unsteady.attempts.values == [1, 1, 1])
  }

  @Test(arguments: places) func theLastErrorIsTheOutcomeWithTheNumberOfAttempts(place: String) async {
    let (event, unsteady, failures) = (Event<Int>(), Unsteady(failures: 9), Recorder<Int>())
    event.failures.addHandler { failures.record($0.attempts) }
    event.add(RetryTests.handler(place, unsteady).with(.retrying(.immediately(attempts: 3))))
    let report = await event.send(1)
    #expect(report.delivered == 0 && report.failures.map(\.attempts) == [3])
    #expect(failures.values == [3] && unsteady.attempts.count == 3)
    let handlers = await event.handlers()
    #expect(handlers.map(\.callCount) == [1])
  }

  @Test func onlyErrorsThatAreWorthItAreTriedAgain() async {
    let (event, calls) = (Event<Int>(), Recorder<Int>())
    event.add(
      Handler(.retrying(.immediately(attempts: 5)) { !($0 is CancellationError) }) {
        calls.record($0)
        throw CancellationError()
      })
    #expect(await event.send(1).failures.count == 1 && calls.count == 1)
  }

  @Test func laterOccurrencesWaitInOrderDuringADelay() async {
    let (event, clock, unsteady, other) = (Event<Int>(), ManualClock(), Unsteady(failures: 1), Recorder<Int>())
    let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(8), attempts: 3, jitter: false)
    event.add(RetryTests.handler("inOrder", unsteady).with(.retrying(policy, clock: clock)))
    event.addHandler { other.record($0) }
    event.post(1)
    event.post(2)
    #expect(await eventually { clock.sleeperCount == 1 })
    #expect(unsteady.attempts.values == [1] && other.values == [1, 2])
    clock.advance(by: .milliseconds(999))
    #expect(unsteady.attempts.values == [1])
    clock.advance(by: .milliseconds(1))
    #expect(await eventually { unsteady.attempts.count == 3 && clock.sleeperCount == 1 })
    #expect(unsteady.attempts.values == [1, 1, 2])
    clock.advance(by: .seconds(1))
    await event.quiesce()
    #expect(unsteady.attempts.values == [1, 1, 2, 2])
  }

  @Test func otherCallsOfAConcurrentHandlerGoOnDuringADelay() async {
    let (event, clock, unsteady) = (Event<Int>(), ManualClock(), Unsteady(failures: 1))
    let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(8), attempts: 3, jitter: false)
    event.add(
      Handler(.retrying(policy, clock: clock), on: .concurrent(limit: 1)) { payload async throws in
        if payload == 1 { try unsteady.call(payload) }
      })
    event.post(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    #expect(await event.send(2).delivered == 1)
    clock.advance(by: .seconds(1))
    await event.quiesce()
    #expect(unsteady.attempts.values == [1, 1])
  }

  @Test func delaysDoubleAndAreDrawnBetweenHalfAndAll() {
    let policy = RetryPolicy.exponential(from: .milliseconds(100), to: .milliseconds(500), attempts: 9)
    let full = (1...5).map { policy.fullDelay(after: $0) }
    #expect(full == [100, 200, 400, 500, 500].map { .milliseconds($0) })
    let drawn = (0..<200).map { _ in policy.delay(after: 2) }
    #expect(drawn.allSatisfy { $0 >= .milliseconds(100) && $0 <= .milliseconds(200) } && Set(drawn).count > 50)
    #expect(RetryPolicy.immediately(attempts: -1).attempts == 1)
  }

  /// Calls `end` during the delay after the first attempt. Returns the report of the `send` that
  /// waited, and the number of attempts.
  private func report(
    place: String = "inOrder", isOnce: Bool = false, _ end: @Sendable (Event<Int>, HandlerToken) -> Void
  ) async -> (SendReport, Int) {
    let (event, clock, unsteady) = (Event<Int>(), ManualClock(), Unsteady(failures: 9))
    let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(8), attempts: 5, jitter: false)
    let handler = RetryTests.handler(place, unsteady).with(.retrying(policy, clock: clock))
    let token = event.add(isOnce ? handler.with(.once) : handler)
    async let report = event.send(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    end(event, token)
    return (await report, unsteady.attempts.count)
  }

  @Test(arguments: ["inOrder", "background", "concurrent", "task"])
  func aRemovalEndsTheDelayWithTheLastError(place: String) async {
    let (report, attempts) = await report(place: place) { $0.remove($1) }
    #expect(report.failures.map(\.attempts) == [1] && attempts == 1)
  }

  @Test(arguments: ["inOrder", "background", "concurrent", "task"])
  func aLockEndsTheDelayWithTheLastError(place: String) async {
    let (one, attempts) = await report(place: place) { $0.lock($1) }
    #expect(one.failures.map(\.attempts) == [1] && attempts == 1)
    let (other, _) = await report(place: place) { event, _ in event.lock() }
    #expect(other.failures.map(\.attempts) == [1])
  }

  @Test(arguments: ["inOrder", "background", "concurrent", "task"])
  func theEndOfTheEventEndsTheDelayAndOneAttemptFollows(place: String) async {
    let (report, attempts) = await report(place: place) { event, _ in event.finish() }
    #expect(report.failures.map(\.attempts) == [2] && attempts == 2)
  }

  /// Checks that a lock ends the delay, even if the handler is unlocked at once. The lock decides
  /// the outcome, so the unlock must not cause another attempt. The lock may also come just as the
  /// handler's thread starts the delay.
  @Test(arguments: ["inOrder", "background", "concurrent", "task"])
  func aLockThatEndsAtOnceEndsTheDelayAllTheSame(place: String) async {
    for _ in 0..<200 {
      let (report, attempts) = await report(place: place) { event, token in
        event.lock(token)
        event.unlock(token)
      }
      #expect(report.failures.map(\.attempts) == [1] && attempts == 1)
    }
  }

  @Test func aOnceHandlerBetweenTwoAttemptsIsRemovedAndFinishedLikeAnyOther() async {
    let (removed, attempts) = await report(isOnce: true) { event, _ in event.removeAll() }
    #expect(removed.failures.map(\.attempts) == [1] && attempts == 1)
    let (finished, allAttempts) = await report(isOnce: true) { event, _ in event.finish() }
    #expect(finished.failures.map(\.attempts) == [2] && allAttempts == 2)
  }

  @Test func aLockThatHoldsKeepsTheCallAndItsAttempts() async {
    let (event, clock, unsteady) = (Event<Int>(), ManualClock(), Unsteady(failures: 1))
    let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(8), attempts: 2, jitter: false)
    let token = event.add(RetryTests.handler("inOrder", unsteady).with(.retrying(policy, clock: clock)))
    async let report = event.send(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    event.lock(token, holding: .oldest(9))
    #expect(await report.held == 1)
    event.post(2)
    event.unlock(token)
    #expect(await eventually { unsteady.attempts.count == 3 })
    #expect(unsteady.attempts.values == [1, 1, 2])
    event.removeAll()
  }

  @Test func noBoundDropsACallBetweenItsAttempts() async {
    let (event, clock, unsteady) = (Event<Int>(), ManualClock(), Unsteady(failures: 1))
    let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(8), attempts: 2, jitter: false)
    let token = event.add(
      Handler(.buffering(.latest), .retrying(policy, clock: clock), on: .inOrder) { payload async throws in
        try unsteady.call(payload)
      })
    event.post(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    event.lock(token, holding: .oldest(9))
    event.post(2)
    event.unlock(token)
    #expect(await eventually { unsteady.attempts.count == 3 })
    #expect(unsteady.attempts.values == [1, 1, 2])
    event.removeAll()
  }

  @Test(arguments: ["bag", "event", "once, event"]) func whatEndsAHandlerEndsItsDelay(by end: String) async {
    let (clock, unsteady, live) = (ManualClock(), Unsteady(failures: 9), LiveCount())
    let policy = RetryPolicy.exponential(from: .seconds(3_600), to: .seconds(3_600), attempts: 5, jitter: false)
    var (event, bag): (Event<Int>?, HandlerBag?) = (Event<Int>(), HandlerBag())
    let canary = Canary(live)
    let handler = Handler<Int>(.retrying(policy, clock: clock)) { payload async throws in
      canary.sing()
      try unsteady.call(payload)
    }
    let token = event?.add(end == "once, event" ? handler.with(.once) : handler)
    if end == "bag", let bag { token?.store(in: bag) }
    event?.post(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    if end == "bag" { bag = nil } else { event = nil }
    #expect(await eventually { clock.sleeperCount == 0 })
    #expect(await eventually { unsteady.attempts.count == (end == "bag" ? 1 : 2) })
    withExtendedLifetime((event, bag)) {}
  }

  @Test func aOnceHandlerIsUsedUpAfterItsLastAttempt() async {
    let (event, clock, unsteady) = (Event<Int>(), ManualClock(), Unsteady(failures: 1))
    let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(8), attempts: 3, jitter: false)
    event.add(RetryTests.handler("inOrder", unsteady).with(.retrying(policy, clock: clock)).with(.once))
    event.post(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    event.post(2)  // the used-up handler skips 2, which does not end the delay
    #expect(clock.sleeperCount == 1 && unsteady.attempts.values == [1])
    clock.advance(by: .seconds(1))
    await event.quiesce()
    #expect(unsteady.attempts.values == [1, 1] && event.handlerCount == 0)
  }

  @Test func cancellingTheSenderEndsTheDelayOfATaskHandlerOnly() async {
    for (place, ends) in [("task", true), ("inOrder", false)] {
      let (event, clock, unsteady) = (Event<Int>(), ManualClock(), Unsteady(failures: 9))
      let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(1), attempts: 2, jitter: false)
      event.add(RetryTests.handler(place, unsteady).with(.retrying(policy, clock: clock)))
      let sending = Task { await event.send(1) }
      #expect(await eventually { clock.sleeperCount == 1 })
      sending.cancel()
      if !ends {
        for _ in 0..<100 { await Task.yield() }
        #expect(unsteady.attempts.count == 1)
        clock.advance(by: .seconds(1))
      }
      #expect(await sending.value.failures.map(\.attempts) == [ends ? 1 : 2])
    }
  }

  @Test func observersSeeEachAttempt() async {
    final class Watcher: EventObserver {
      let seen = Recorder<String>()
      func observe(_ step: EventStep) {
        guard let attempt = step.attempt else { return }
        if step.kind == .began { seen.record("began \(attempt)") }
        if step.kind == .ended { seen.record("\(step.error == nil ? "returned" : "threw") \(attempt)") }
      }
    }
    for place in RetryTests.places {
      let (event, watcher) = (Event<Int>(), Watcher())
      event.add(RetryTests.handler(place, Unsteady(failures: 1)).with(.retrying(.immediately(attempts: 2))))
      let observation = event.observe(with: watcher)
      _ = await event.send(1)
      #expect(watcher.seen.values == ["began 1", "threw 1", "began 2", "returned 2"], "\(place)")
      withExtendedLifetime(observation) {}
    }
  }
}
