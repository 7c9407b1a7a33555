/// A fault that a test plants to see that the checks find it.
///
/// Planted in debug builds only, for one simulation or for a whole process. A release build
/// contains nothing of it.
@usableFromInline package enum Mutant: String, CaseIterable, Sendable {
  /// A once handler can be claimed again.
  case onceIsNotSpent
  /// A claim does not ask whether the handler is locked.
  case claimIgnoresLocks
  /// A claim does not ask whether the handler was removed.
  case claimIgnoresRemovals
  /// A removal does not count as a change, so a delivery that has begun stays on the fast path.
  case removalIsNotNoted
  /// A handler that was added to a busy event is lost.
  case queuedAddIsLost
  /// A payload that a handler posts to its own event is lost.
  case nestedPostIsLost
  /// A once handler that was used up is not unregistered.
  case usedUpHandlerStays
  /// A handler whose owner is gone is not unregistered.
  case orphanStays
  /// A lane dequeues the newest item first.
  case laneIsReversed
  /// A lane calls its handler beside a call that is running.
  case laneRunsTwice
  /// A lane that has become empty does not note that it must be scheduled again.
  case laneIsNotWoken
  /// The occurrences that a lock held are lost when the lock ends.
  case heldIsLost
  /// A lock that holds occurrences ends at once instead of after what was sent before.
  case unlockIsEarly
  /// A handler that is added to a locked event is not locked.
  case newHandlerIsNotLocked
  /// A new handler receives past payloads twice.
  case replayComesTwice
  /// A skipped handler appears in no report.
  case skipIsNotCounted
  /// A call waits for work that waits for that call.
  case cycleIsNotSeen
  /// A barrier does not wait for the items of a lane.
  case barrierOvertakes
  /// A sequence whose loop was cancelled stays in its event.
  case cancelledLoopStays
  /// A call that is tried again leaves its slot to later calls during the delay.
  case retryLosesItsPlace
  /// A batch is one payload larger than its limit.
  case batchIsTooLarge
  /// A pace forgets the last occurrence.
  case paceForgetsTheLast
  /// Two calls for one key overlap.
  case keysOverlap
  /// Two calls on a shared lane overlap.
  case sharedLaneOverlaps

  #if DEBUG
    /// The fault that is planted in the whole process.
    // Safe: set before the threads that read it start.
    nonisolated(unsafe) package static var everywhere: Mutant?
  #endif
}

/// Returns whether a test has planted a fault. Always `false` in a release build.
@inlinable @inline(__always) func mutant(_ mutant: @autoclosure () -> Mutant) -> Bool {
  #if DEBUG
    Scheduling.isPlanted(mutant())
  #else
    false
  #endif
}
