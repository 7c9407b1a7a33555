import Eventing
import Synchronization

/// A running call of a handler of an observed event.
struct RunningCall: Sendable {
  struct Key: Hashable {
    let handler: UInt64
    let sequence: UInt64
  }

  /// A number that no other call has.
  let number: UInt64
  let handler: HandlerToken
  let event: EventIdentity
  let start = ContinuousClock.now
  /// The lane that runs the call; `nil` for an inline handler.
  let lane: DeliveryTarget?
  /// The execution slot of an asynchronous call.
  let executionSlot: ExecutionSlot?
  /// The number of beginnings that observations told of, minus that of the ends: one for each
  /// observation. Below 0 if the end of an observation overtakes the beginning of a call.
  var count = 0

  private static let last = Atomic<UInt64>(0)

  init(_ handler: HandlerToken, _ step: EventStep) {
    number = RunningCall.last.wrappingAdd(1, ordering: .relaxed).newValue
    (self.handler, event, lane) = (handler, step.event, step.lane)
    executionSlot = lane == nil ? nil : Context.invocation.get()?.executionSlot
  }

  var duration: Duration { .now - start }
  var laneLoad: LaneLoad? { lane.map { LaneLoad($0) } }
}

/// A handler's lane, for an observer that looks at what waits there. This object does not keep the
/// lane alive.
final class WatchedLane: Sendable {
  private weak let lane: DeliveryTarget?

  init(_ lane: DeliveryTarget) { self.lane = lane }

  /// Returns the work of the lane now; `nil` if it is gone. Never called under a mutex.
  var load: LaneLoad? {
    assertNoMutexIsHeld("read a weak reference")
    return lane.map { LaneLoad($0) }
  }
}

/// The work of a lane at one moment.
struct LaneLoad: Sendable {
  let lane: DeliveryTarget

  /// Calls that wait while none runs.
  struct Stall: Sendable {
    let waitingCount: Int
    /// The number of calls that the lane has begun or skipped so far.
    let progress: Int
  }

  init(_ lane: DeliveryTarget) { self.lane = lane }

  /// The number of occurrences that wait.
  var waitingCount: Int { lane.waitingCount }
  /// The lane that several handlers may share; `nil` if the handler shares none.
  var sharedLane: HandlerLane? { lane.sharedLane }
  var isLocked: Bool { lane.record.has(HandlerFlags.lockedAtAll) }

  /// The calls that the lane could begin and does not; `nil` if a call runs, nothing waits, or
  /// something else may hold the calls back: a lock, or another handler on a shared lane.
  var stall: Stall? {
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
