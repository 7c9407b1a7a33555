/// The timer of a ``DelayQueue``.
///
/// The queue lets one thread at a time set or stop the timer. When the timer rings, on any thread,
/// the timer calls ``DelayQueue/beginFiring()``. If that call returns true, the timer calls
/// ``DelayQueue/fireSome(notAfter:)`` until this method returns 0.
protocol DelayTimer: Sendable {
  /// The time of the clock, since the timer was made.
  var now: Duration { get }
  /// Whether the queue must stop the timer when no work is left. True for a timer that is a task
  /// asleep: the task would sleep on until the deadline.
  var stopsWhenUnused: Bool { get }
  /// Sets the timer to `deadline`, instead of the instant to which it was set before. If the timer
  /// rings before `deadline`, the queue sets it again.
  func set(_ deadline: Duration, _ queue: DelayQueue)
  /// Stops the timer: it rings no more. If ``stopsWhenUnused`` is false, may do nothing.
  func stop()
  /// Returns whether a clock is the one of this timer.
  func measures(_ clock: any Clock<Duration>) -> Bool
  /// The clock, if it is one that a test moves when nothing runs; `nil` otherwise.
  var idleAwareClock: (any IdleAwareClock)? { get }
}
