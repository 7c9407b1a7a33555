// A call of a `.task` handler for a `send` is a child task of the sender. The child task sleeps
// between two attempts, so that cancelling the sender ends the delay.

extension UnitLane {
  /// Waits for the next attempt of a unit. Returns false if the task was cancelled.
  func sleep(_ unit: LaneUnit, on slot: ExecutionSlot, for delay: Duration) async -> Bool {
    guard let queue = retryQueue, let delays else { return true }
    let sleeper = Sleeper()
    let timer = UnitTimer(queue, delaying: unit.delayedNodes + [slot]) { sleeper.wake(isPosting: true) }
    delays.insert(timer, of: unit)
    timer.start(after: delay)
    endNeedless(timer, of: unit)
    await withTaskCancellationHandler {
      await sleeper.sleep()
    } onCancel: {
      timer.fireNow()
    }
    delays.remove(timer)
    if scheduler.mutex.withLock({ unsafe endsDelays }) { unsafe unit.isLastAttempt = true }
    return !Task.isCancelled
  }

  /// Returns the final result of a unit, for the child task that has run it and makes no further
  /// attempt. `result` is what the last attempt led to. If that is a delay before another attempt,
  /// the task was cancelled during the delay, and the unit has failed with its last error.
  func givenUp(_ unit: LaneUnit, _ result: UnitResult) -> UnitResult {
    guard case .delayed = result, let error = unsafe unit.lastError else { return result }
    return .ended(failure(error, unit))
  }
}
