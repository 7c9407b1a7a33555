public import Dispatch

/// The one place of the package that starts tasks and schedules blocks.
@usableFromInline package enum Scheduling {
  /// Where the tasks of handlers run that are added while it is bound; a test puts its scheduler here.
  @TaskLocal package static var executor: (any TaskExecutor)?

  @usableFromInline static var executorOfThisTask: (any TaskExecutor)? { executor }

  /// A task that inherits nothing from whoever happens to start it.
  @usableFromInline static func task(
    priority: UInt8?, on executor: (any TaskExecutor)?, _ body: @escaping @Sendable () async -> Void
  ) {
    let priority = priority.map(Self.priority)
    if let executor {
      Task.detached(executorPreference: executor, priority: priority) { await body() }
    } else {
      Task.detached(priority: priority) { await body() }
    }
  }

  /// Runs a task until it ends, or until what this gives is dropped.
  static func cancelledWhenDropped(_ body: @escaping @Sendable () async -> Void) -> any AnyObject & Sendable {
    RunningTask(Task { await body() })
  }

  private final class RunningTask: Sendable {
    private let task: Task<Void, Never>
    init(_ task: Task<Void, Never>) { self.task = task }
    deinit { task.cancel() }
  }

  /// Swift's pool takes no priority above that of the user's own interaction.
  static func priority(_ rawPriority: UInt8) -> TaskPriority { TaskPriority(rawValue: min(rawPriority, 0x21)) }

  @usableFromInline static func block(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

  /// A serial queue of the quality of service that has the name of the priority.
  @usableFromInline static func backgroundQueue(_ rawPriority: UInt8) -> DispatchQueue {
    let priority = TaskPriority(rawValue: rawPriority)
    let quality: DispatchQoS =
      switch priority {
      case .high: .userInitiated
      case .medium: .default
      case .background: .background
      case .low: .utility
      default: priority > .high ? .userInteractive : priority > .medium ? .userInitiated : priority > .low ? .default : .utility
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
  @usableFromInline static var isOnMainQueue: Bool { DispatchQueue.getSpecific(key: mainKey) == true }
}
