import Synchronization

final class RunningCalls: Sendable {
  private let running = Atomic<Int>(0)
  private let largest = Atomic<Int>(0)

  init() {}

  /// At one time.
  var most: Int { largest.load(ordering: .relaxed) }

  func begin() { largest.max(running.wrappingAdd(1, ordering: .relaxed).newValue, ordering: .relaxed) }
  func end() { running.wrappingSubtract(1, ordering: .relaxed) }
}
