/// A fault that a test plants, in debug builds only, to verify that the checks find it. Applies to
/// one simulation or to the whole process.
@usableFromInline package enum Mutant: String, CaseIterable, Sendable {
  case onceIsNotSpent
  case claimIgnoresLocks
  case claimIgnoresRemovals
  /// Changes to handlers, such as removals, aren't counted, so a delivery stays on the fast path.
  case removalIsNotNoted
  case queuedAddIsLost
  case nestedPostIsLost
  case usedUpHandlerStays
  case orphanStays
  case laneIsReversed
  case laneRunsTwice
  /// An empty lane still counts its worker as busy, so the next item doesn't start one.
  case laneIsNotWoken
  case heldIsLost
  /// When the event's lock ends, the held occurrences are delivered handler by handler.
  case heldComesByHandler
  case unlockIsEarly
  case newHandlerIsNotLocked
  case replayComesTwice
  case skipIsNotCounted
  case cycleIsNotSeen
  /// A barrier, such as `quiesce()`, does not wait for the calls that a lane has taken.
  case barrierOvertakes
  case cancelledLoopStays
  /// A retried call leaves its worker to later calls during the delay.
  case retryLosesItsPlace
  case batchIsTooLarge
  case paceForgetsTheLast
  case keysOverlap
  case sharedLaneOverlaps

  #if DEBUG
    // Safe: set before the threads that read it start.
    nonisolated(unsafe) package static var everywhere: Mutant?
  #endif
}

@inlinable @inline(__always) func mutant(_ mutant: @autoclosure () -> Mutant) -> Bool {
  #if DEBUG
    Scheduling.isPlanted(mutant())
  #else
    false
  #endif
}

// Kept apart from `HandlerRecord.claim()`, which only reads these flags.
extension HandlerFlags {
  @inlinable @inline(__always) static var refusingClaims: UInt32 {
    if mutant(.claimIgnoresLocks) { return ended }
    if mutant(.claimIgnoresRemovals) { return lockedAtAll }
    return notCallable
  }

  @inlinable @inline(__always) static var spentByClaim: UInt32 { mutant(.onceIsNotSpent) ? 0 : spent }
}

/// A point where a test can hold a thread or delay all threads at random.
@usableFromInline package enum SyncPoint: Sendable {
  case foundBusy
  case leaving
  case draining
  /// The thread holds `core.mutex`, and the state word doesn't yet say that work is enqueued.
  case queued
  case holding
  case claiming
  case noting

  #if DEBUG || EVENTING_SYNC_POINTS
    // Safe: set before the threads that read it start, and reset after they have ended.
    nonisolated(unsafe) package static var hook: (@Sendable (SyncPoint) -> Void)?
    @usableFromInline static func pass(_ syncPoint: SyncPoint) { unsafe hook?(syncPoint) }
  #endif
}

@inlinable @inline(__always) func syncPoint(_ syncPoint: @autoclosure () -> SyncPoint) {
  #if DEBUG || EVENTING_SYNC_POINTS
    SyncPoint.pass(syncPoint())
  #endif
}
