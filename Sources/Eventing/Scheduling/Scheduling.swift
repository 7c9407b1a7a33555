public import Dispatch

/// The work of a task that a lane starts, as a value: see ``Scheduling/task(priority:on:for:)``.
protocol TaskWork: Sendable {
  func run() async
}

/// The only place in the package that starts tasks and schedules blocks.
@usableFromInline package enum Scheduling {
  /// The executor for the tasks of handlers that are added while it is bound. Tests bind one.
  @TaskLocal package static var executor: (any TaskExecutor)?

  /// The simulation that takes over all scheduling in the tasks where it is bound.
  @TaskLocal package static var simulation: (any SimulatedScheduling)?

  /// Whether the calling task belongs to a simulation.
  static var isSimulated: Bool { currentSimulation != nil }

  #if DEBUG
    /// Returns whether a test has planted a fault in the process, or in the caller's simulation.
    @usableFromInline static func isPlanted(_ mutant: Mutant) -> Bool {
      unsafe Mutant.everywhere == mutant || currentSimulation.map { $0.mutant == mutant } ?? false
    }
  #endif

  /// Starts a task that inherits nothing from the task that calls this method.
  @usableFromInline package static func task(
    priority: UInt8?, on executor: (any TaskExecutor)?, _ body: @escaping @Sendable () async -> Void
  ) {
    if executor != nil || isSimulated { return placedTask(priority: priority, on: executor, body) }
    Task.detached(priority: priority.map(Self.priority)) { await body() }
  }

  /// Starts a task for some work, like ``task(priority:on:_:)``. The closure of the task captures
  /// the work itself. With ``task(priority:on:_:)`` it captures another closure, for which the
  /// caller allocates memory. With an executor, or in a simulation, there is no such difference.
  @inline(__always) static func task(
    priority: UInt8?, on executor: (any TaskExecutor)?, for work: some TaskWork
  ) {
    if executor != nil || isSimulated { return placedTask(priority: priority, on: executor) { await work.run() } }
    Task.detached(priority: priority.map(Self.priority)) { await work.run() }
  }

  @inline(never) private static func placedTask(
    priority: UInt8?, on executor: (any TaskExecutor)?, _ body: @escaping @Sendable () async -> Void
  ) {
    let priority = priority.map(Self.priority)
    if let simulation = currentSimulation {
      Task.detached(executorPreference: simulation, priority: priority) {
        await $simulation.withValue(simulation) { await body() }
      }
    } else if let executor {
      Task.detached(executorPreference: executor, priority: priority) { await body() }
    } else {
      Task.detached(priority: priority) { await body() }
    }
  }

  /// Starts a task that inherits from the caller. Returns an object whose release cancels the task.
  package static func cancelledWhenDropped(_ body: @escaping @Sendable () async -> Void) -> any AnyObject & Sendable {
    RunningTask(currentSimulation.map { Task(executorPreference: $0) { await body() } } ?? Task { await body() })
  }

  /// Starts a task that inherits nothing. Returns an object whose release cancels the task.
  ///
  /// - Parameter simulation: The simulation to which the task belongs, wherever it is started;
  ///   `nil` for none.
  package static func detachedTask(
    in simulation: (any SimulatedScheduling)?, _ body: @escaping @Sendable () async -> Void
  ) -> any AnyObject & Sendable {
    guard let simulation else { return RunningTask(Task.detached { await body() }) }
    return RunningTask(
      Task.detached(executorPreference: simulation) { await $simulation.withValue(simulation) { await body() } })
  }

  /// Starts a task that inherits the task-local values of the caller, and that can be cancelled.
  static func innerTask<Value: Sendable>(
    on executor: (any TaskExecutor)?, _ body: @escaping @Sendable () async -> Value
  ) -> Task<Value, Never> {
    if let simulation = currentSimulation { return Task(executorPreference: simulation) { await body() } }
    if let executor { return Task(executorPreference: executor) { await body() } }
    return Task { await body() }
  }

  /// Whether the calling task is a timer of which an ``IdleAwareClock`` has been told.
  @TaskLocal package static var isTimer = false

  private final class RunningTask: Sendable {
    private let task: Task<Void, Never>
    init(_ task: Task<Void, Never>) { self.task = task }
    deinit { task.cancel() }
  }

  /// Returns a task priority, at most user-interactive: Swift's pool takes none above that.
  static func priority(_ rawPriority: UInt8) -> TaskPriority { TaskPriority(rawValue: min(rawPriority, 0x21)) }

  /// Schedules a block on a serial queue.
  @usableFromInline @inline(never) package static func block(
    on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) {
    if let simulation = currentSimulation { return simulation.schedule(body, on: queue, isMain: false) }
    queue.async(execute: body)
  }

  /// Schedules a block on the global queue, in no order with other such blocks.
  @usableFromInline @inline(never) package static func concurrentBlock(_ body: @escaping @Sendable () -> Void) {
    if let simulation = currentSimulation { return simulation.schedule(body, on: nil, isMain: false) }
    DispatchQueue.global().async(execute: body)
  }

  /// Resumes suspended tasks from a thread that may be running the user's code, such as that of a
  /// `post`.
  ///
  /// A resume takes a lock of the task. While the task is being cancelled, Swift's runtime holds
  /// that lock and calls the task's cancellation handlers, which may wait for a lock of the program
  /// that the calling thread holds. So each resume is a block of its own, and the calling thread
  /// does not wait. The blocks have the highest quality of service. On Linux, Dispatch has separate
  /// threads for each quality, so the program's blocks on `DispatchQueue.global()` delay no resume
  /// unless they have the highest quality, too.
  static func resume(_ tasks: [UnsafeContinuation<Void, Never>]) {
    unsafe tasks.forEach { unsafe resume($0) }
  }

  /// Resumes a suspended task from a thread that may be running the user's code: see
  /// ``resume(_:)-([UnsafeContinuation<Void,Never>])``.
  @inline(never) static func resume(_ task: UnsafeContinuation<Void, Never>) {
    if let simulation = currentSimulation {
      return simulation.schedule({ unsafe task.resume() }, on: nil, isMain: false)
    }
    DispatchQueue.global(qos: .userInteractive).async { unsafe task.resume() }
  }

  /// Resumes suspended tasks from a thread that runs no code of the user's: a lane that has
  /// returned from a call, or the event's own queue between two occurrences.
  static func resumeHere(_ tasks: [UnsafeContinuation<Void, Never>]) {
    unsafe tasks.forEach { unsafe $0.resume() }
  }

  /// Schedules a block on the main queue.
  @inline(never) static func mainBlock(_ body: @escaping @Sendable () -> Void) {
    if let simulation = currentSimulation { return simulation.schedule(body, on: nil, isMain: true) }
    DispatchQueue.main.async(execute: body)
  }

  /// Creates a serial queue with the quality of service that is named like the priority.
  static func backgroundQueue(_ rawPriority: UInt8) -> DispatchQueue {
    let priority = TaskPriority(rawValue: rawPriority)
    let quality: DispatchQoS =
      switch priority {
      case .high: .userInitiated
      case .medium: .default
      case .background: .background
      case .low: .utility
      default:
        priority > .high
          ? .userInteractive : priority > .medium ? .userInitiated : priority > .low ? .default : .utility
      }
    return DispatchQueue(label: "eventing.background", qos: quality)
  }

  // MARK: The main queue

  private static let mainKey: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Whether the caller runs on the main queue, and so on the main actor.
  ///
  /// The identity of the thread is not enough: on Linux the main actor leaves the main thread at
  /// its first suspension.
  @usableFromInline package static var isOnMainQueue: Bool {
    currentSimulation.map(\.isInMainBlock) ?? (DispatchQueue.getSpecific(key: mainKey) == true)
  }

  /// Returns whether a queue is the main queue.
  ///
  /// The identity of the object is not enough: on Linux `DispatchQueue.main` is another object each
  /// time.
  static func isMainQueue(_ queue: DispatchQueue) -> Bool { queue.getSpecific(key: mainKey) == true }

  /// Stops the program if the caller, a block for the main queue, runs elsewhere.
  static func checkMain() {
    if currentSimulation?.isInMainBlock != true { MainActor.preconditionIsolated() }
  }
}
