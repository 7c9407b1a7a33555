import Synchronization

/// Counts the calls that run at the same time.
final class RunningCalls: Sendable {
  private let running = Atomic<Int>(0)
  private let largest = Atomic<Int>(0)

  init() {}

  /// The largest number of calls that ran at one time.
  var most: Int { largest.load(ordering: .relaxed) }

  func begin() { largest.max(running.wrappingAdd(1, ordering: .relaxed).newValue, ordering: .relaxed) }
  func end() { running.wrappingSubtract(1, ordering: .relaxed) }
}
