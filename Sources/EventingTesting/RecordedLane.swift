import Dispatch
import Eventing

/// The kind of place where a handler ran.
public enum RecordedLane: Hashable, Sendable, CustomStringConvertible {
  /// The main queue, or its replacement in a ``Simulation``.
  case main
  /// A task.
  case task
  /// A thread or a dispatch queue, outside of any task.
  case thread

  /// The place of the caller.
  static var current: RecordedLane {
    if Scheduling.isOnMainQueue { return .main }
    return unsafe withUnsafeCurrentTask { unsafe $0 == nil ? .thread : .task }
  }

  /// The place in words.
  public var description: String {
    switch self {
    case .main: "the main queue"
    case .task: "a task"
    case .thread: "a thread"
    }
  }
}
