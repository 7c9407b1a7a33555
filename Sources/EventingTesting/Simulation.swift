package import Eventing

/// Runs a piece of asynchronous code, and all that events do because of it, one step after the other on one thread, in an order that a seed chooses.
///
///     try Simulation.run(seeds: 1...1_000) {
///       let cart = Cart()
///       async let one: Void = cart.add("tea")
///       async let two: Void = cart.checkOut()
///       _ = await (one, two)
///       guard cart.total >= 0 else { throw Wrong() }
///     }
///
/// Wherever a task starts, waits, or changes its actor, and wherever an event hands something to a lane, another step may come first; so races show themselves, and a seed
/// shows them again. Child tasks belong to the simulation, and the tasks and queues of events; `Task {}` does if it is given ``executor``. What runs elsewhere, as
/// asynchronous handlers on `.main` do, cannot be ordered: a run that has to wait for it ends with an error. Synchronous handlers on `.main` run as steps of their own.
///
/// The idea, and that of priorities that change at random steps, are those of PCT (Burckhardt et al., 2010); looking at every order by running again and again with another choice
/// at the last place where there is one is that of CHESS and Loom.
public enum Simulation {
  /// How the next step is chosen.
  public enum Strategy: Sendable {
    /// Any, each with the same chance.
    case random
    /// The one of the task with the highest of priorities that are given at random, and changed at `changes` random steps of the first 64: finds what needs few, but certain, changes.
    case priorities(changes: Int)
  }

  /// Where tasks run that shall belong to the simulation: `Task(executorPreference: Simulation.executor) { … }`. `nil` outside of one.
  public static var executor: (any TaskExecutor)? { Simulator.current }

  /// The clock of the simulation that the caller belongs to: it moves to the next sleeper when nothing else can run. A new one outside of a simulation.
  public static var clock: ManualClock { Simulator.current?.clock ?? ManualClock() }

  /// Runs it once.
  ///
  /// - Parameters:
  ///   - seed: chooses the order.
  ///   - strategy: how.
  ///   - cancelled: the step before which the task of `body` is cancelled; `nil` for never.
  ///   - limit: how many steps it may take.
  ///   - body: what is run, a task of its own.
  /// - Returns: the order that was taken.
  /// - Throws: ``SimulationFailure`` with that order, if `body` throws, or cannot go on, or if something of it still runs after `limit` steps.
  @discardableResult public static func run(
    seed: UInt64, by strategy: Strategy = .random, cancelled: Int? = nil, limit: Int = 100_000,
    _ body: @escaping @Sendable () async throws -> Void
  ) throws -> Schedule {
    try Simulator(Chooser(strategy, seed: seed), seed: seed, strategy).run(cancelled: cancelled, limit: limit, body)
  }

  /// Runs it once with a fault planted in the library, if that is a debug build.
  @discardableResult package static func run(
    seed: UInt64, by strategy: Strategy = .random, mutant: Mutant, limit: Int = 20_000,
    _ body: @escaping @Sendable () async throws -> Void
  ) throws -> Schedule {
    try Simulator(Chooser(strategy, seed: seed), seed: seed, strategy, mutant: mutant).run(limit: limit, body)
  }

  /// Runs it once with each seed; throws at the first that fails.
  public static func run(
    seeds: ClosedRange<UInt64>, by strategy: Strategy = .random, limit: Int = 100_000,
    _ body: @escaping @Sendable () async throws -> Void
  ) throws {
    for seed in seeds { try run(seed: seed, by: strategy, limit: limit, body) }
  }

  /// Runs it in an order that was taken before; throws if there is not the same to choose from.
  @discardableResult public static func replay(
    _ schedule: Schedule, limit: Int = 100_000, _ body: @escaping @Sendable () async throws -> Void
  ) throws -> Schedule {
    try Simulator(Chooser(schedule.choices), seed: nil).run(cancelled: schedule.cancelled, limit: limit, body)
  }

  /// Runs it in every order that there is, or in as many as allowed; throws at the first that fails.
  ///
  /// `body` has to do the same each time: no clock, no random numbers, no order of a `Set`.
  /// - Returns: how many, and whether that was all.
  @discardableResult public static func explore(
    atMost runs: Int = 100_000, limit: Int = 100_000, _ body: @escaping @Sendable () async throws -> Void
  ) throws -> (runs: Int, isComplete: Bool) {
    var (prefix, count): ([(choice: Int, count: Int)], Int) = ([], 0)
    while count < runs {
      let schedule = try Simulator(Chooser(prefix), seed: nil).run(limit: limit, body)
      count += 1
      var choices = schedule.choices
      while let last = choices.last, last.choice + 1 >= last.count { choices.removeLast() }
      guard let last = choices.popLast() else { return (count, true) }
      prefix = choices + [(last.choice + 1, last.count)]
    }
    return (count, false)
  }
}

/// The order that a simulation took: at each step, which of how many.
public struct Schedule: Sendable, CustomStringConvertible {
  /// The choices, one a step.
  public internal(set) var choices: [(choice: Int, count: Int)] = []
  /// What chose, if it was a seed.
  public let seed: UInt64?
  /// Before which step the task of the body was cancelled, if it was.
  public internal(set) var cancelled: Int?
  private let strategy: Simulation.Strategy

  init(seed: UInt64?, _ strategy: Simulation.Strategy) {
    self.seed = seed
    self.strategy = strategy
  }

  /// An order that was written down: the description of one.
  public init?(_ description: some StringProtocol) {
    self.init(seed: nil, .random)
    for part in description.split(separator: " ") {
      if part.first == "x" {
        guard let step = Int(part.dropFirst()), cancelled == nil else { return nil }
        cancelled = step
        continue
      }
      let numbers = part.split(separator: "/").map { Int($0) }
      guard numbers.count == 2, let choice = numbers[0], let count = numbers[1], 0 <= choice, choice < count else {
        return nil
      }
      choices.append((choice, count))
    }
  }

  /// `x5 1/3 0/2 …`: cancelled before step 5; the second of three, the first of two.
  public var description: String {
    ((cancelled.map { ["x\($0)"] } ?? []) + choices.map { "\($0.choice)/\($0.count)" }).joined(separator: " ")
  }

  /// What shows it again.
  fileprivate var again: String {
    guard let seed else { return "the order \(self)" }
    var words = ["seed \(seed)"]
    if case .priorities(let changes) = strategy { words.append("by .priorities(changes: \(changes))") }
    if let cancelled { words.append("with cancelled: \(cancelled)") }
    return words.joined(separator: " ")
  }
}

/// What went wrong in a simulation, and in which order.
public struct SimulationFailure: Error, CustomStringConvertible {
  /// What was thrown; `nil` if it could not go on.
  public let error: (any Error)?
  /// The order.
  public let schedule: Schedule
  /// What, and how to see it again.
  public let description: String

  init(_ error: (any Error)?, _ what: String, _ schedule: Schedule) {
    self.error = error
    self.schedule = schedule
    description = "\(what); \(schedule.again) shows it again"
  }
}
