import Eventing
import EventingTesting
import Testing

/// Tests of guarantee H14 of PROOF.md: tasks that name no executor, and the main actor, in
/// simulations.
@Suite(.fewAtATime) struct SimulatedTaskTests {
  struct Wrong: Error {}

  /// The condition that simulations on this platform include tasks that name no executor.
  static let isPossible = ConditionTrait.enabled(if: Simulation.includesAllTasks)

  @MainActor final class Model {
    var count = 0
    /// Changes the count with a suspension in the middle, which loses updates if calls overlap.
    func add() async {
      let before = count
      await Task.yield()
      count = before + 1
    }
  }

  actor Room {
    private(set) var count = 0
    func enter() { count += 1 }
  }

  // MARK: The main actor

  @Test(isPossible) func asynchronousMainHandlersBelongToTheSimulation() throws {
    let schedules = Recorder<String>()
    for seed in [1, 2, 3, 1] as [UInt64] {
      let schedule = try Simulation.run(seed: seed) {
        let (event, seen) = (Event<Int>(), Recorder<Int>())
        event.addHandler(on: .main) { number async in
          MainActor.assertIsolated()
          seen.record(number)
          await Task.yield()
          MainActor.assertIsolated()
          seen.record(-number)
        }
        await withTaskGroup(of: Void.self) { group in
          for sender in 1...3 { group.addTask { for number in 0..<3 { await event.send(sender * 10 + number) } } }
        }
        let begun = seen.values.filter { $0 > 0 }
        let isInOrder = (1...3).allSatisfy { sender in
          begun.filter { $0 / 10 == sender } == (0..<3).map { sender * 10 + $0 }
        }
        // No call overlaps another one, although each call is suspended once.
        guard isInOrder, seen.values == begun.flatMap({ [$0, -$0] }) else { throw Wrong() }
      }
      schedules.record(schedule.description)
    }
    #expect(schedules.values.first == schedules.values.last && Set(schedules.values).count > 1)
  }

  /// Checks that a handler on the main actor is claimed after the hop from its lane to the main
  /// actor.
  @Test(isPossible) func noMainHandlerIsCalledAfterItsRemovalOnTheMainActor() throws {
    let called = Recorder<Bool>()
    let explored = try Simulation.explore {
      let (event, isRemoved, calls) = (Event<Int>(), Recorder<Bool>(), Counter())
      let token = event.addHandler(on: .main) { _ async in
        calls.add()
        if isRemoved.count > 0 { isRemoved.record(false) }
      }
      event.post(1)
      await Task.yield()
      await Task { @MainActor in
        event.remove(token)
        isRemoved.record(true)
      }.value
      await event.quiesce()
      called.record(calls.value == 1)
      guard isRemoved.values == [true] else { throw Wrong() }
    }
    #expect(explored.isComplete && Set(called.values) == [true, false])
  }

  @Test(isPossible) func aRaceOnTheMainActorIsFoundAndShownAgain() throws {
    let body: @Sendable () async throws -> Void = {
      let model = Model()
      let tasks = (0..<2).map { _ in Task { await model.add() } }
      for task in tasks { await task.value }
      guard await model.count == 2 else { throw Wrong() }
    }
    let failure = #expect(throws: SimulationFailure.self) { try Simulation.run(seeds: 1...100, body) }
    #expect(failure?.error is Wrong)
    let schedule = try #require(failure?.schedule)
    let again = #expect(throws: SimulationFailure.self) { try Simulation.replay(schedule, body) }
    #expect(again?.error is Wrong && again?.schedule.description == schedule.description)
  }

  /// Checks that jobs of the main actor and blocks of the main queue run in one order.
  @Test(isPossible) func theMainActorKeepsTheOrderOfItsSteps() throws {
    try Simulation.run(seeds: 1...50) {
      let (event, seen) = (Event<Int>(), Recorder<Int>())
      event.addHandler(on: .main) { seen.record($0) }
      await Task { @MainActor in
        // One step records 0 and starts both tasks, so the order of the three records is certain.
        Task { @MainActor in seen.record(1) }
        Task { @MainActor in seen.record(2) }
        seen.record(0)
      }.value
      event.post(3)
      await event.quiesce()
      await MainActor.run { seen.record(4) }
      guard seen.values == [0, 1, 2, 3, 4] else { throw Wrong() }
    }
  }

  @Test(isPossible) func synchronousMainHandlersAreIsolatedOnAnyThread() throws {
    try Simulation.run(seeds: 1...20) {
      let (event, model) = (Event<Int>(), Model())
      event.addHandler(on: .main) { number in
        MainActor.assertIsolated()
        MainActor.assumeIsolated { model.count += number }
      }
      event.post(1)
      await MainActor.run { event.post(2) }  // calls the handler at once, unless 1 still waits on the lane
      await event.quiesce()
      guard await model.count == 3 else { throw Wrong() }
    }
  }

