import Synchronization

/// Counts the living canaries. At 0, every object that contained one has been released.
final class LiveCount: Sendable {
  private let count = Atomic<Int>(0)

  init() {}

  var alive: Int { count.load(ordering: .acquiring) }

  fileprivate func add(_ change: Int) { count.wrappingAdd(change, ordering: .acquiringAndReleasing) }
}

/// An object that shows whether the closure, payload or owner that contains it is still alive.
final class Canary: Sendable {
  private let live: LiveCount
  private let onDeinit: (@Sendable () -> Void)?

  /// Creates a canary, which counts as alive until its `deinit`.
  ///
  /// - Parameter onDeinit: A closure that the `deinit` calls, on any thread.
  init(_ live: LiveCount, onDeinit: (@Sendable () -> Void)? = nil) {
    self.live = live
    self.onDeinit = onDeinit
    live.add(1)
  }

  deinit {
    onDeinit?()
    live.add(-1)
  }

  /// Does nothing. A handler that calls this method captures the canary.
  func sing() {}
}
