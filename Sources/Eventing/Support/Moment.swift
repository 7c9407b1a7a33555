/// An instant whose layout clients of this module know: that of `ContinuousClock.Instant` is the standard library's own affair, and a struct that holds one is
/// handled through tables at run time (+150 instructions a post).
@usableFromInline struct Moment: Sendable {
  private static let origin = ContinuousClock.now
  @usableFromInline let sinceOrigin: Duration

  @usableFromInline static var now: Moment { Moment(.now) }

  init(_ instant: ContinuousClock.Instant) { sinceOrigin = Moment.origin.duration(to: instant) }

  var instant: ContinuousClock.Instant { Moment.origin.advanced(by: sinceOrigin) }
}
