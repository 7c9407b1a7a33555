import Synchronization

/// At 0, every object that contained a canary has been released.
final class LiveCount: Sendable {
  private let count = Atomic<Int>(0)

  init() {}

  var alive: Int { count.load(ordering: .acquiring) }

  fileprivate func add(_ change: Int) { count.wrappingAdd(change, ordering: .acquiringAndReleasing) }
}

/// Shows whether the closure, payload or owner that contains it is alive.
final class Canary: Sendable {
  private let live: LiveCount
  private let onDeinit: (@Sendable () -> Void)?

  /// `onDeinit` is called on any thread.
  init(_ live: LiveCount, onDeinit: (@Sendable () -> Void)? = nil) {
    self.live = live
    self.onDeinit = onDeinit
    live.add(1)
  }

  deinit {
    onDeinit?()
    live.add(-1)
  }

  /// A handler that calls this captures the canary.
  func sing() {}
}
