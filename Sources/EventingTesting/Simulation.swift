package import Eventing

/// Runs asynchronous code, and the work that it causes in events, step by step on one thread. A
/// seed chooses the order of the steps.
///
///     try Simulation.run(seeds: 1...1_000) {
///       let cart = Cart()
///       async let one: Void = cart.add("tea")
///       async let two: Void = cart.checkOut()
///       _ = await (one, two)
///       guard cart.total >= 0 else { throw Wrong() }
///     }
///
/// Wherever a task starts, waits or changes its actor, other steps may run before the task
/// continues. Wherever an event hands an occurrence to a lane, other steps may run before the
/// lane's handler. So a fault that depends on the order can become visible, and the seed repeats
/// it.
///
/// Tasks of all kinds, actors, the main actor and the queues of events belong to the simulation;
/// ``includesAllTasks`` tells the exceptions. Work that runs elsewhere cannot be ordered: blocks on
/// other queues, `Task.sleep`, and clocks other than ``clock``. A run that has to wait for such
/// work ends with an error. A task that was created before the simulation stays outside, with one
/// exception: if the task waits for an actor on which code of the simulation runs, the task may
/// continue in a step of the simulation.
///
/// A run blocks the calling thread until it has ended. A run that is started on the main queue runs
/// its steps there. Any other run has a thread for its steps, which stands for the main actor: code
/// that is isolated to the main actor runs there, one step at a time. If that code uses state from
/// before the simulation, run the simulation in a `@MainActor` test, so that other tests do not
/// touch the state.
///
/// ``Strategy/priorities(changes:)`` is the algorithm PCT (Burckhardt et al., 2010).
/// ``explore(atMost:limit:_:)`` searches as CHESS and Loom do: each run changes the last choice
/// that can be changed.
public enum Simulation {
  /// The way in which the next step is chosen.
  public enum Strategy: Sendable {
    /// Every step that can run next is equally likely.
    case random
    /// Each task has a random priority. Of the tasks that can continue, the task with the highest
    /// priority does. Before each of up to `changes` random steps among the first 64, the task with
    /// the highest priority gets the lowest priority. Then another task continues, if another one
    /// can. This strategy finds faults that need a few particular switches between tasks.
    case priorities(changes: Int)
  }

  /// Whether simulations include the main actor with its tasks, and tasks that name no executor.
  ///
  /// True on Linux, unless the program links Swift's runtime statically. If false, the main actor
  /// lies outside of the simulation, and so do asynchronous `.main` handlers. A `Task {}` without
  /// `EventContext.executor` lies outside, too.
  public static var includesAllTasks: Bool { RuntimeHooks.areInstalled }

  /// The executor of the simulation that the caller belongs to: `nil` outside of a simulation.
  ///
  /// Library code that does not import the test tools uses the equal value `EventContext.executor`.
  public static var executor: (any TaskExecutor)? { Simulator.current }

  /// The clock of the simulation that the caller belongs to. The clock moves to the next sleeper
  /// when nothing else can run. In the simulation, a delayed post uses this clock instead of a
  /// clock of the standard library. Outside of a simulation, each read returns a new clock.
  public static var clock: ManualClock { Simulator.current?.clock ?? ManualClock() }

  /// Runs a closure once, in the order that a seed chooses.
  ///
  /// - Parameters:
  ///   - seed: The seed that chooses the order.
  ///   - strategy: The way in which steps are chosen.
  ///   - cancelled: The step before which the task of `body` is cancelled; `nil` for never.
  ///   - limit: The largest number of steps.
  ///   - body: The closure to run, as a task of its own.
  /// - Returns: The order of the steps.
  /// - Throws: A ``SimulationFailure`` with that order, if `body` throws or cannot continue, or if
  ///   part of it still runs after `limit` steps.
  @discardableResult public static func run(
    seed: UInt64, by strategy: Strategy = .random, cancelled: Int? = nil, limit: Int = 100_000,
    _ body: @escaping @Sendable () async throws -> Void
  ) throws -> Schedule {
    try Simulator(StepChooser(strategy, seed: seed), seed: seed, strategy).run(cancelled: cancelled, limit: limit, body)
  }

