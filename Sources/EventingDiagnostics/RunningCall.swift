import Eventing
import Synchronization

struct RunningCall: Sendable {
  struct Key: Hashable {
    let handler: UInt64
    let sequence: UInt64
  }

  /// No other call has this number.
  let number: UInt64
  let handler: HandlerToken
  let event: EventIdentity
  let start = ContinuousClock.now
  /// `nil` for an inline handler.
  let lane: DeliveryTarget?
  let executionSlot: ExecutionSlot?
  /// Beginnings less ends, over all observations. Below 0 if an end overtakes a beginning.
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

/// Does not keep the lane alive.
final class WatchedLane: Sendable {
  private weak let lane: DeliveryTarget?

  init(_ lane: DeliveryTarget) { self.lane = lane }

  /// `nil` if the lane is gone. Never called under a mutex.
  var load: LaneLoad? {
    assertNoMutexIsHeld("read a weak reference")
    return lane.map { LaneLoad($0) }
  }
}

struct LaneLoad: Sendable {
  let lane: DeliveryTarget

  struct Stall: Sendable {
    let waitingCount: Int
    /// Calls that the lane has begun or skipped so far.
    let progress: Int
  }

  init(_ lane: DeliveryTarget) { self.lane = lane }

  var waitingCount: Int { lane.waitingCount }
  var sharedLane: HandlerLane? { lane.sharedLane }
  var isLocked: Bool { lane.record.has(HandlerFlags.lockedAtAll) }

  /// `nil` if a call runs, nothing waits, or a lock or another handler on a shared lane may hold
  /// the calls back.
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
