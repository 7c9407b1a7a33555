import Dispatch
import Eventing
import EventingTesting
import Testing

/// Tests that simulations find faults and repeat them, and that they control all work of their
/// events.
@Suite(.fewAtATime) struct SimulationTests {
  struct Wrong: Error {}

  /// A bus on which only the first `send` may call its handler.
  ///
  /// If `claimsFirst` is true, `send` sets `isArmed` to false before it calls the handler.
  /// Otherwise `send` sets `isArmed` to false after the call. During that call, a second `send` may
  /// find `isArmed` true, and call its handler, too. Simulations must find this fault.
  actor OnceBus {
    private var isArmed = true
    private let claimsFirst: Bool
    init(claimsFirst: Bool) { self.claimsFirst = claimsFirst }

    func send(_ handler: @Sendable () async -> Void) async {
      guard isArmed else { return }
      if claimsFirst { isArmed = false }
      await handler()
      isArmed = false
    }
  }

  actor Log {
    private(set) var count = 0
    func add() { count += 1 }
  }

  static func once(claimsFirst: Bool, senders: Int) -> @Sendable () async throws -> Void {
    {
      let (bus, log) = (OnceBus(claimsFirst: claimsFirst), Log())
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<senders { group.addTask { await bus.send { await log.add() } } }
      }
      guard await log.count == 1 else { throw Wrong() }
    }
  }

  @Test(arguments: [Simulation.Strategy.random, .priorities(changes: 2)]) func aSeedFindsARaceAndShowsItAgain(
    strategy: Simulation.Strategy
  )
    throws
  {
    let failure = #expect(throws: SimulationFailure.self) {
      try Simulation.run(seeds: 1...100, by: strategy, SimulationTests.once(claimsFirst: false, senders: 2))
    }
    let seed = try #require(failure?.schedule.seed)
    #expect(failure?.error is Wrong && failure?.description.contains("seed \(seed)") == true)
    for _ in 0..<3 {
      let again = #expect(throws: SimulationFailure.self) {
        try Simulation.run(seed: seed, by: strategy, SimulationTests.once(claimsFirst: false, senders: 2))
      }
      #expect(again?.schedule.description == failure?.schedule.description)
    }
    let written = try #require(Schedule(failure?.schedule.description ?? "no order"))
    #expect(throws: SimulationFailure.self) {
      try Simulation.replay(written, SimulationTests.once(claimsFirst: false, senders: 2))
    }
    try Simulation.run(seeds: 1...100, by: strategy, SimulationTests.once(claimsFirst: true, senders: 2))
  }

  @Test func everyOrderIsTried() throws {
    #expect(throws: SimulationFailure.self) {
      try Simulation.explore(SimulationTests.once(claimsFirst: false, senders: 2))
    }
    for senders in 2...3 {
      let explored = try Simulation.explore(SimulationTests.once(claimsFirst: true, senders: senders))
      #expect(explored.isComplete && explored.runs > 10)
    }
    #expect(try Simulation.explore(atMost: 5, SimulationTests.once(claimsFirst: true, senders: 3)).isComplete == false)
  }

  /// Checks isolated calls in a simulation that a task starts, here the task of the test. The
  /// simulation must run on another thread than this task. Otherwise the runtime would take the
  /// simulation's isolated calls for calls of this task.
  @Test func isolatedCallsRunInASimulationThatATaskStarts() async throws {
    let counts = Recorder<Int>()
    try Simulation.explore { @Sendable in
      let event = Event<Int>()
      event.addHandler { _ in }
      counts.record(await event.handlers().count)
    }
    #expect(counts.values.allSatisfy { $0 == 1 } && !counts.values.isEmpty)
  }

  @Test @MainActor func aTestOnTheMainActorMayRunASimulation() throws {
    let seen = Recorder<Int>()
    try Simulation.run(seeds: 1...10) {
      let event = Event<Int>()
      event.addHandler(on: .main) {
        MainActor.assertIsolated()
        seen.record($0)
      }
      await event.send(1)
    }
    #expect(seen.count == 10)
  }

  @Test(arguments: [Simulation.Strategy.random, .priorities(changes: 3)])
  func serialQueuesAndMainKeepTheirOrder(strategy: Simulation.Strategy) throws {
    let (queue, seen) = (DispatchQueue(label: "one"), Recorder<Int>())
    try Simulation.run(seeds: 1...50, by: strategy) {
      let (a, b) = (Event<Int>(), Event<Int>())
      for event in [a, b] {
        event.addHandler(on: .queue(queue)) { seen.record($0) }
        event.addHandler(on: .main) { seen.record(10 * $0) }
      }
      a.post(1)
      b.post(2)
      await a.quiesce()
      await b.quiesce()
    }
    #expect(seen.values.filter { $0 < 10 } == Array(repeating: [1, 2], count: 50).flatMap(\.self))
    #expect(seen.values.filter { $0 >= 10 } == Array(repeating: [10, 20], count: 50).flatMap(\.self))
  }

  @Test(arguments: [Int.min, .max]) func anyNumberOfChangesIsTaken(changes: Int) throws {
    try Simulation.run(seeds: 1...2, by: .priorities(changes: changes)) { await Event<Int>().send(1) }
  }

  @Test func failuresDescribeRunsThatAreCutOffOrDiffer() {
    let endless = #expect(throws: SimulationFailure.self) {
      try Simulation.run(seed: 1, limit: 200) {
        let event = Event<Int>()
        event.addHandler { _ async in while true { await Task.yield() } }
        event.post(1)
      }
    }
    #expect(endless?.description.contains("something of it still runs") == true)
    let other = #expect(throws: SimulationFailure.self) {
      try Simulation.replay(Schedule("4/5 3/9") ?? Schedule("0/1")!) { await Task.yield() }
    }
    #expect(other?.description.contains("did something else") == true)
    let cancelled = #expect(throws: SimulationFailure.self) {
      try Simulation.run(seed: 3, by: .priorities(changes: 2), cancelled: 0) { try Task.checkCancellation() }
    }
    #expect(
      cancelled?.description.hasSuffix("seed 3 by .priorities(changes: 2) with cancelled: 0 shows it again") == true)
    #expect(throws: SimulationFailure.self) {
      try Simulation.replay(cancelled!.schedule) { try Task.checkCancellation() }
    }
    #expect(Schedule("x2 0/1")?.description == "x2 0/1")
  }

  @Test func failuresDescribeRunsThatCannotContinue() {
    let stuck = #expect(throws: SimulationFailure.self) {
      try Simulation.run(seed: 1) {
        for await _ in Event<Int>().source.payloads() {}
        let event = Event<Int>()
        _ = try? await event.next()
        withExtendedLifetime(event) {}
      }
    }
    #expect(stuck?.error == nil && stuck?.description.hasPrefix("nothing can run any more") == true)
    let long = #expect(throws: SimulationFailure.self) {
      try Simulation.run(seed: 1, limit: 50) { while true { await Task.yield() } }
    }
    #expect(long?.description.contains("after 50 steps") == true)
    #expect(Schedule("1/2 0/1")?.description == "1/2 0/1" && Schedule("2/2") == nil && Schedule("one") == nil)
  }

  /// Checks that a simulation runs lanes of every kind. For each sender, the handler must see the
  /// payloads in the order of the sends, whichever steps the seed chooses.
  @Test(arguments: BoundedLane.allCases.filter { $0 != .mainAsync || Simulation.includesAllTasks })
  func lanesBelongToTheSimulation(lane: BoundedLane) throws {
    let schedules = Recorder<String>()
    for seed in [1, 2, 3, 1] as [UInt64] {
      let schedule = try Simulation.run(seed: seed) {
        let (event, seen) = (Event<Int>(), Recorder<Int>())
        event.add(lane.handler(.unbounded, until: .open) { seen.record($0) })
        await withTaskGroup(of: Void.self) { group in
          for sender in 0..<3 {
            group.addTask {
              for number in 0..<3 {
                await event.send(sender * 10 + number)
                await Task.yield()
              }
            }
          }
        }
        guard seen.count == 9,
          (0..<3).allSatisfy({ sender in seen.values.filter { $0 / 10 == sender } == (0..<3).map { sender * 10 + $0 } })
        else { throw Wrong() }
      }
      schedules.record(schedule.description)
    }
    #expect(schedules.values.first == schedules.values.last && Set(schedules.values).count > 1)
  }

  @Test func theClockMovesWhenNothingElseCanRun() throws {
    let clock = ContinuousClock()
    let took = try clock.measure {
      try Simulation.run(seed: 1) {
        let (event, clock) = (Event<Int>(), Simulation.clock)
        await #expect(throws: EventingError.self) { try await event.next(within: .seconds(3_600), clock: clock) }
        guard clock.now.offset == .seconds(3_600) else { throw Wrong() }
      }
    }
    #expect(took < .seconds(60))
  }

  @Test func aTaskIsCancelledAtEveryStep() throws {
    for step in 0..<40 {
      try Simulation.run(seed: UInt64(step), cancelled: step) {
        let event = Event<Int>()
        async let sent: Void = {
          for number in 0..<3 {
            await event.send(number)
            await Task.yield()
          }
        }()
        _ = try? await event.next(within: .seconds(1), clock: Simulation.clock) { $0 == 2 }
        await sent
        await event.quiesce()
        guard event.handlerCount == 0 else { throw Wrong() }
      }
    }
  }
}
