// A pace holds back the occurrence for its handler, and later passes it on to the handler's lane.
// Isolation: core.

extension Completion {
  /// The pace's piece of work stays until the pace has passed the occurrence on, but no longer
  /// counts once the lane has one, because reports count each handler once.
  func beginPassing(_ pace: WaitNode) {
    if root == nil, isTracked { withMutex { passing = pace } }
  }

  func endPassing() {
    if root == nil, isTracked { withMutex { passing = nil } }
  }
}
