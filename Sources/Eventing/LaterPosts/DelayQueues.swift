/// The delay queues of clocks. The queues of the standard library's clocks stay, the others exist
/// while in use.
enum DelayQueues {
  private static let continuous = DelayQueue(DispatchTimer(ContinuousClock(), isContinuous: true))
  private static let suspending = DelayQueue(DispatchTimer(SuspendingClock(), isContinuous: false))
  private static let others = DelayQueueTable()

  /// Returns the queue of a clock for work of an event. If the clock is one that a test moves,
  /// tells the clock that the event uses it.
  static func of(_ clock: any Clock<Duration>, for anchor: EventAnchor) -> DelayQueue {
    let queue = of(clock)
    queue.idleAwareClock?.meet(EventReference(anchor: anchor))
    return queue
  }

  /// Returns the queue of a clock of the standard library; `nil` for any other clock, and in a
  /// simulation.
  static func ofStandardLibrary(_ clock: any Clock<Duration>) -> DelayQueue? {
    if Scheduling.isSimulated { return nil }
    return clock is ContinuousClock ? continuous : clock is SuspendingClock ? suspending : nil
  }

  /// Returns the queue of a clock.
  ///
  /// In a simulation, the queue belongs to that simulation, whose clock takes the place of the
  /// clocks of the standard library. So no timer of the process fires in a simulation, and no timer
  /// of a simulation gets into the table of the process, where it would outlive the simulation.
  ///
  /// Runs the user's code, `==` and `hash(into:)` of the clock, so never called under a mutex.
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
  /// Returns the clock that measures delays in the simulation: the simulation's own in the place of
  /// a clock of the standard library, otherwise the given one.
  fileprivate func replacing(_ clock: any Clock<Duration>) -> any Clock<Duration> {
    clock is ContinuousClock || clock is SuspendingClock ? delayClock : clock
  }
}
