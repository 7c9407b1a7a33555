import Dispatch

/// Time in nanoseconds, the same on all cores: what one thread reads before another thread's later reading is not greater.
///
/// Comparisons are strict, so that two readings in the same nanosecond prove nothing. Reading it orders no memory: the thread sanitizer sees the
/// library's own synchronization and none of the oracle's.
enum Clock {
  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }
}

/// When an operation began and returned.
struct Span: Sendable {
  var start: UInt64
  var end: UInt64

  /// From now until ``finish()``.
  static var open: Span { Span(start: Clock.now, end: .max) }

  mutating func finish() { end = Clock.now }

  func isBefore(_ other: Span) -> Bool { end < other.start }
  func overlaps(_ other: Span) -> Bool { !isBefore(other) && !other.isBefore(self) }
}
