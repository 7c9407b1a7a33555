import Synchronization

/// A handler's lane, for an observer that looks at what waits there. This object does not keep the
/// lane alive.
package final class WatchedLane: Sendable {
  private weak let lane: DeliveryTarget?

  init(_ lane: DeliveryTarget) { self.lane = lane }

  /// Returns the work of the lane now; `nil` if it is gone. Never called under a mutex.
  package var load: LaneLoad? {
    assertNoMutexIsHeld("read a weak reference")
    return lane.map { LaneLoad($0) }
  }
}

/// The work of a lane at one moment.
package struct LaneLoad: Sendable {
  let lane: DeliveryTarget

  /// Calls that wait while none runs.
  package struct Stall: Sendable {
    package let waitingCount: Int
    /// The number of calls that the lane has begun or skipped so far.
    package let progress: Int
  }

  init(_ lane: DeliveryTarget) { self.lane = lane }

  /// The number of occurrences that wait.
  package var waitingCount: Int { lane.waitingCount }
  /// The lane that several handlers may share; `nil` if the handler shares none.
  package var sharedLane: HandlerLane? { lane.sharedLane }
  package var isLocked: Bool { lane.record.has(HandlerFlags.lockedAtAll) }

  /// The calls that the lane could begin and does not; `nil` if a call runs, nothing waits, or
  /// something else may hold the calls back: a lock, or another handler on a shared lane.
  package var stall: Stall? {
    let counters = lane.counters
    guard counters.runningCalls?.count == 0, counters.sharedLane == nil,
      !counters.record.has(HandlerFlags.lockedAtAll)
    else { return nil }
    let waiting = counters.unbegunCount
    guard waiting > 0 else { return nil }
    let progress = counters.calls.load(ordering: .relaxed) + counters.skipped.load(ordering: .relaxed)
    return Stall(waitingCount: waiting, progress: progress)
  }
}
