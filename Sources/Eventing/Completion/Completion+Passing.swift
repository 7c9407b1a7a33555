// A pace holds back the occurrence for its handler, and later passes it on to the handler's lane.

extension Completion {
  /// Begins to pass the occurrence from a pace on to the handler's lane.
  ///
  /// The pace's own piece of work stays until it has passed the occurrence on. But as soon as the
  /// lane has a piece of work for the occurrence, that one counts for the handler, and the pace's
  /// does not: reports count each handler once. Both change in one step. Isolation: core.
  func beginPassing(_ pace: WaitNode) {
    if root == nil, isTracked { withMutex { passing = pace } }
  }

  /// Ends what ``beginPassing(_:)`` began, also if no lane took the occurrence. Isolation: core.
  func endPassing() {
    if root == nil, isTracked { withMutex { passing = nil } }
  }
}
