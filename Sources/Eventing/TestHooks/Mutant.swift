/// A fault that a test plants to see that the checks find it.
///
/// Planted in debug builds only, for one simulation or for a whole process. A release build
/// contains nothing of it.
@usableFromInline package enum Mutant: String, CaseIterable, Sendable {
  /// Fault: a once handler can be claimed again after its first claim.
  case onceIsNotSpent
  /// Fault: a claim succeeds although the handler is locked.
  case claimIgnoresLocks
  /// Fault: a claim succeeds although the handler was removed or is used up.
  case claimIgnoresRemovals
  /// Fault: no change of a handler is counted, such as its removal. So a delivery that has begun
  /// stays on the fast path.
  case removalIsNotNoted
  /// Fault: a handler that was added to a busy event is lost.
  case queuedAddIsLost
  /// Fault: a payload that a handler posts to its own event is lost.
  case nestedPostIsLost
  /// Fault: a once handler that was used up is not unregistered.
  case usedUpHandlerStays
  /// Fault: a handler whose owner is gone is not unregistered.
  case orphanStays
  /// Fault: a lane dequeues the newest item first.
  case laneIsReversed
  /// Fault: a lane calls its handler beside a call that is running.
  case laneRunsTwice
  /// Fault: a lane that has become empty keeps the phase `running`, so the next item schedules no
  /// drain.
  case laneIsNotWoken
  /// Fault: the occurrences that a lock held are lost when the lock ends.
  case heldIsLost
  /// Fault: when the lock of the event ends, what it held comes handler by handler.
  case heldComesByHandler
  /// Fault: a lock that holds occurrences ends at once instead of after what was sent before.
  case unlockIsEarly
  /// Fault: a handler that is added to a locked event is not locked.
  case newHandlerIsNotLocked
  /// Fault: a new handler receives past payloads twice.
  case replayComesTwice
  /// Fault: a skipped handler appears in no report.
  case skipIsNotCounted
  /// Fault: a call waits for work that waits for that call.
  case cycleIsNotSeen
  /// Fault: a barrier, such as `quiesce()`, does not wait for the calls that a lane has taken.
  case barrierOvertakes
  /// Fault: a sequence whose loop was cancelled stays in its event.
  case cancelledLoopStays
  /// Fault: a call that is tried again leaves its slot to later calls during the delay.
  case retryLosesItsPlace
  /// Fault: a batch is one payload larger than its limit.
  case batchIsTooLarge
  /// Fault: a pace drops the occurrence that waits when its timer fires.
  case paceForgetsTheLast
  /// Fault: two calls for one key overlap.
  case keysOverlap
  /// Fault: two calls on a shared lane overlap.
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
