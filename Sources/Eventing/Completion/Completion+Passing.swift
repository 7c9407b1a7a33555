// A pace holds back the occurrence for its handler, and later passes it on to the handler's lane.

extension Completion {
  /// The pace's piece of work stays until the pace has passed the occurrence on. But the lane's
  /// counts for the handler as soon as it exists, because reports count each handler once.
  /// Isolation: core.
  func beginPassing(_ pace: WaitNode) {
    if root == nil, isTracked { withMutex { passing = pace } }
  }

  /// Isolation: core.
  func endPassing() {
    if root == nil, isTracked { withMutex { passing = nil } }
  }
}
