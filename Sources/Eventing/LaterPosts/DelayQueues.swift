enum DelayQueues {
  private static let continuous = DelayQueue(DispatchTimer(ContinuousClock(), isContinuous: true))
  private static let suspending = DelayQueue(DispatchTimer(SuspendingClock(), isContinuous: false))
  private static let others = DelayQueueTable()

  static func of(_ clock: any Clock<Duration>, for anchor: EventAnchor) -> DelayQueue {
    let queue = of(clock)
    queue.idleAwareClock?.meet(EventReference(anchor: anchor))
    return queue
  }

  static func ofStandardLibrary(_ clock: any Clock<Duration>) -> DelayQueue? {
    if Scheduling.isSimulated { return nil }
    return clock is ContinuousClock ? continuous : clock is SuspendingClock ? suspending : nil
  }

  /// In a simulation, a queue of that simulation, so that no timer outlives it. Runs the user's
  /// code, `==` and `hash(into:)` of the clock, so never called under a mutex.
  private static func of(_ clock: any Clock<Duration>) -> DelayQueue {
    let simulation = Scheduling.currentSimulation
    switch clock {
    case is ContinuousClock where simulation == nil: return continuous
    case is SuspendingClock where simulation == nil: return suspending
    default: return (simulation?.delayQueues ?? others).queue(of: simulation?.replacing(clock) ?? clock, in: simulation)
    }
  }
}

extension SimulatedScheduling {
  fileprivate func replacing(_ clock: any Clock<Duration>) -> any Clock<Duration> {
    clock is ContinuousClock || clock is SuspendingClock ? delayClock : clock
  }
}
