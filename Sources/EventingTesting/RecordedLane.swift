import Dispatch
import Eventing

/// Where a handler ran.
public enum RecordedLane: Hashable, Sendable, CustomStringConvertible {
  /// On the main queue, or on what stands for it in a ``Simulation``.
  case main
  /// In a task.
  case task
  /// On a thread, or a dispatch queue, without a task.
  case thread

  /// Of the caller.
  static var current: RecordedLane {
    if Scheduling.isOnMainQueue { return .main }
    return unsafe withUnsafeCurrentTask { unsafe $0 == nil ? .thread : .task }
  }

  /// In a word.
  public var description: String {
    switch self {
    case .main: "the main queue"
    case .task: "a task"
    case .thread: "a thread"
    }
  }
}
