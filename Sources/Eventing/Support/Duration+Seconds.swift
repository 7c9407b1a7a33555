extension Duration {
  /// Whether the duration is more than a hundred years.
  ///
  /// Clocks compute deadlines in 64 bits, and stop the program if the sum overflows.
  var isForever: Bool { self > Duration.forever }
  /// A hundred years. The library treats a longer wait as endless, and starts no timer for it.
  static let forever = Duration.seconds(100 * 366 * 86_400)

  /// The duration in seconds with one digit, for a log: `2.1 s`.
  var inSeconds: String {
    let (seconds, attoseconds) = components
    return "\(seconds).\(abs(attoseconds) / 100_000_000_000_000_000) s"
  }
}
