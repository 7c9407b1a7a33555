import Dispatch

/// A monotonic clock in nanoseconds. All cores share it: no reading is greater than a later reading
/// on another thread.
///
/// Comparisons of readings are strict, because two equal readings prove no order. A reading does
/// not order memory. So the checks, which read the clock around each operation, add no
/// synchronization that could hide a race from the thread sanitizer.
enum Clock {
  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }
}

/// The time from the beginning of an operation to its return.
struct Span: Sendable {
  var start: UInt64
  var end: UInt64

  /// A span that begins now and lasts until ``finish()``.
  static var open: Span { Span(start: Clock.now, end: .max) }

  mutating func finish() { end = Clock.now }

  func isBefore(_ other: Span) -> Bool { end < other.start }
  func overlaps(_ other: Span) -> Bool { !isBefore(other) && !other.isBefore(self) }
}
