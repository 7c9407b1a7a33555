import Eventing
import EventingTesting
import Foundation
import Testing

/// Tests of the timers of clocks: one for each clock, and only while a post waits.
extension LaterPostTests {
  @Test func manyPostsWithGrowingDeadlinesComeInOrder() async {
    let (event, seen, count) = (Event<Int>(), Recorder<Int>(), 100_000)
    event.addHandler { seen.record($0) }
    for number in 0..<count { event.post(number, after: .microseconds(number / 10)) }
    #expect(await eventually { seen.count == count })
    let isInOrder = seen.values == Array(0..<count)
    #expect(isInOrder)
    event.finish()
  }

  @Test func twoPostsWithoutADelayComeInOrder() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    event.addHandler { seen.record($0) }
    for number in 0..<5_000 { event.post(number, after: .zero, clock: clock) }
    #expect(await eventually { seen.count == 5_000 })
    let isInOrder = seen.values == Array(0..<5_000)
    #expect(isInOrder)
    event.finish()
  }

  @Test func aSimulationLeavesTheTimersOfTheProcessAlone() async throws {
    for seed in 1...20 as ClosedRange<UInt64> {
      let event = Event<Int>()
      try Simulation.run(seed: seed) {
        event.post(1, after: .milliseconds(1))
        event.post(2, after: .seconds(1_000))
      }
      event.finish()
    }
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.addHandler { seen.record($0) }
    event.post(1, after: .milliseconds(1))
    #expect(await eventually { seen.values == [1] })
    event.finish()
  }

  /// Checks posts while all threads of the pool are blocked. This needs a process of its own,
  /// because other tests use the pool.
  @Test func postsNeedNoFreeThreadOfThePool() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let (event, seen, gate) = (Event<Int>(), Recorder<Int>(), Gate())
      event.addHandler { seen.record($0) }
      let blocked = Recorder<Int>()
      for number in 0..<ProcessInfo.processInfo.activeProcessorCount + 2 {
        Task.detached { LaterPostTests.block(blocked, number, gate) }
      }
      await onThread {
        event.post(1, after: .milliseconds(1))
        seen.wait(forCount: 1)
        event.finish()
        gate.open()
      }
    }
  }

  private static func block(_ blocked: Recorder<Int>, _ number: Int, _ gate: Gate) {
    blocked.record(number)
    gate.wait()
  }

  @Test func noTaskSleepsWhenAllPostsAreCancelled() async {
    let (event, clock) = (Event<Int>(), ManualClock())
    let posts = (1...100).map { event.post($0, after: .seconds($0), clock: clock) }
    #expect(await eventually { clock.sleeperCount == 1 })
    for post in posts { #expect(post.cancel()) }
    #expect(await eventually { clock.sleeperCount == 0 })
    event.finish()
  }

  @Test func noTaskSleepsForAnEventThatIsGone() async {
    let clock = ManualClock()
    var event: Event<Int>? = Event()
    event?.post(1, after: .seconds(1), clock: clock)
    #expect(await eventually { clock.sleeperCount == 1 })
    event = nil
    #expect(await eventually { clock.sleeperCount == 0 })
  }

  @Test func aClockOfWhichNothingWaitsIsReleased() async {
    var clock: ManualClock? = ManualClock()
    weak let dead = clock
    let event = Event<Int>()
    var posts: [ScheduledPost] = []
    if let clock {
      posts = (1...3).map { event.post($0, after: .seconds($0), clock: clock) }
      posts[0].cancel()
      clock.advance(by: .seconds(2))
      #expect(await eventually { "\(posts[1])" == "later post, posted" })
      posts[2].cancel()
    }
    clock = nil
    #expect(await eventually { dead == nil })
    #expect("\(posts[2])" == "later post, cancelled")
    event.finish()
  }

  @Test func onAClockThatFailsPostsComeAtOnceAndInOrder() async {
    let (event, clock, seen) = (Event<Int>(), BrokenClock(), Recorder<Int>())
    event.addHandler { seen.record($0) }
    for number in 1...10 { event.post(number, after: .seconds(1_000 * number), clock: clock) }
    #expect(await eventually { seen.count == 10 })
    #expect(seen.values == Array(1...10) && clock.sleeps.value <= 20)
    event.finish()
  }

  @Test func aSleepThatEndsEarlyPostsNothing() async {
    let (event, clock, seen) = (Event<Int>(), HastyClock(early: 10), Recorder<Int>())
    event.addHandler { seen.record($0) }
    event.post(1, after: .seconds(1), clock: clock)
    #expect(await eventually { clock.base.sleeperCount == 1 })
    #expect(seen.values == [] && clock.sleeps.value == 11)
    clock.base.advance(by: .seconds(1))
    #expect(await eventually { seen.values == [1] })
    event.finish()
  }

  @Test func twoEventsShareTheTimerOfAClock() async {
    let (clock, seen) = (ManualClock(), Recorder<Int>())
    let events = (0..<10).map { _ in Event<Int>() }
    for (number, event) in events.enumerated() {
      event.addHandler { seen.record($0) }
      event.post(number, after: .seconds(number + 1), clock: clock)
    }
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(100))
    #expect(await eventually { seen.count == 10 })
    #expect(seen.values.sorted() == Array(0..<10))
    for event in events { event.finish() }
  }

  @Test func equalClocksThatAreValuesShareATimer() async {
    let (base, event, seen) = (ManualClock(), Event<Int>(), Recorder<Int>())
    event.addHandler { seen.record($0) }
    for number in 0..<10 { event.post(number, after: .seconds(1), clock: ValueClock(base: base)) }
    let other = ManualClock()
    event.post(10, after: .seconds(1), clock: ValueClock(base: other))
    #expect(await eventually { base.sleeperCount == 1 && other.sleeperCount == 1 })
    base.advance(by: .seconds(1))
    #expect(await eventually { seen.count == 10 })
    #expect(seen.values == Array(0..<10))
    event.finish()
    #expect(await eventually { other.sleeperCount == 0 })
  }

  /// Checks that a clock's instants are compared while no mutex is held. Debug builds stop if a
  /// thread locks a mutex under another one.
  @Test func instantsAreComparedUnderNoMutex() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let (event, clock, seen) = (Event<Int>(), TalkativeClock(), Recorder<Int>())
      event.addHandler { seen.record($0) }
      for number in 1...10 { event.post(number, after: .seconds(number), clock: clock) }
      while seen.count < 10 {
        clock.base.advance(by: .seconds(1))
        await Task.yield()
      }
      #expect(seen.values == Array(1...10))
      event.finish()
    }
  }

  @Test func insertingAndCancellingCostLittleBesideManyPosts() async {
    let growth = await growth(from: 1_000, to: 100_000, isEnough: 4) { count in
      let (event, clock) = (Event<Int>(), ManualClock())
      return processorTime {
        let posts = (0..<count).map { event.post($0, after: .seconds(($0 &* 7_919) % 10_000 + 1), clock: clock) }
        for post in posts { post.cancel() }
      }
    }
    #expect(growth < 8, "\(growth) times as long")
  }

  /// Checks that no wake-up of the timer is lost. Each round waits for all its posts, and meanwhile
  /// nothing else wakes the timer. So a lost wake-up fails the round.
  @Test(arguments: 0..<3) func noPostIsLostBesideThreadsThatSetTheTimer(kind: Int) async {
    let clocks: [any Clock<Duration>] = [ContinuousClock(), SuspendingClock(), RealClock()]
    let clock = clocks[kind]
    for round in 0..<60 {
      let (event, seen, cancelled) = (Event<Int>(), Counter(), Counter())
      event.addHandler { _ in seen.add() }
      await onThreads(4) { index in
        var random = SeededGenerator(seed: UInt64(round * 4 + index))
        for number in 0..<100 {
          let post = event.post(number, after: .microseconds(Int.random(in: 0...500, using: &random)), clock: clock)
          if Int.random(in: 0..<3, using: &random) == 0, post.cancel() { cancelled.add() }
        }
      }
      #expect(await eventually { seen.value + cancelled.value == 400 })
      await event.quiesce()
      #expect(seen.value + cancelled.value == 400)
    }
  }
}
