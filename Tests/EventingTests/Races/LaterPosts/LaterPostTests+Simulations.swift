import Eventing
import EventingTesting
import Testing

/// Tests of later posts in simulations: small programs in every order of their steps, and the
/// simulation's clock in place of the real ones.
extension LaterPostTests {
  private struct Wrong: Error, CustomStringConvertible {
    let description: String
  }

  private enum Step: Sendable {
    case post(Int), cancel, finish, lock, add
  }

  /// Small programs. Each is a list of tasks, and each task a list of steps. Before the tasks of a
  /// program begin, `run(_:)` posts 1 with a delay of 1 s, and 2 with a delay of 2 s.
  private static let programs: [[[Step]]] = [
    [[.cancel]], [[.finish]], [[.cancel], [.cancel]], [[.cancel], [.finish]], [[.post(3)], [.cancel]],
    [[.post(3)], [.post(4)]], [[.post(3), .finish]], [[.lock], [.cancel]], [[.add], [.post(3)]],
  ]

  @Test(arguments: LaterPostTests.programs.indices) func everyOrderOfASmallProgramKeepsThePromise(program: Int)
    async throws
  {
    let tasks = LaterPostTests.programs[program]
    let explored = try await onThread {
      Result { try Simulation.explore(atMost: 20_000) { try await LaterPostTests.run(tasks) } }
    }.get()
    #expect(explored.isComplete && explored.runs > 1, "\(explored.runs) orders")
  }

  /// Runs a program. A cancelled post must never be made. Posts must be made in the order of their
  /// deadlines, and none twice. Unless the program finishes the event, post 2 must be made, and
  /// post 1 if it is not cancelled.
  private static func run(_ tasks: [[Step]]) async throws {
    let (event, seen, clock, start) = (Event<Int>(), Recorder<Int>(), Simulation.clock, Simulation.clock.now)
    let token = event.addHandler { seen.record($0) }
    let first = event.post(1, after: .seconds(1), clock: clock)
    event.post(2, after: .seconds(2), clock: clock)
    let (cancelled, posts) = (Recorder<Int>(), Recorder<ScheduledPost>())
    var isFinished = false
    await withTaskGroup(of: Void.self) { group in
      for steps in tasks {
        group.addTask {
          try? await clock.sleep(until: start.advanced(by: .seconds(1)))
          for step in steps {
            switch step {
            case .post(let number): posts.record(event.post(number, after: .milliseconds(number), clock: clock))
            case .cancel: if first.cancel() { cancelled.record(1) }
            case .finish: event.finish()
            case .lock:
              event.lock(token, holding: .oldest(100))
              await Task.yield()
              event.unlock(token)
            case .add: event.once { _ in }
            }
          }
        }
      }
    }
    isFinished = event.post(9, after: .zero, clock: clock).cancel() == false
    try? await clock.sleep(until: start.advanced(by: .seconds(3)))
    await event.quiesce()
    let values = seen.values
    func check(_ isTrue: Bool, _ what: String) throws {
      if !isTrue { throw Wrong(description: "\(what): \(values), cancelled \(cancelled.values)") }
    }
    try check(values.contains(1) || cancelled.count == 1 || isFinished, "1 is lost")
    try check(!values.contains(1) || cancelled.count == 0, "1 was cancelled and posted")
    try check(cancelled.count <= 1, "1 was cancelled twice")
    try check(Set(values).count == values.count, "a post came twice")
    try check(isFinished || values.contains(2), "2 is lost")
    // The posts 3 and 4 are due some milliseconds after the first second.
    try check(values == values.sorted { LaterPostTests.due($0) < LaterPostTests.due($1) }, "out of order")
    try check(posts.values.allSatisfy { !$0.cancel() }, "still waiting")
    try check(clock.sleeperCount == 0, "a timer is left")
  }

  private static func due(_ number: Int) -> Int { number < 3 ? 1_000 * number : 1_000 + number }

  @Test func inASimulationTheClocksOfTheStandardLibraryAreItsOwn() throws {
    try Simulation.run(seeds: 1...50) {
      let (event, start) = (Event<Int>(), Simulation.clock.now)
      event.post(1, after: .seconds(3_600))
      event.post(2, after: .seconds(7_200), clock: SuspendingClock())
      var received: [Int] = []
      for await number in event.payloads(buffering: .unbounded) {
        received.append(number)
        if number == 2 { break }
      }
      let passed = start.duration(to: Simulation.clock.now)
      guard received == [1, 2], passed == .seconds(7_200) else { throw Wrong(description: "\(received), \(passed)") }
    }
  }

  @Test func aSeedRepeatsTheOrderOfLaterPosts() throws {
    let program: @Sendable () async throws -> Void = {
      let event = Event<Int>()
      event.addHandler(on: .inOrder) { _ in }
      for number in 0..<5 { event.post(number, after: .seconds(number % 2)) }
      try? await Simulation.clock.sleep(until: Simulation.clock.now.advanced(by: .seconds(2)))
      await event.quiesce()
    }
    for seed in 1...50 as ClosedRange<UInt64> {
      let orders = try (0..<2).map { _ in try Simulation.run(seed: seed, program).description }
      #expect(orders[0] == orders[1])
    }
  }
}
