/// A fault that a test plants to see that it is found: in a debug build, for one simulation or for a process of its own. In a release build nothing of it is left.
@usableFromInline package enum Mutant: String, CaseIterable, Sendable {
  /// A once handler may be claimed again.
  case onceIsNotSpent
  /// A claim does not look whether the handler is locked.
  case claimIgnoresLocks
  /// A claim does not look whether the handler was removed.
  case claimIgnoresRemovals
  /// A removal is not noted, so a delivery that has begun goes on the quick way.
  case removalIsNotNoted
  /// A handler that was added to a busy event never joins.
  case queuedAddIsLost
  /// What a handler posts to its own event is not delivered.
  case nestedPostIsLost
  /// A once handler that was used up is not tidied away.
  case usedUpHandlerStays
  /// A handler whose owner is gone is not tidied away.
  case orphanStays
  /// A lane takes what came last first.
  case laneIsReversed
  /// A lane calls its handler beside a call that runs.
  case laneRunsTwice
  /// A lane that has run dry does not know.
  case laneIsNotWoken
  /// What a lock held is lost when it ends.
  case heldIsLost
  /// A lock that holds ends at once, and not in its turn.
  case unlockIsEarly
  /// A handler that joins a locked event is not locked.
  case newcomerIsNotGated
  /// A newcomer is told twice of what was sent before.
  case replayComesTwice
  /// What is skipped is in no report.
  case skipIsNotCounted
  /// A call waits for what waits for it.
  case cycleIsNotSeen
  /// What waits for a lane to run dry does not wait.
  case barrierOvertakes
  /// A loop that was cancelled stays in its event.
  case cancelledLoopStays

  #if DEBUG
    /// The one that is planted in the whole process.
    // Safe: set before the threads that read it start.
    nonisolated(unsafe) package static var everywhere: Mutant?
  #endif
}

/// Whether a fault is planted here.
@inlinable @inline(__always) func mutant(_ mutant: @autoclosure () -> Mutant) -> Bool {
  #if DEBUG
    Scheduling.isPlanted(mutant())
  #else
    false
  #endif
}