  /// In a debug build, the library has the planted fault `mutant` during the run.
  @discardableResult package static func run(
    seed: UInt64, by strategy: Strategy = .random, mutant: Mutant, limit: Int = 20_000,
    _ body: @escaping @Sendable () async throws -> Void
  ) throws -> Schedule {
    try Simulator(StepChooser(strategy, seed: seed), seed: seed, strategy, mutant: mutant).run(limit: limit, body)
  }

  /// Runs a closure once for each seed, as ``run(seed:by:cancelled:limit:_:)`` does.
  ///
  /// - Parameters:
  ///   - seeds: The seeds, one for each run.
  ///   - strategy: The way in which steps are chosen.
  ///   - limit: The largest number of steps of a run.
  ///   - body: The closure to run, as a task of its own each time.
  /// - Throws: The ``SimulationFailure`` of the first run that fails.
  public static func run(
    seeds: ClosedRange<UInt64>, by strategy: Strategy = .random, limit: Int = 100_000,
    _ body: @escaping @Sendable () async throws -> Void
  ) throws {
    for seed in seeds { try run(seed: seed, by: strategy, limit: limit, body) }
  }

  /// Runs a closure once, in the order of an earlier run.
  ///
  /// - Parameters:
  ///   - schedule: The order, from ``SimulationFailure/schedule`` or from its description.
  ///   - limit: The largest number of steps.
  ///   - body: The closure to run, as a task of its own.
  /// - Returns: The order of the steps.
  /// - Throws: A ``SimulationFailure`` as ``run(seed:by:cancelled:limit:_:)`` throws it. The method
  ///   also throws one if, at some step, more or fewer steps can run than in the earlier run.
  @discardableResult public static func replay(
    _ schedule: Schedule, limit: Int = 100_000, _ body: @escaping @Sendable () async throws -> Void
  ) throws -> Schedule {
    try Simulator(StepChooser(schedule.choices), seed: nil).run(cancelled: schedule.cancelled, limit: limit, body)
  }
}

/// The order of the steps of a simulation. For each step, the schedule has the number of steps that
/// could run then, and the index of the one that ran.
public struct Schedule: Sendable, CustomStringConvertible {
  /// The choices, one for each step: the index of the chosen step among the steps that could run,
  /// and the number of these.
  public internal(set) var choices: [(choice: Int, count: Int)] = []
  /// The seed that chose the order; `nil` for an order that was replayed or explored.
  public let seed: UInt64?
  /// The step before which the task of the body was cancelled, if it was.
  public internal(set) var cancelled: Int?
  private let strategy: Simulation.Strategy

  init(seed: UInt64?, _ strategy: Simulation.Strategy) {
    self.seed = seed
    self.strategy = strategy
  }

  /// Creates a schedule, the order of the steps of a simulation, from its ``description``. Returns
  /// `nil` if the text describes no schedule.
  ///
  /// - Parameter description: The description of a schedule.
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

  /// The order as text. In `x5 1/3 0/2`, `x5` means that the task was cancelled before step 5.
  /// `1/3` is the second of three steps that could run, and `0/2` the first of two.
  public var description: String {
    ((cancelled.map { ["x\($0)"] } ?? []) + choices.map { "\($0.choice)/\($0.count)" }).joined(separator: " ")
  }

  fileprivate var again: String {
    guard let seed else { return "the order \(self)" }
    var words = ["seed \(seed)"]
    if case .priorities(let changes) = strategy { words.append("by .priorities(changes: \(changes))") }
    if let cancelled { words.append("with cancelled: \(cancelled)") }
    return words.joined(separator: " ")
  }
}

/// A failed run of a simulation, with the order that it took.
public struct SimulationFailure: Error, CustomStringConvertible {
  /// The error that the body threw; `nil` if the run failed for another reason.
  public let error: (any Error)?
  /// The order of the steps, for ``Simulation/replay(_:limit:_:)``.
  public let schedule: Schedule
  /// The reason for the failure, and how to repeat it.
  public let description: String

  init(_ error: (any Error)?, _ what: String, _ schedule: Schedule) {
    self.error = error
    self.schedule = schedule
    description = "\(what); \(schedule.again) shows it again"
  }
}
