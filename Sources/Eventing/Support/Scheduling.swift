public import Dispatch
package import Synchronization

/// The one place of the package that starts tasks and schedules blocks.
@usableFromInline package enum Scheduling {
  /// Where the tasks of handlers run that are added while it is bound; a test puts its scheduler here.
  @TaskLocal package static var executor: (any TaskExecutor)?

  /// What takes all over, for the tasks in which it is bound.
  @TaskLocal package static var simulation: (any SimulatedScheduling)?
  /// How many simulations run, so that others need not look.
  package static let simulations = Atomic<Int>(0)
  private static var currentSimulation: (any SimulatedScheduling)? {
    simulations.load(ordering: .relaxed) == 0 ? nil : simulation
  }

  /// Whether the caller belongs to a simulation.
  @usableFromInline static var isSimulated: Bool { currentSimulation != nil }

  #if DEBUG
    @usableFromInline static func isPlanted(_ mutant: Mutant) -> Bool {
      unsafe Mutant.everywhere == mutant || currentSimulation.map { $0.mutant == mutant } ?? false
    }
  #endif

  @usableFromInline static var executorOfThisTask: (any TaskExecutor)? { executor }

  /// A task that inherits nothing from whoever happens to start it.
  @usableFromInline static func task(
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

  /// Runs a task until it ends, or until what this gives is dropped.
  static func cancelledWhenDropped(_ body: @escaping @Sendable () async -> Void) -> any AnyObject & Sendable {
    RunningTask(currentSimulation.map { Task(executorPreference: $0) { await body() } } ?? Task { await body() })
  }

  private final class RunningTask: Sendable {
    private let task: Task<Void, Never>
    init(_ task: Task<Void, Never>) { self.task = task }
    deinit { task.cancel() }
  }

  /// Swift's pool takes no priority above that of the user's own interaction.
  static func priority(_ rawPriority: UInt8) -> TaskPriority { TaskPriority(rawValue: min(rawPriority, 0x21)) }

  @usableFromInline static func block(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    if let simulation = currentSimulation { return simulation.schedule(body, on: queue, isMain: false) }
    queue.async(execute: body)
  }

  /// Whatever order such blocks take.
  @usableFromInline static func concurrentBlock(_ body: @escaping @Sendable () -> Void) {
    if let simulation = currentSimulation { return simulation.schedule(body, on: nil, isMain: false) }
    DispatchQueue.global().async(execute: body)
  }

  @usableFromInline static func mainBlock(_ body: @escaping @Sendable () -> Void) {
    if let simulation = currentSimulation { return simulation.schedule(body, on: nil, isMain: true) }
    DispatchQueue.main.async(execute: body)
  }

  /// A serial queue of the quality of service that has the name of the priority.
  @usableFromInline static func backgroundQueue(_ rawPriority: UInt8) -> DispatchQueue {
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

  /// True only on the main queue, and so on the main actor. Not asked of the thread: on Linux the main actor leaves the main thread at its first suspension.
  @usableFromInline package static var isOnMainQueue: Bool {
    currentSimulation.map(\.isInMainBlock) ?? (DispatchQueue.getSpecific(key: mainKey) == true)
  }

  /// Whether a queue is the main one. Not by its identity: on Linux `DispatchQueue.main` is another object each time.
  static func isMainQueue(_ queue: DispatchQueue) -> Bool { queue.getSpecific(key: mainKey) == true }

  /// In a block for the main queue.
  @usableFromInline static func checkMain() {
    if currentSimulation?.isInMainBlock != true { MainActor.preconditionIsolated() }
  }
}

/// What a test puts in the place of tasks and queues.
package protocol SimulatedScheduling: TaskExecutor {
  /// A fault that is planted.
  var mutant: Mutant? { get }
  /// Runs it some time, after what was scheduled on the same serial queue, or on main, before.
  func schedule(_ body: @escaping @Sendable () -> Void, on queue: DispatchQueue?, isMain: Bool)
  /// Whether a block that was scheduled on main is running.
  var isInMainBlock: Bool { get }
}
