import Eventing
import Synchronization

/// One run of a simulation: a queue of steps, and one thread that takes them out.
// Safe: all is touched on the thread that runs it; what comes from another one is refused.
final class Simulator: TaskExecutor, SimulatedScheduling, @unchecked Sendable {
  private enum Step {
    case job(UnownedJob)
    case block(isMain: Bool, @Sendable () -> Void)
  }

  let clock = ManualClock()
  let mutant: Mutant?
  private let owner = Thread.current
  private var chooser: Chooser
  private var schedule: Schedule
  private var ready: [(id: UInt64, step: Step)] = []
  private var lastBlock = UInt64(1) << 48
  private(set) var isInMainBlock = false
  /// Something came from another thread.
  private let isForeign = Atomic<Bool>(false)

  init(_ chooser: Chooser, seed: UInt64?, mutant: Mutant? = nil) {
    self.mutant = mutant
    self.chooser = chooser
    schedule = Schedule(seed: seed)
  }

  static var current: Simulator? { Scheduling.simulation as? Simulator }

  // MARK: What has to run

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    guard isOwn else { return }
    ready.append((TaskNumber.of(job), .job(job)))
  }

  func schedule(_ body: @escaping @Sendable () -> Void, isMain: Bool) {
    guard isOwn else { return }
    lastBlock += 1
    ready.append((isMain ? 0 : lastBlock, .block(isMain: isMain, body)))
  }

  private var isOwn: Bool {
    if Thread.current == owner { return true }
    isForeign.store(true, ordering: .releasing)
    return false
  }

  // MARK: Running

  func run(cancelled: Int? = nil, limit: Int, _ body: @escaping @Sendable () async throws -> Void) throws -> Schedule {
    let outcome = Outcome()
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
    Scheduling.$simulation.withValue(self) {
      while !ready.isEmpty || (outcome.result == nil && clock.advanceToNext()), schedule.choices.count < limit {
        if schedule.choices.count == cancelled { task.cancel() }
        if !ready.isEmpty { takeStep() }
      }
    }
    if isForeign.load(ordering: .acquiring) {
      throw SimulationFailure(
        nil, "something came back from outside of the simulation: a main-actor call, another queue, or a clock of its own", schedule)
    }
    switch outcome.result {
    case .success: break
    case .failure(let error): throw SimulationFailure(error, "\(error)", schedule)
    case nil where ready.isEmpty:
      throw SimulationFailure(
        nil,
        "nothing can run any more, and the body has not ended: it waits for itself, or for something outside of the simulation (an asynchronous handler on .main, another queue, a clock other than Simulation.clock)",
        schedule)
    case nil: throw SimulationFailure(nil, "the body has not ended after \(limit) steps", schedule)
    }
    return schedule
  }

  private func takeStep() {
    let choice = chooser.choose(ready.map(\.id))
    schedule.choices.append((choice, ready.count))
    switch ready.remove(at: choice).step {
    case .job(let job): unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    case .block(let isMain, let body):
      isInMainBlock = isMain
      body()
      isInMainBlock = false
    }
  }

  // Safe: as the simulator.
  private final class Outcome: @unchecked Sendable {
    var result: Result<Void, any Error>?
  }
}
