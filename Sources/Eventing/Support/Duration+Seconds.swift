extension Duration {
  /// Whether the duration is more than a hundred years.
  ///
  /// Clocks compute deadlines in 64 bits, and stop the program if the sum overflows.
  package var isForever: Bool { self > Duration.forever }
  /// Returns the sum of two durations. Beyond 292 billion years, in either direction, returns that
  /// limit: the sum of the longest durations overflows, and `+` then stops the program.
  @inline(never) package func adding(_ other: Duration) -> Duration { (clamped + other.clamped).clamped }
  private var clamped: Duration { min(max(self, .seconds(-Int64.max)), .seconds(Int64.max)) }

  /// A hundred years. The library treats a longer wait as endless, and starts no timer for it.
  static let forever = Duration.seconds(100 * 366 * 86_400)

  /// The duration in seconds with one digit, for a log: `2.1 s`.
  package var inSeconds: String {
    let (seconds, attoseconds) = components
    return "\(seconds).\(abs(attoseconds) / 100_000_000_000_000_000) s"
  }
}
