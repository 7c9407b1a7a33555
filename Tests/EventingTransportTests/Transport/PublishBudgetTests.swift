import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of the budget of an engine: the room for messages that are not sent or stored yet.
/// Publishers that wait for room get it in the order in which they began to wait. The work for all
/// of them is linear in their number.
@Suite(.timeLimit(.minutes(10))) struct PublishBudgetTests {
  /// Starts tasks that ask a full budget for room, and returns the tasks when all of them wait for
  /// it.
  private static func wait(
    _ budget: PublishBudget, _ count: Int, cost: Int = 1, until deadline: ContinuousClock.Instant, _ notes: Notes<Int>
  ) async -> [Task<Bool, Never>] {
    var tasks: [Task<Bool, Never>] = []
    for number in 0..<count {
      let before = budget.waiterCount
      tasks.append(
        Task(executorPreference: EventContext.executor) {
          let isTaken = await budget.take(cost, until: deadline)
          if isTaken { notes.note(number) }
          return isTaken
        })
      while budget.waiterCount == before { await Task.yield() }
    }
    return tasks
  }

  @Test func theWorkForManyWaitersIsLinear() throws {
    try Simulation.run(seed: 1, limit: 1_000_000) {
      let (budget, notes) = (PublishBudget(), Notes<Int>())
      let isTaken = await budget.take(PublishBudget.total, until: .now)
      try require(isTaken, "no room in an empty budget")
      let tasks = await Self.wait(budget, 2_000, until: .now + .seconds(1_000), notes)
      for _ in 0..<2_000 {
        budget.expire(.now)
        budget.give(1)
      }
      for task in tasks { _ = await task.value }
      try require(notes.count == 2_000 && !budget.hasWaiters, "\(notes.count) of 2000")
      try require(budget.looks <= 3 * 2_000, "\(budget.looks) looks at 2000 waiters")
    }
  }

  @Test func waitersAreServedInOrderAndEndWithTheirTime() throws {
    try Simulation.run(seeds: 1...20) {
      let (budget, notes, late) = (PublishBudget(), Notes<Int>(), Notes<Int>())
      let now = ContinuousClock.now
      _ = await budget.take(PublishBudget.total, until: now)
      let large = await Self.wait(budget, 1, cost: 100, until: now + .seconds(1), late)
      let small = await Self.wait(budget, 5, until: now + .seconds(9), notes)
      budget.give(5)
      try require(budget.waiterCount == 6, "a small message overtook a large one")
      budget.expire(now + .seconds(2))
      for task in small { _ = await task.value }
      let isTaken = await large[0].value
      try require(!isTaken && Set(notes.values) == Set(0..<5), "\(notes.values)")
      let (later, inTurn) = (Notes<Int>(), 0..<5)
      let equal = await Self.wait(budget, inTurn.count, until: now + .seconds(9), later)
      for number in inTurn {
        budget.give(1)
        _ = await equal[number].value
        try require(later.values == Array(0...number), "\(later.values)")
      }
      let rest = await Self.wait(budget, 3, until: now + .seconds(9), notes)
      budget.expire(nil)
      for task in rest { try require(await task.value == false, "a wait that did not end") }
    }
  }
}
