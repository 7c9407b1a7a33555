/// An instant whose layout clients of this module know: that of `ContinuousClock.Instant` is the standard library's own affair, and a struct that holds one is
/// handled through tables at run time (+150 instructions a post).
@usableFromInline struct StableInstant: Sendable {
  private static let origin = ContinuousClock.now
  @usableFromInline let sinceOrigin: Duration

  @usableFromInline static var now: StableInstant { StableInstant(.now) }

  init(_ instant: ContinuousClock.Instant) { sinceOrigin = StableInstant.origin.duration(to: instant) }

  var instant: ContinuousClock.Instant { StableInstant.origin.advanced(by: sinceOrigin) }
}
