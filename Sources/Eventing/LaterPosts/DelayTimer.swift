/// When the timer rings, on any thread, it calls ``DelayQueue/beginFiring()``, and if that returns
/// true, ``DelayQueue/fireSome(notAfter:)`` until that returns 0.
protocol DelayTimer: Sendable {
  var now: Duration { get }
  /// A sleeping task would sleep on until the deadline.
  var stopsWhenUnused: Bool { get }
  func set(_ deadline: Duration, _ queue: DelayQueue)
  func stop()
  func measures(_ clock: any Clock<Duration>) -> Bool
  var idleAwareClock: (any IdleAwareClock)? { get }
}
