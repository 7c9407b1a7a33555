import Dispatch
import Eventing
import Synchronization

/// One run: a queue of steps, and one thread that runs them.
// Safe: only the thread that runs the simulation touches the state. `isOwn` refuses work from other
// threads.
final class Simulator: TaskExecutor, SimulatedScheduling, @unchecked Sendable {
  private enum Step {
    /// A borrowed job was first enqueued on Swift's global executor.
    case job(UnownedJob, isBorrowed: Bool)
    case mainJob(UnownedJob)
    case block(isMain: Bool, @Sendable () -> Void)

    /// The step must run after all earlier ones of its queue, or of the main actor.
    var isOrdered: Bool { if case .job = self { false } else { true } }
  }

  let clock = ManualClock()
  let delayQueues = TimerQueueTable()
  var delayClock: any Clock<Duration> { clock }
  let mutant: Mutant?
  private var owner = Thread.current
  private var chooser: StepChooser
  private var schedule: Schedule
  private var ready: [(id: UInt64, step: Step)] = []
  /// Steps of one queue run in order. The queues are retained, so that no new one gets the address
  /// of an earlier one.
  private var queues: [ObjectIdentifier: (queue: DispatchQueue, id: UInt64)] = [:]
  /// The number is above those of all tasks.
  private static let main = UInt64(1) << 48
  private var lastBlock = Simulator.main
  private(set) var isInMainBlock = false
  /// The number of the body's task. Tasks with lower numbers are older than the simulation.
  private var firstTask = UInt64.max
  /// Their preferred executor is the simulation.
  private var preferring: Set<UInt64> = []
  /// They wait until nothing else can run.
  private var idlers: [Idler] = []
  @safe private struct Idler {
    let continuation: UnsafeContinuation<Void, Never>
  }
  /// Another thread tried to add a step.
  private let isForeign = Atomic<Bool>(false)

  init(_ chooser: StepChooser, seed: UInt64?, _ strategy: Simulation.Strategy = .random, mutant: Mutant? = nil) {
    self.mutant = mutant
    self.chooser = chooser
    schedule = Schedule(seed: seed, strategy)
  }

  static var current: Simulator? { Scheduling.currentSimulation as? Simulator }

  // MARK: Adding steps

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    guard isOwn else { return }
    let id = TaskID.of(job)
    if firstTask == .max { firstTask = id }
    preferring.insert(id)
    ready.append((id, .job(job, isBorrowed: false)))
  }

  /// The job of a task without a preference, or of an actor. False if its task was created before
  /// the simulation.
  func borrow(_ job: UnownedJob) -> Bool {
    let id = TaskID.of(job)
    guard id == 0 || id > firstTask else { return false }
    ready.append((id, .job(job, isBorrowed: true)))
    return true
  }

  func enqueueMain(_ job: UnownedJob) { ready.append((Simulator.main, .mainJob(job))) }

  /// If the task prefers this executor, the job runs with that preference. Otherwise the task would
  /// need a further step to continue here.
  private func runMain(_ job: UnownedJob) {
    let main = unsafe RuntimeHooks.mainExecutor
    if preferring.contains(TaskID.of(job)) {
      unsafe job.runSynchronously(isolatedTo: main, taskExecutor: asUnownedTaskExecutor())
    } else {
      unsafe job.runSynchronously(on: main)
    }
  }

  func idle() async {
    unsafe await withUnsafeContinuation { continuation in
      if isOwn { idlers.append(unsafe Idler(continuation: continuation)) } else { unsafe continuation.resume() }
    }
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
    // If the caller is on the main queue, the steps run on its thread, because code of the main
    // actor belongs there.
    if Scheduling.isOnMainQueue { return try runHere(cancelled, limit, body) }
    // A caller that is not on the main queue waits while the steps run on the thread of a new
    // queue, on which no task runs. On the caller's thread the runtime would take them for steps of
    // the caller's task.
    let (result, ended) = (ResultBox<Schedule>(), DispatchSemaphore(value: 0))
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
    let outcome = ResultBox<Void>()
    schedule.cancelled = cancelled
    RuntimeHooks.install()
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
    Scheduling.run(self) {
      while isTheSame, !ready.isEmpty || resumeIdlers() || (outcome.result == nil && clock.advanceToNext()),
        schedule.choices.count < limit
      {
        if schedule.choices.count == cancelled { task.cancel() }
        if !ready.isEmpty { isTheSame = takeStep() }
      }
    }
    returnBorrowed()
    func failure(_ what: String) -> SimulationFailure { SimulationFailure(nil, what, schedule) }
    if isForeign.load(ordering: .acquiring) {
      throw failure(
        "something came back from outside of the simulation: \(RuntimeHooks.whatLiesOutside)")
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
        "nothing can run any more, and the body has not ended: it waits for itself, or for something outside of the simulation (\(RuntimeHooks.whatLiesOutside))"
      )
    case nil: throw failure("the body has not ended after \(limit) steps")
    }
  }

  /// `false`, without a step, if the number of eligible steps differs from that of the run that
  /// this one repeats.
  private func takeStep() -> Bool {
    // Only the first step of each queue, and of the main actor, is eligible.
    var seen: Set<UInt64> = []
    let eligible = ready.indices.filter { index in
      !ready[index].step.isOrdered || seen.insert(ready[index].id).inserted
    }
    guard let choice = chooser.choose(eligible.map { ready[$0].id }) else { return false }
    schedule.choices.append((choice, eligible.count))
    switch ready.remove(at: eligible[choice]).step {
    case .job(let job, _): unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    case .mainJob(let job):
      isInMainBlock = true
      runMain(job)
      isInMainBlock = false
    case .block(let isMain, let body):
      isInMainBlock = isMain
      body()
      isInMainBlock = false
    }
    return true
  }

  private func resumeIdlers() -> Bool {
    let resumed = idlers
    idlers = []
    for idler in resumed { unsafe idler.continuation.resume() }
    return !resumed.isEmpty
  }

  /// Code outside of the simulation may use the actors. Jobs of tasks are not given back, so a task
  /// that outlives the simulation never continues.
  private func returnBorrowed() {
    for case (0, .job(let job, isBorrowed: true)) in ready { globalConcurrentExecutor.enqueue(job) }
    ready.removeAll { if case (0, .job(_, isBorrowed: true)) = $0 { true } else { false } }
  }

  // Safe: only the thread that runs the simulation writes `result`. If another thread called `run`,
  // that thread reads `result` only after its wait for the end of the simulation.
  private final class ResultBox<Value>: @unchecked Sendable {
    var result: Result<Value, any Error>?
  }
}
