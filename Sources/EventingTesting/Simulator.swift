import Dispatch
import Eventing
import Synchronization

/// One run of a simulation: a queue of steps, and one thread that runs them.
// Safe: all state is touched by the thread that runs the simulation; work from other threads is
// refused.
final class Simulator: TaskExecutor, SimulatedScheduling, @unchecked Sendable {
  private enum Step {
    case job(UnownedJob)
    case block(isMain: Bool, @Sendable () -> Void)
  }

  let clock = ManualClock()
  let delayQueues = DelayQueueTable()
  var delayClock: any Clock<Duration> { clock }
  let mutant: Mutant?
  private var owner = Thread.current
  private var chooser: Chooser
  private var schedule: Schedule
  private var ready: [(id: UInt64, step: Step)] = []
  /// The numbers of the serial queues: steps of one queue, and of the main queue, keep their order.
  /// The queues are retained, so that none gets the address of an earlier one.
  private var queues: [ObjectIdentifier: (queue: DispatchQueue, id: UInt64)] = [:]
  /// The number of the main queue, above the numbers of all tasks.
  private static let main = UInt64(1) << 48
  private var lastBlock = Simulator.main
  private(set) var isInMainBlock = false
  /// Whether work came from another thread.
  private let isForeign = Atomic<Bool>(false)

  init(_ chooser: Chooser, seed: UInt64?, _ strategy: Simulation.Strategy = .random, mutant: Mutant? = nil) {
    self.mutant = mutant
    self.chooser = chooser
    schedule = Schedule(seed: seed, strategy)
  }

  static var current: Simulator? { Scheduling.simulation as? Simulator }

  // MARK: Adding steps

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    guard isOwn else { return }
    ready.append((TaskID.of(job), .job(job)))
  }

  func schedule(_ body: @escaping @Sendable () -> Void, on queue: DispatchQueue?, isMain: Bool) {
    guard isOwn else { return }
    var id = isMain ? Simulator.main : lastBlock + 1
    if let queue {
      id = queues[ObjectIdentifier(queue)]?.id ?? id
      queues[ObjectIdentifier(queue)] = (queue, id)
    }
    lastBlock = max(lastBlock, id)
    ready.append((id, .block(isMain: isMain, body)))
  }

  private var isOwn: Bool {
    if Thread.current == owner { return true }
    isForeign.publish(true)
    return false
  }

  // MARK: Running

  func run(cancelled: Int? = nil, limit: Int, _ body: @escaping @Sendable () async throws -> Void) throws -> Schedule {
    // The test runs on the main actor, so handlers on `.main` run here.
    if Scheduling.isOnMainQueue { return try runHere(cancelled, limit, body) }
    // Otherwise on a thread without a task. Called on this one, the steps would be taken for steps
    // of the caller's task.
    let (result, ended) = (Outcome<Schedule>(), DispatchSemaphore(value: 0))
    DispatchQueue(label: "simulation").async { [self] in
      owner = Thread.current
      result.result = Result { try runHere(cancelled, limit, body) }
      ended.signal()
    }
    ended.wait()
    guard let result = result.result else { preconditionFailure("the simulation has run") }
    return try result.get()
  }

  private func runHere(_ cancelled: Int?, _ limit: Int, _ body: @escaping @Sendable () async throws -> Void) throws
    -> Schedule
  {
    let outcome = Outcome<Void>()
    schedule.cancelled = cancelled
    Scheduling.simulations.wrappingAdd(1, ordering: .relaxed)
    defer { Scheduling.simulations.wrappingSubtract(1, ordering: .relaxed) }
    let task = Task.detached(executorPreference: self) {
      await Scheduling.$simulation.withValue(self) {
        do {
          try await body()
          outcome.result = .success(())
        } catch {
          outcome.result = .failure(error)
        }
      }
    }
    var isTheSame = true
    Scheduling.$simulation.withValue(self) {
      while isTheSame, !ready.isEmpty || (outcome.result == nil && clock.advanceToNext()),
        schedule.choices.count < limit
      {
        if schedule.choices.count == cancelled { task.cancel() }
        if !ready.isEmpty { isTheSame = takeStep() }
      }
    }
    func failure(_ what: String) -> SimulationFailure { SimulationFailure(nil, what, schedule) }
    if isForeign.load(ordering: .acquiring) {
      throw failure(
        "something came back from outside of the simulation: a main-actor call, another queue, or a clock of its own")
    }
    if !isTheSame {
      throw failure(
        "the body did something else than in the run before: after \(schedule.choices.count) steps not as many could be chosen from"
      )
    }
    switch outcome.result {
    case .failure(let error): throw SimulationFailure(error, "\(error)", schedule)
    case .success where ready.isEmpty: return schedule
    case .success: throw failure("the body has ended, but after \(limit) steps something of it still runs")
    case nil where ready.isEmpty:
      throw failure(
        "nothing can run any more, and the body has not ended: it waits for itself, or for something outside of the simulation (a Task {} without Simulation.executor, an asynchronous handler on .main, another queue, a clock other than Simulation.clock)"
      )
    case nil: throw failure("the body has not ended after \(limit) steps")
    }
  }

  /// Runs the next step.
  ///
  /// - Returns: `false` if the number of possible steps differs from that of the earlier run.
  private func takeStep() -> Bool {
    // Only the first block of each queue may run.
    var seen: Set<UInt64> = []
    let eligible = ready.indices.filter { index in
      if case .block = ready[index].step { seen.insert(ready[index].id).inserted } else { true }
    }
    guard let choice = chooser.choose(eligible.map { ready[$0].id }) else { return false }
    schedule.choices.append((choice, eligible.count))
    switch ready.remove(at: eligible[choice]).step {
    case .job(let job): unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    case .block(let isMain, let body):
      isInMainBlock = isMain
      body()
      isInMainBlock = false
    }
    return true
  }

  // Safe: written by the thread that runs the simulation, and read by its caller after the run.
  private final class Outcome<Value>: @unchecked Sendable {
    var result: Result<Value, any Error>?
  }
}
