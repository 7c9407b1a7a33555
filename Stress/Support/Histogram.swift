/// A histogram of durations. Each power of two has 16 buckets, so a quantile is exact within 6 %.
struct Histogram: Sendable {
  private var buckets = [Int](repeating: 0, count: 64 * 16)
  private(set) var count = 0
  private(set) var max: UInt64 = 0

  mutating func add(_ span: Span) { add(span.end &- span.start) }

  mutating func add(_ nanoseconds: UInt64) {
    buckets[Histogram.bucket(nanoseconds)] += 1
    count += 1
    if nanoseconds > max { max = nanoseconds }
  }

  mutating func add(_ other: Histogram) {
    for index in buckets.indices { buckets[index] += other.buckets[index] }
    count += other.count
    max = Swift.max(max, other.max)
  }

  /// Returns a histogram of the durations that were added since `earlier` was copied.
  func since(_ earlier: Histogram) -> Histogram {
    var copy = self
    for index in buckets.indices { copy.buckets[index] -= earlier.buckets[index] }
    copy.count -= earlier.count
    return copy
  }

  /// Returns the duration that the fraction `part` of the entries does not exceed, or nil if there
  /// are no entries.
  func quantile(_ part: Double) -> UInt64? {
    guard count > 0 else { return nil }
    var left = Int((Double(count) * part).rounded(.up))
    for (index, number) in buckets.enumerated() {
      left -= number
      if left <= 0 { return min(Histogram.upperBound(index), max) }
    }
    return max
  }

  private static func bucket(_ value: UInt64) -> Int {
    guard value >= 16 else { return Int(value) }
    let power = 63 - value.leadingZeroBitCount
    return (power - 3) * 16 + Int((value >> UInt64(power - 4)) & 15)
  }

  private static func upperBound(_ index: Int) -> UInt64 {
    guard index >= 16 else { return UInt64(index) }
    return (UInt64(16 + index % 16 + 1) << UInt64(index / 16 - 1)) - 1
  }
}
