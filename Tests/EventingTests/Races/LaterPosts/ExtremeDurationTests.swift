import EventingDiagnostics
import EventingTesting
import Testing

@testable import Eventing

/// Tests that the longest durations mean for ever, and those below zero at once, wherever one can
/// be given. A clock would stop the program.
@Suite(.fewAtATime) struct ExtremeDurationTests {
  static let longest: [Duration] = [
    .seconds(Int64.max), .seconds(Int64.max) * 18, .forever * 2, .seconds(200 * 366 * 86_400),
  ]
  static let shortest: [Duration] = [.zero, .nanoseconds(-1), .seconds(-Int64.max), .seconds(Int64.min) * 18]
  struct Problem: Error {}

  @Test(arguments: longest) func aLongLimitOfAWaitMeansForEver(limit: Duration) async throws {
    let (event, question) = (Event<Int>("e"), EventQuestion<Int, Int>("q"))
    question.addResponder { $0 }
    #expect(try await question.firstAnswer(to: 1, within: limit) == 1)
    #expect(await question.answers(to: 1, within: limit).count == 1)
    async let next = event.next(within: limit)
    #expect(await eventually { event.handlerCount > 0 })
    event.post(1)
    #expect(try await next == 1)
    let recorder = EventRecorder(event)
    async let expected: Void = recorder.expect([2], within: limit)
    event.post(2)
    try await expected
    for clock in [ContinuousClock(), SuspendingClock(), ManualClock()] as [any Clock<Duration>] {
      let sleep = Task { try await Sleeping.sleep(for: limit, on: clock) }
      for _ in 0..<20 { await Task.yield() }
      sleep.cancel()
      await #expect(throws: CancellationError.self) { try await sleep.value }
    }
  }

  @Test(arguments: shortest) func aLimitBelowZeroEndsAtOnce(limit: Duration) async throws {
    let (event, question) = (Event<Int>("e"), EventQuestion<Int, Int>("q"))
    question.addResponder { _ async in
      try? await Task.sleep(for: .seconds(3_600))
      return nil
    }
    await #expect(throws: EventingError.self) { try await question.firstAnswer(to: 1, within: limit) }
    #expect(await question.answers(to: 1, within: limit).isEmpty)
    await #expect(throws: EventingError.self) { try await event.next(within: limit) }
    await #expect(throws: RecorderError.self) { try await EventRecorder(event).expect(1, within: limit) }
    let seen = Recorder<Int>()
    event.addHandler { seen.record($0) }
    event.post(1, after: limit)
    #expect(await eventually { seen.values == [1] })
  }

  static let modified: [@Sendable (Duration, Recorder<Int>) -> Handler<Int>] = [
    { limit, seen in Handler(.throttled(every: limit)) { (payload: Int) in seen.record(payload) } },
    { limit, seen in Handler(.debounced(for: limit)) { (payload: Int) in seen.record(payload) } },
    { limit, seen in Handler(.debounced(for: .seconds(1), atMost: limit)) { (payload: Int) in seen.record(payload) } },
    { limit, seen in Handler(.debounced(for: limit, atMost: limit)) { (payload: Int) in seen.record(payload) } },
    { limit, seen in Handler { batch in for payload in batch { seen.record(payload) } }.batched(of: .max, within: limit)
    },
    { limit, seen in
      Handler(.timingOut(after: max(limit, .seconds(60)))) { (payload: Int) async in seen.record(payload) }
    },
    { limit, seen in
      Handler(.retrying(.exponential(from: limit, to: limit, attempts: 1))) { (payload: Int) async throws in
        seen.record(payload)
        throw Problem()
      }
    },
    { limit, seen in
      Handler(.buffering(.newest(.max)), .throttled(every: limit), on: .concurrent(limit: .max)) {
        (payload: Int) async in seen.record(payload)
      }
    },
  ]

  @Test(arguments: longest + shortest, 0..<8) func aModifierTakesEachDuration(limit: Duration, number: Int) async {
    let (event, seen) = (Event<Int>("e"), Recorder<Int>())
    event.observe(with: EventDiagnostics(slowerThan: limit, stuckAfter: limit, moreHandlersThan: .max) { _ in })
    event.add(ExtremeDurationTests.modified[number](limit, seen))
    event.post(1)
    event.post(2)
    let later = event.post(3, after: limit)
    event.finish()
    await event.quiesce()
    #expect(seen.values.contains(2))
    later.cancel()
  }

