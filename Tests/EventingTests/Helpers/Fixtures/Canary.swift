import Synchronization

/// Counts the canaries that are alive: whatever holds one must have died when there are none.
final class LiveCount: Sendable {
  private let count = Atomic<Int>(0)

  init() {}

  var alive: Int { count.load(ordering: .acquiring) }

  fileprivate func add(_ change: Int) { count.wrappingAdd(change, ordering: .acquiringAndReleasing) }
}

/// Captured by a closure, held by a payload or an owner, it tells whether that is still alive.
final class Canary: Sendable {
  private let live: LiveCount
  private let onDeinit: (@Sendable () -> Void)?

  /// - Parameter onDeinit: called in its `deinit`, on whatever thread that is.
  init(_ live: LiveCount, onDeinit: (@Sendable () -> Void)? = nil) {
    self.live = live
    self.onDeinit = onDeinit
    live.add(1)
  }

  deinit {
    onDeinit?()
    live.add(-1)
  }

  /// Call it in a handler that is to hold the canary.
  func sing() {}
}
