extension Duration {
  /// More than a hundred years. Clocks stop the program if a deadline overflows 64 bits.
  package var isForever: Bool { self > Duration.forever }
  /// A sum that saturates at 292 billion years, where `+` would stop the program.
  @inline(never) package func adding(_ other: Duration) -> Duration { (clamped + other.clamped).clamped }
  private var clamped: Duration { min(max(self, .seconds(-Int64.max)), .seconds(Int64.max)) }

  static let forever = Duration.seconds(100 * 366 * 86_400)

  package var inSeconds: String {
    let (seconds, attoseconds) = components
    return "\(seconds).\(abs(attoseconds) / 100_000_000_000_000_000) s"
  }
}
