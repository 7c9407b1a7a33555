/// The delay queues of clocks.
enum DelayQueues {
  private static let continuous = DelayQueue(ContinuousClock())
  private static let suspending = DelayQueue(SuspendingClock())

  /// Returns the queue that the process shares for a clock of the standard library; `nil` for
  /// another clock.
  static func shared(_ clock: any Clock<Duration>) -> (any DelayQueueing)? {
    switch clock {
    case is ContinuousClock: continuous
    case is SuspendingClock: suspending
    default: nil
    }
  }

  /// Returns a queue of its own for a clock.
  static func make(_ clock: any Clock<Duration>) -> any DelayQueueing {
    func make<C: Clock<Duration>>(_ clock: C) -> any DelayQueueing { DelayQueue(clock) }
    return make(clock)
  }

  /// Returns the shared queue of a clock, or a new one.
  static func of(_ clock: any Clock<Duration>) -> any DelayQueueing { shared(clock) ?? make(clock) }
}