  @Test(arguments: longest) func aDelayOfARetryMayBeForEver(limit: Duration) async {
    let (event, attempts) = (Event<Int>("e"), Counter())
    let policy = RetryPolicy.exponential(from: limit, to: limit, attempts: .max)
    event.add(
      Handler(.retrying(policy)) { (_: Int) async throws in
        attempts.add()
        throw Problem()
      })
    event.post(1)
    #expect(await eventually { attempts.value == 1 })
    event.removeAll()
    await event.quiesce()
    #expect(attempts.value == 1)
  }

  @Test(arguments: longest) func aManualClockStopsAtItsEnd(step: Duration) async {
    let clock = ManualClock()
    for _ in 0..<3 { clock.advance(by: step) }
    await clock.advanceWhenIdle(by: step)
    let end = clock.now.advanced(by: step)
    #expect(end >= clock.now && clock.now.duration(to: end) >= .zero)
    #expect(end.advanced(by: .zero - step) <= end)
  }

  @Test func countsBelowZeroAndHugeOnesAreClamped() async {
    let event = Event<Int>("e", replaying: .last(.max))
    let (few, many) = (Event<Int>("f", replaying: .last(-1)), HandlerLane("l", limit: .max))
    for buffering in [Buffering.oldest(.max), .newest(.max), .suspendingSender(.max), .oldest(-1), .newest(.min)] {
      event.addHandler(.buffering(buffering), on: .inOrder) { _ in }
      event.addHandler(.buffering(buffering), on: .lane(many)) { _ in }
    }
    event.addHandler(on: .concurrent(limit: -1)) { _ in }
    let token = event.addHandler { _ in }
    event.lock(token, holding: .oldest(.max))
    few.lock(holding: .oldest(.min))
    #expect(await event.send(1).held == 1)
    event.unlock(token)
    var batches = event.batches(of: .max).payloads(buffering: .newest(.max)).makeAsyncIterator()
    event.post(2)
    event.finish()
    let first = try? await batches.next()
    #expect(first == [1, 2])
  }

  /// A limit that was not needed leaves nothing in the queue of its clock.
  @Test func aLimitThatWasNotNeededIsForgotten() async throws {
    await #expect(processExitsWith: .success) {
      let (event, question) = (Event<Int>("e"), EventQuestion<Int, Int>("q"))
      question.addResponder { $0 }
      func run(_ count: Int) async throws {
        for number in 0..<count {
          _ = try await question.firstAnswer(to: number, within: .seconds(3_600))
          async let next = event.next(within: .seconds(3_600))
          while event.handlerCount == 0 { await Task.yield() }
          event.post(number)
          _ = try await next
        }
      }
      // A limit that stays takes 700 bytes. The allocator's caches grow in the first rounds.
      var growth = Int.max
      for _ in 0..<6 where growth >= 400_000 {
        let before = heapInUse()
        try await run(2_000)
        growth = heapInUse() - before
      }
      precondition(growth < 400_000)
    }
  }

  /// A clock that is a value without `==`.
  private struct Wrapped: Clock {
    let base: ManualClock
    var now: ManualClock.Instant { base.now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
      try await base.sleep(until: deadline, tolerance: tolerance)
    }
  }

  /// Equal only to itself, and without a hash value, so that all values share one bucket.
  private final class Comparisons: Sendable { let count = Counter() }
  private struct Compared: Clock, Equatable {
    let number: Int
    let comparisons: Comparisons
    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
      try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
    }
    static func == (a: Compared, b: Compared) -> Bool {
      a.comparisons.count.add()
      return a.number == b.number
    }
  }

  @Test func aClockWithoutIdentityIsNeverLookedFor() async {
    let table = TimerQueueTable()
    let clock = Wrapped(base: ManualClock())
    let queues = (0..<100).map { _ in table.queue(of: clock, in: nil) }
    #expect(Set(queues.map { ObjectIdentifier($0) }).count == 100)
    #expect(table.entryCount == 0)
    let comparisons = Comparisons()
    let others = (0..<1_000).map { table.queue(of: Compared(number: $0, comparisons: comparisons), in: nil) }
    #expect(comparisons.count.value <= 1_000 * 64 && table.entryCount == 64)
    withExtendedLifetime((queues, others)) {}
  }
}
