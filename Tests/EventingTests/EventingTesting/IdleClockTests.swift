import EventingTesting
import Testing

@testable import Eventing

/// Tests of guarantee H14 of PROOF.md: a `ManualClock` moves when only work that sleeps on it is
/// left.
@Suite(.fewAtATime) struct IdleClockTests {
  struct Wrong: Error {}

  /// Runs a test with real threads, and then in simulations.
  func everywhere(_ body: @escaping @Sendable () async throws -> Void) async throws {
    for _ in 0..<20 { try await body() }
    try Simulation.run(seeds: 1...50, body)
    try Simulation.run(seeds: 1...50, by: .priorities(changes: 3), body)
  }

  static func expect<Value: Equatable>(_ value: Value, _ expected: Value, line: Int = #line) throws {
    if value != expected { throw RunError(description: "line \(line): expected \(expected), got \(value)") }
  }
  struct RunError: Error, CustomStringConvertible { let description: String }

  @Test func theClockStopsAtEachSleeperAndWaitsForWhatFollows() async throws {
    try await everywhere {
      let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Duration>())
      event.addHandler(on: .inOrder) { number async in
        for _ in 0..<5 { await Task.yield() }
        seen.record(clock.now.offset)
        if number < 4 { event.post(number + 1, after: .seconds(1), clock: clock) }
      }
      event.post(1, after: .seconds(1), clock: clock)
      await clock.advanceWhenIdle(by: .seconds(10))
      await clock.waitUntilIdle()
      try IdleClockTests.expect(seen.values, (1...4).map { .seconds($0) })
      try IdleClockTests.expect(clock.now.offset, .seconds(10))
    }
  }

  @Test(arguments: BoundedLane.allCases) func aCallThatRunsHoldsTheClock(lane: BoundedLane) async {
    let (event, clock, gate, seen) = (Event<Int>(), ManualClock(), Gate(), Recorder<Duration>())
    event.add(lane.handler(.unbounded, until: gate) { (_: Int) in seen.record(clock.now.offset) })
    clock.meet(event)
    for number in 0..<3 { event.post(number) }
    #expect(await eventually { seen.count == 1 })
    async let advanced: Void = clock.advanceWhenIdle(by: .seconds(1))
    for _ in 0..<1_000 { await Task.yield() }
    #expect(clock.now.offset == .zero)
    gate.open()
    await advanced
    #expect(seen.values == [.zero, .zero, .zero] && clock.now.offset == .seconds(1))
  }

  /// Checks that the clock moves when only three kinds of work are left: calls that sleep on the
  /// clock, calls that wait for a sleeping call, and occurrences that are queued behind a sleeping
  /// call.
  @Test(arguments: [AsyncDelivery.inOrder, .concurrent(limit: 1), .concurrent(limit: 2), .task])
  func callsThatSleepDoNotHoldTheClock(delivery: AsyncDelivery) async throws {
    try await everywhere {
      let (first, second) = (Event<Int>(), Event<Int>())
      let (clock, slept, reports) = (ManualClock(), Recorder<Duration>(), Recorder<SendReport>())
      second.addHandler(on: delivery) { _ in
        try await clock.sleep(for: .seconds(1))
        slept.record(clock.now.offset)
      }
      first.addHandler(on: .inOrder) { number in reports.record(await second.send(number)) }
      clock.meet(first, second)
      for number in 0..<3 { first.post(number) }
      for number in 3..<5 { second.post(number) }
      await clock.advanceWhenIdle(by: .seconds(9))
      await clock.waitUntilIdle()
      try IdleClockTests.expect(slept.count, 5)
      // Each send waited for its call, although the clock did not wait for calls that slept.
      try IdleClockTests.expect(reports.values.map(\.delivered), [1, 1, 1])
      if delivery.description == "in order" { try IdleClockTests.expect(slept.values, (1...5).map { .seconds($0) }) }
    }
  }

  /// Checks that handlers do not stop the clock while they wait for a timer of the library: for the
  /// next attempt, for more payloads of a batch, or for the end of a `debounced` burst. Such
  /// handlers do not themselves sleep on the clock.
  @Test(arguments: WaitingHandler.allCases)
  func handlersThatWaitForATimeDoNotHoldTheClock(kind: WaitingHandler) async throws {
    try await everywhere {
      let (event, feeding, clock) = (Event<Int>(), Event<Int>(), ManualClock())
      let (calls, reports) = (Recorder<Duration>(), Recorder<SendReport>())
      kind.add(to: event, clock) {
        calls.record(clock.now.offset)
        return calls.count
      }
      feeding.addHandler(on: .inOrder) { number in reports.record(await event.send(number)) }
      clock.meet(feeding)
      feeding.post(1)
      await clock.advanceWhenIdle(by: .seconds(100))
      await clock.waitUntilIdle()
      try IdleClockTests.expect(calls.values, kind.expected)
      try IdleClockTests.expect(reports.values.map(\.delivered), [1])
      try IdleClockTests.expect(clock.now.offset, .seconds(100))
    }
  }

  enum WaitingHandler: CaseIterable, Sendable {
    case retriedInOrder, retriedConcurrently, retriedAsTask, retriedByKey, batch, batchByKey, debounced
    struct Failed: Error {}

    func add(to event: Event<Int>, _ clock: ManualClock, _ call: @escaping @Sendable () -> Int) {
      let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(60), attempts: 4, jitter: false)
      func retried(_ delivery: AsyncDelivery) -> Handler<Int> {
        Handler(.retrying(policy, clock: clock), on: delivery) { _ async throws in if call() < 3 { throw Failed() } }
      }
      func batched() -> Handler<Int> {
        Handler { _ async throws in _ = call() }.batched(of: 5, within: .seconds(3), clock: clock)
      }
      switch self {
      case .retriedInOrder: event.add(retried(.inOrder))
      case .retriedConcurrently: event.add(retried(.concurrent(limit: 2)))
      case .retriedAsTask: event.add(retried(.task))
      case .retriedByKey: event.add(retried(.concurrent(limit: 2)).with(.inOrder { $0 }))
      case .batch: event.add(batched())
      case .batchByKey: event.add(batched().with(.inOrder { $0 }))
      case .debounced:
        event.addHandler(.debounced(for: .seconds(2), clock: clock), on: .inOrder) { _ async throws in _ = call() }
      }
    }

    var expected: [Duration] {
      switch self {
      case .batch, .batchByKey: [.seconds(3)]
      case .debounced: [.seconds(2)]
      default: [.zero, .seconds(1), .seconds(3)]
      }
    }
  }

  @Test func mainHandlersThatSleepDoNotHoldTheClock() async throws {
    let body: @Sendable () async throws -> Void = {
      let (event, clock, slept) = (Event<Int>(), ManualClock(), Recorder<Duration>())
      event.addHandler(on: .main) { _ in
        try await clock.sleep(for: .seconds(1))
        slept.record(clock.now.offset)
      }
      clock.meet(event)
      for number in 0..<3 { event.post(number) }
      await clock.advanceWhenIdle(by: .seconds(3))
      await clock.waitUntilIdle()
      try IdleClockTests.expect(slept.values, (1...3).map { .seconds($0) })
    }
    for _ in 0..<10 { try await body() }
    if Simulation.includesAllTasks { try Simulation.run(seeds: 1...50, body) }
  }

  /// Checks that the clock waits for work that goes from event to event.
  @Test func workThatGoesRoundHoldsTheClock() async throws {
    try await everywhere {
      let ring = [Event<Int>(), Event<Int>(), Event<Int>()]
      let (clock, seen) = (ManualClock(), Counter())
      let deliveries: [AsyncDelivery] = [.inOrder, .concurrent(limit: 2), .task]
      for (index, event) in ring.enumerated() {
        event.addHandler(on: deliveries[index]) { number async in
          await Task.yield()
          seen.add()
          if number > 0 { ring[(index + 1) % 3].post(number - 1) }
        }
      }
      clock.meet(ring[0], ring[1], ring[2])
      ring[0].post(30)
      await clock.advanceWhenIdle(by: .seconds(1))
      try IdleClockTests.expect(seen.value, 31)
      withExtendedLifetime(ring) {}
    }
  }

  @Test func eventsBehindViewsKeysAndValuesAreMet() async {
    let (event, keyed, value, clock, seen) = (
      Event<Int>(), KeyedEvent<String, Int>(), Observed(0), ManualClock(), Counter()
    )
    clock.meet(event.map { "\($0)" }, keyed["a"], value)
    let body: @Sendable (Int) async -> Void = { _ in
      for _ in 0..<50 { await Task.yield() }
      seen.add()
    }
    event.addHandler(on: .inOrder, perform: body)
    keyed["b"].addHandler(on: .inOrder, perform: body)
    value.newValues.addHandler(on: .inOrder, perform: body)
    for number in 1...10 {
      event.post(number)
      keyed.post(number, to: "b")
      value.value = number
    }
    await clock.waitUntilIdle()
    #expect(seen.value == 30 && event.handlerCount == 1)
  }

  /// Checks that the clock retains no event, and does not wait for a released one.
  @Test func eventsThatAreGoneAreForgotten() async {
    let (clock, live) = (ManualClock(), LiveCount())
    var event: Event<Canary>? = Event()
    event!.addHandler { _ in }
    event!.post(Canary(live), after: .seconds(1), clock: clock)
    weak let dead = event
    event = nil
    #expect(dead == nil && live.alive == 0)
    await clock.advanceWhenIdle(by: .seconds(2))
    #expect(clock.now.offset == .seconds(2))
  }

  /// Checks that the clock waits for a running call, although a task that an earlier call on the
  /// lane started sleeps on the clock.
  @Test func aTaskThatACallLeftBehindDoesNotHideTheNextCall() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Duration>())
    let (begun, gate) = (Gate(), Gate())
    event.addHandler(on: .inOrder) { number async in
      if number == 0 {
        Task { try? await clock.sleep(for: .seconds(5)) }
        await clock.waitForSleepers()
      } else {
        begun.open()
        await gate.opened()
        seen.record(clock.now.offset)
      }
    }
    clock.meet(event)
    event.post(0)
    event.post(1)
    await begun.opened()  // until call 1 begins, the clock may count the lane as asleep, as a task of call 0 sleeps
    async let advanced: Void = clock.advanceWhenIdle(by: .seconds(1))
    for _ in 0..<1_000 { await Task.yield() }
    gate.open()
    await advanced
    #expect(seen.values == [.zero])
  }

  /// Checks that work which waits for an instant without a task, as between two attempts, does not
  /// stop the clock.
  @Test func workThatWaitsWithoutATaskDoesNotHoldTheClock() async throws {
    let (event, clock, gates, nodes) = (Event<Int>(), ManualClock(), [Gate(), Gate()], Recorder<SleepingWork>())
    event.addHandler(on: .inOrder) { number async in
      if let invocation = Invocation.current { nodes.record(SleepingWork(node: invocation.executionSlot)) }
      await gates[number].opened()
    }
    clock.meet(event)
    event.post(0)
    event.post(1)
    #expect(await eventually { nodes.count == 1 })
    let work = try #require(nodes.values.first)
    clock.sleepBegan(work)
    await clock.advanceWhenIdle(by: .seconds(1))
    #expect(clock.now.offset == .seconds(1))
    clock.sleepEnded(work)
    async let advanced: Void = clock.advanceWhenIdle(by: .seconds(1))
    for _ in 0..<1_000 { await Task.yield() }
    #expect(clock.now.offset == .seconds(1))
    for gate in gates { gate.open() }
    await advanced
    #expect(clock.now.offset == .seconds(2))
  }

  @Test func whatALockHoldsDoesNotHoldTheClock() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Duration>())
    let token = event.addHandler(on: .inOrder) { _ async in seen.record(clock.now.offset) }
    clock.meet(event)
    event.lock(token, holding: .oldest(8))
    event.post(1)
    await clock.advanceWhenIdle(by: .seconds(1))
    event.unlock(token)
    await clock.waitUntilIdle()
    #expect(seen.values == [.seconds(1)])
  }
}
