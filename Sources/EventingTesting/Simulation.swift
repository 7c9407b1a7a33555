package import Eventing

/// Runs asynchronous code, and everything that events do because of it, step by step on one thread,
/// in an order that a seed chooses.
///
///     try Simulation.run(seeds: 1...1_000) {
///       let cart = Cart()
///       async let one: Void = cart.add("tea")
///       async let two: Void = cart.checkOut()
///       _ = await (one, two)
///       guard cart.total >= 0 else { throw Wrong() }
///     }
///
/// Another step may come first wherever a task starts, waits or changes its actor, and wherever an
/// event hands an occurrence to a lane. So races show themselves, and a seed shows them again.
///
/// Tasks of all kinds, actors, the main actor, and the queues of events belong to the simulation,
/// as far as ``includesAllTasks`` says. Work that runs elsewhere cannot be ordered: blocks on other
/// queues, `Task.sleep`, and clocks other than ``clock``. A run that has to wait for such work ends
/// with an error. A task that is older than the simulation stays outside, except while it waits for
/// an actor that the simulation uses too: it may go on in a step, when its turn there comes.
///
/// A run blocks the calling thread until it has ended. On the main queue the steps run there.
/// Elsewhere they run on a thread of the simulation, which stands for the main actor: code that is
/// isolated to it runs, one step at a time. If that code touches state that is older than the
/// simulation, run the simulation in a `@MainActor` test, so that other tests keep off that state.
///
/// Running in seeded orders, and priorities that change at random steps, come from PCT (Burckhardt
/// et al., 2010). Visiting every order, by changing the last choice that can be changed, comes from
/// CHESS and Loom.
public enum Simulation {
  /// The way in which the next step is chosen.
  public enum Strategy: Sendable {
    /// Every possible step is equally likely.
    case random
    /// The task with the highest priority goes on. Priorities are random, and change at `changes`
    /// random steps among the first 64. This finds faults that need few but certain changes.
    case priorities(changes: Int)
  }

  /// Whether tasks that name no executor belong to a simulation, and the main actor and its tasks.
  ///
  /// True on Linux, unless the program links Swift's runtime statically. Where this is false, the
  /// main actor lies outside, with asynchronous `.main` handlers. So does a `Task {}` that is not
  /// given `EventContext.executor`.
  public static var includesAllTasks: Bool { RuntimeHooks.areInstalled }

  /// The executor of the simulation that the caller belongs to: `nil` outside of a simulation.
  ///
  /// `EventContext.executor` is this executor, and needs no import of the test tools.
  public static var executor: (any TaskExecutor)? { Simulator.current }

  /// The clock of the simulation that the caller belongs to. It moves to the next sleeper when
  /// nothing else can run. Later posts in the simulation wait for this clock in place of a clock of
  /// the standard library. Outside of a simulation this is a new clock.
  public static var clock: ManualClock { Simulator.current?.clock ?? ManualClock() }

  /// Runs a closure once, in the order that a seed chooses.
  ///
  /// - Parameters:
  ///   - seed: The seed that chooses the order.
  ///   - strategy: The way in which steps are chosen.
  ///   - cancelled: The step before which the task of `body` is cancelled; `nil` for never.
  ///   - limit: The largest number of steps.
  ///   - body: The closure to run, as a task of its own.
  /// - Returns: The order that was taken.
  /// - Throws: A ``SimulationFailure`` with that order, if `body` throws, if it cannot go on, or if
  ///   part of it still runs after `limit` steps.
  @discardableResult public static func run(
    seed: UInt64, by strategy: Strategy = .random, cancelled: Int? = nil, limit: Int = 100_000,
    _ body: @escaping @Sendable () async throws -> Void
  ) throws -> Schedule {
    try Simulator(StepChooser(strategy, seed: seed), seed: seed, strategy).run(cancelled: cancelled, limit: limit, body)
  }

  /// Runs a closure once, in a debug build with a fault planted in the library. Otherwise like the
  /// public method.
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

  /// Runs a closure once, in an order that was taken before.
  ///
  /// - Parameters:
  ///   - schedule: The order, from ``SimulationFailure/schedule`` or written down.
  ///   - limit: The largest number of steps.
  ///   - body: The closure to run, as a task of its own.
  /// - Returns: The order that was taken.
  /// - Throws: A ``SimulationFailure`` as ``run(seed:by:cancelled:limit:_:)`` throws it, or because
  ///   the number of possible steps differs from that of the earlier run.
  @discardableResult public static func replay(
    _ schedule: Schedule, limit: Int = 100_000, _ body: @escaping @Sendable () async throws -> Void
  ) throws -> Schedule {
    try Simulator(StepChooser(schedule.choices), seed: nil).run(cancelled: schedule.cancelled, limit: limit, body)
  }

  /// Runs a closure in every possible order, or in as many orders as allowed.
  ///
  /// The closure must do the same things each time: no clock of its own, no random numbers, no
  /// order of a `Set`. The number of orders grows exponentially with that of the steps, so this is
  /// for a few tasks with a few steps each.
  ///
  /// - Parameters:
  ///   - runs: The largest number of runs.
  ///   - limit: The largest number of steps of a run.
  ///   - body: The closure to run, as a task of its own each time.
  /// - Returns: The number of runs, and whether they were all orders.
  /// - Throws: The ``SimulationFailure`` of the first run that fails.
  @discardableResult public static func explore(
    atMost runs: Int = 100_000, limit: Int = 100_000, _ body: @escaping @Sendable () async throws -> Void
  ) throws -> (runs: Int, isComplete: Bool) {
    var (prefix, count): ([(choice: Int, count: Int)], Int) = ([], 0)
    while count < runs {
      let schedule = try Simulator(StepChooser(prefix), seed: nil).run(limit: limit, body)
      count += 1
      var choices = schedule.choices
      while let last = choices.last, last.choice + 1 >= last.count { choices.removeLast() }
      guard let last = choices.popLast() else { return (count, true) }
      prefix = choices + [(last.choice + 1, last.count)]
    }
    return (count, false)
  }
}

/// The order that a simulation took: for each step, which one was chosen of how many.
public struct Schedule: Sendable, CustomStringConvertible {
  /// The choices, one for each step: the index that was chosen, and the number of possible steps.
  public internal(set) var choices: [(choice: Int, count: Int)] = []
  /// The seed that chose the order, if one did.
  public let seed: UInt64?
  /// The step before which the task of the body was cancelled, if it was.
  public internal(set) var cancelled: Int?
  private let strategy: Simulation.Strategy

  init(seed: UInt64?, _ strategy: Simulation.Strategy) {
    self.seed = seed
    self.strategy = strategy
  }

  /// Creates an order from its ``description``; `nil` if the text is not one.
  ///
  /// - Parameter description: The description of an order.
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

  /// The order as text. `x5 1/3 0/2 …` means: cancelled before step 5; the second of three steps,
  /// the first of two.
  public var description: String {
    ((cancelled.map { ["x\($0)"] } ?? []) + choices.map { "\($0.choice)/\($0.count)" }).joined(separator: " ")
  }

  /// The words that tell how to repeat the run.
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
  /// The error that the body threw; `nil` if the run could not go on.
  public let error: (any Error)?
  /// The order of the steps, for ``Simulation/replay(_:limit:_:)``.
  public let schedule: Schedule
  /// The reason of the failure, and how to repeat it.
  public let description: String

  init(_ error: (any Error)?, _ what: String, _ schedule: Schedule) {
    self.error = error
    self.schedule = schedule
    description = "\(what); \(schedule.again) shows it again"
  }
}
