/// How often a handler that throws is attempted, and the delays between attempts.
public struct RetryPolicy: Hashable, Sendable {
  package let attempts: Int
  let delays: ClosedRange<Duration>?
  let hasJitter: Bool

  /// Returns a policy without delays.
  ///
  /// - Parameter attempts: The maximum number of attempts, including the first one. A number below
  ///   1 counts as 1.
  public static func immediately(attempts: Int) -> RetryPolicy {
    RetryPolicy(attempts: max(1, attempts), delays: nil, hasJitter: false)
  }

  /// Returns a policy with equal delays.
  ///
  /// - Parameters:
  ///   - delay: The delay before each attempt except the first. A negative delay counts as zero.
  ///   - attempts: The maximum number of attempts, including the first one. A number below 1 counts
  ///     as 1.
  public static func constant(_ delay: Duration, attempts: Int) -> RetryPolicy {
    exponential(from: delay, to: delay, attempts: attempts, jitter: false)
  }

  /// Returns a policy with delays that double.
  ///
  /// The jitter keeps clients that failed together from retrying together.
  ///
  /// - Parameters:
  ///   - first: The delay before the second attempt. A negative delay counts as zero.
  ///   - longest: The longest delay. A delay shorter than `first` counts as `first`.
  ///   - attempts: The maximum number of attempts, including the first one. A number below 1 counts
  ///     as 1.
  ///   - jitter: Whether to draw each delay at random, uniformly from the second half of the delay
  ///     without jitter.
  public static func exponential(
    from first: Duration, to longest: Duration, attempts: Int, jitter: Bool = true
  ) -> RetryPolicy {
    // Half of the longest delay is still forever, and its double doesn't overflow.
    let first = min(max(.zero, first), .forever * 4)
    let last = min(max(first, longest), .forever * 4)
    return RetryPolicy(attempts: max(1, attempts), delays: first...last, hasJitter: jitter)
  }

  func fullDelay(after attempts: Int) -> Duration {
    guard let delays else { return .zero }
    var (delay, left) = (delays.lowerBound, attempts - 1)
    while left > 0, delay > .zero, delay < delays.upperBound {
      delay = min(delay * 2, delays.upperBound)
      left -= 1
    }
    return delay
  }

  /// In a simulation, which must be repeatable, the jitter depends only on the number of attempts.
  package func delay(after attempts: Int) -> Duration {
    let full = fullDelay(after: attempts)
    guard hasJitter, full > .zero else { return full }
    let part = Scheduling.isSimulated ? Double(attempts * 37 % 100) / 100 : Double.random(in: 0...1)
    return full * (0.5 + part / 2)
  }
}

extension RetryPolicy: CustomStringConvertible {
  /// One line for a log.
  public var description: String {
    guard let delays else { return "immediately(attempts: \(attempts))" }
    if delays.lowerBound == delays.upperBound, !hasJitter {
      return "constant(\(delays.lowerBound), attempts: \(attempts))"
    }
    return "exponential(from: \(delays.lowerBound), to: \(delays.upperBound), attempts: \(attempts))"
  }
}
