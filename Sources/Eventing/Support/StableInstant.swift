/// Clients don't know the layout of `ContinuousClock.Instant`, so the runtime would handle a struct
/// that contains one through metadata: a post took 216 instructions instead of 65 (x86-64).
@usableFromInline struct StableInstant: Sendable {
  private static let origin = ContinuousClock.now
  let sinceOrigin: Duration

  @inline(never) static var now: StableInstant { StableInstant(.now) }

  init(_ instant: ContinuousClock.Instant) { sinceOrigin = StableInstant.origin.duration(to: instant) }

  func since(_ earlier: StableInstant) -> Duration { sinceOrigin - earlier.sinceOrigin }

  var instant: ContinuousClock.Instant { StableInstant.origin.advanced(by: sinceOrigin) }
}

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
