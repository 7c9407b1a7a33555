/// The timer of a ``DelayQueue``.
///
/// One thread at a time sets or stops it. When it rings, on any thread, it calls
/// ``DelayQueue/beginFiring()``. If that returns true, it calls ``DelayQueue/fireSome(notAfter:)``
/// until that returns 0.
protocol DelayTimer: Sendable {
  /// The time of the clock, since the timer was made.
  var now: Duration { get }
  /// Whether the timer must be stopped when nothing waits for it, because it keeps a task asleep.
  var stopsWhenUnused: Bool { get }
  /// Sets the timer to an instant, in place of the instant for which it was set before. The timer
  /// may ring earlier.
  func set(_ deadline: Duration, _ queue: DelayQueue)
  /// Stops the timer: it rings no more. If ``stopsWhenUnused`` is false, may do nothing.
  func stop()
  /// Returns whether a clock is the one of this timer.
  func measures(_ clock: any Clock<Duration>) -> Bool
  /// The clock, if it is one that a test moves when nothing runs; `nil` otherwise.
  var idleAwareClock: (any IdleAwareClock)? { get }
}