  @Test(isPossible) @MainActor func aTestOnTheMainActorRunsAsynchronousMainHandlers() throws {
    let model = Model()
    try Simulation.run(seeds: 1...10) {
      let event = Event<Int>()
      event.addHandler(on: .main) { _ async in
        model.count += 1
        await Task.yield()
        model.count += 1
      }
      await event.send(1)
    }
    #expect(model.count == 20)
  }

  // MARK: Tasks without a preference

  @Test(isPossible, arguments: [false, true]) func tasksOfTheProgramBelongToTheSimulation(isDetached: Bool) throws {
    let body: @Sendable () async throws -> Void = {
      let (bus, room) = (SimulationTests.OnceBus(claimsFirst: false), Room())
      let operation: @Sendable () async -> Void = { await bus.send { await room.enter() } }
      let tasks = (0..<2).map { _ in isDetached ? Task.detached { await operation() } : Task { await operation() } }
      for task in tasks { await task.value }
      guard await room.count == 1 else { throw Wrong() }
    }
    let failure = #expect(throws: SimulationFailure.self) { try Simulation.run(seeds: 1...100, body) }
    let seed = try #require(failure?.schedule.seed)
    for _ in 0..<3 {
      let again = #expect(throws: SimulationFailure.self) { try Simulation.run(seed: seed, body) }
      #expect(again?.error is Wrong && again?.schedule.description == failure?.schedule.description)
    }
  }

  /// Checks lanes that a detached task makes. Such a task has no task-local values, so the library
  /// finds the simulation by the task's thread.
  @Test(isPossible, arguments: BoundedLane.allCases) func lanesOfDetachedTasksBelongToTheSimulation(
    lane: BoundedLane
  ) throws {
    try Simulation.run(seeds: 1...20) {
      await Task.detached {
        let (event, seen) = (Event<Int>(), Recorder<Int>())
        event.add(lane.handler(.unbounded, until: .open) { seen.record($0) })
        for number in 0..<3 { await event.send(number) }
        event.post(3, after: .seconds(1), clock: Simulation.clock)
        _ = try? await event.next(within: .seconds(2), clock: Simulation.clock)
        await event.quiesce()
        #expect(seen.values == [0, 1, 2, 3])
      }.value
    }
  }

  @Test func aProgramStartsTasksOnTheExecutorOfItsEvents() async throws {
    #expect(EventContext.executor == nil)
    let count = Counter()
    try Simulation.run(seeds: 1...20) {
      let event = Event<Int>()
      event.addHandler(on: .inOrder) { _ in
        guard EventContext.executor === Simulation.executor, EventContext.executor != nil else { throw Wrong() }
        count.add()
      }
      try await Task(executorPreference: EventContext.executor) {
        try await event.send(1).throwIfFailed()
      }.value
    }
    #expect(count.value == 20 && EventContext.executor == nil)
  }

  /// Checks that a step of a simulation may resume a task that was started before the simulation.
  /// This task continues outside the simulation.
  @Test(isPossible) func olderTasksStayOutside() async throws {
    let gate = Gate()
    let older = Task { () -> Bool in
      await gate.opened()
      await Task.yield()
      return Simulation.executor == nil
    }
    await Task.yield()
    try Simulation.run(seeds: 1...10) {
      gate.open()
      await Task.yield()
    }
    #expect(await older.value)
  }

  /// Checks that an actor works for other tasks before and after a simulation that uses it.
  ///
  /// If another task is on the actor while the simulation calls it, the thread of that task runs
  /// the call, and the simulation reports a step from outside.
  @Test(isPossible) func anActorIsSharedWithOlderTasks() async throws {
    let room = Room()
    await Task.detached {
      await room.enter()
      await Task.yield()  // The task leaves the actor here, and not on its way out, when this test is already going on.
    }.value
    try Simulation.run(seeds: 1...10) {
      await Task.yield()
      await room.enter()
    }
    await Task.detached { await room.enter() }.value
    #expect(await room.count == 12)
  }

  /// Checks that an actor still works after a run that reached its limit of steps. Such a run has
  /// taken a job of the actor, and has to give the job back.
  @Test(isPossible) func anActorIsNotLostWithARunThatIsCutOff() async {
    let room = Room()
    for limit in 1...12 {
      #expect(throws: SimulationFailure.self) {
        try Simulation.run(seed: 1, limit: limit) {
          let tasks = (0..<4).map { _ in
            Task {
              for _ in 0..<8 {
                await room.enter()
                await Task.yield()  // always a step; `enter` is none in a release build if no task uses the actor
              }
            }
          }
          for task in tasks { await task.value }
        }
      }
      await room.enter()
    }
    #expect(await room.count >= 12)
  }

  @Test func workThatLiesOutsideIsNamed() {
    let failure = #expect(throws: SimulationFailure.self) {
      try Simulation.run(seed: 1) { try await Task.sleep(for: .seconds(1_000)) }
    }
    #expect(failure?.description.contains("a clock other than Simulation.clock") == true)
  }
}
