import EventingTesting
import Testing
@testable import Eventing

// Tests of the tasks that call `advanceWhenIdle`, `waitForSleepers` or `quiesce`.
extension IdleClockTests {
  /// Checks that the clock's probe for running calls leaves the lane as it was: a `quiesce()` that
  /// begins afterwards still waits for a call that sleeps.
  @Test func quiesceStillWaitsForACallThatSleeps() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Counter())
    event.addHandler(on: .inOrder) { _ in
      try await clock.sleep(for: .seconds(3))
      seen.add()
    }
    clock.meet(event)
    event.post(1)
    await clock.advanceWhenIdle(by: .seconds(1))
    async let quiet: Void = event.quiesce()
    await clock.advanceWhenIdle(by: .seconds(2))
    await quiet
    #expect(seen.value == 1)
  }

  @Test func aHandlerThatMovesTheClockDoesNotWaitForItself() async throws {
    try await everywhere {
      let (first, second, clock, seen) = (Event<Int>(), Event<Int>(), ManualClock(), Recorder<Int>())
      first.addHandler(on: .inOrder) { number async in
        await clock.advanceWhenIdle(by: .seconds(1))
        seen.record(number)
      }
      second.addHandler(on: .inOrder) { number in await first.send(number) }
      clock.meet(first, second)
      for number in 1...2 { second.post(number) }
      first.post(3)
      await second.quiesce()
      await first.quiesce()
      try IdleClockTests.expect(seen.values.sorted(), [1, 2, 3])
      try IdleClockTests.expect(clock.now.offset, .seconds(3))
    }
  }

  @Test func aCancelledTaskDoesNotWait() async {
    let (event, clock, gate) = (Event<Int>(), ManualClock(), Gate())
    event.addHandler(on: .inOrder) { _ async in await gate.opened() }
    clock.meet(event)
    event.post(1)
    let waiting = Task {
      await clock.advanceWhenIdle(by: .seconds(1))
      await clock.waitForSleepers()
    }
    for _ in 0..<100 { await Task.yield() }
    waiting.cancel()
    await waiting.value
    #expect(clock.now.offset == .zero)
    gate.open()
  }

  @Test func theClockWaitsForSleepers() async throws {
    try await everywhere {
      let (clock, woken) = (ManualClock(), Counter())
      await withTaskGroup(of: Void.self) { group in
        for seconds in 1...3 {
          group.addTask {
            try? await clock.sleep(for: .seconds(seconds))
            woken.add()
          }
        }
        await clock.waitForSleepers(3)
        clock.advance(by: .seconds(3))
      }
      await clock.waitForSleepers(0)
      try IdleClockTests.expect(woken.value, 3)
    }
  }

  /// Checks that no later post is left when the clock has moved, although handlers on other threads
  /// make later posts meanwhile.
  @Test func nothingIsLeftBehindWhileThreadsPost() async {
    for _ in 0..<10 {
      let (event, clock, seen) = (Event<Int>(), ManualClock(), Counter())
      event.addHandler(on: .concurrent(limit: 2)) { number async in
        if number > 0 { event.post(number - 1, after: .milliseconds(number), clock: clock) }
        seen.add()
      }
      clock.meet(event)
      await onThreads(4) { _ in for number in 0..<50 { event.post(number % 5) } }
      // A post of number n leads to n later posts, and so to n + 1 calls.
      await clock.advanceWhenIdle(by: .seconds(1))
      await clock.waitUntilIdle()
      #expect(seen.value == 4 * 10 * (1 + 2 + 3 + 4 + 5))
    }
  }
}
