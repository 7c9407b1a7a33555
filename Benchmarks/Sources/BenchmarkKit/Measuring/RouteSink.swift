import CMeasure

/// Receives what a route delivers.
///
/// One writer at a time, unless the route is concurrent; the harness reads while it is written to.
final class RouteSink: @unchecked Sendable {  // atomic, or written by the one handler only and read when it has been counted
  private enum Word: Int, CaseIterable { case count, sum, last, disorder }
  private static let stride = 16
  static let capacity = 1 << 16

  private let words: UnsafeMutablePointer<Int>
  private let latencies: UnsafeMutablePointer<Int>

  init() {
    words = .allocate(capacity: Word.allCases.count * Self.stride)
    words.initialize(repeating: 0, count: Word.allCases.count * Self.stride)
    latencies = .allocate(capacity: Self.capacity)
    latencies.initialize(repeating: 0, count: Self.capacity)
  }
  // No deinit: a late delivery must still find its words.

  private func word(_ word: Word) -> UnsafeMutablePointer<Int> { words + word.rawValue * Self.stride }

  func reset() { for each in Word.allCases { cm_store(word(each), 0) } }
  var count: Int { cm_load(word(.count)) }
  var sum: Int { cm_load(word(.sum)) }
  var disorder: Int { cm_load(word(.disorder)) }
  /// Of the occurrences since the reset, in nanoseconds.
  var latenciesSeen: [Double] { (0..<min(count, Self.capacity)).map { Double(latencies[$0]) } }

  /// Counts, adds up, and looks at the order.
  func counter(isConcurrent: Bool) -> @Sendable (Int) -> Void {
    nonisolated(unsafe) let count = word(.count), sum = word(.sum), last = word(.last), disorder = word(.disorder)  // see the type
    if isConcurrent {
      return { value in
        _ = cm_add(sum, value)
        _ = cm_add(count, 1)
      }
    }
    return { value in
      sum.pointee &+= value
      if value <= last.pointee { disorder.pointee += 1 }
      last.pointee = value
      cm_store(count, count.pointee + 1)
    }
  }

  /// The payload is the time at which it was sent.
  func stopwatch() -> @Sendable (Int) -> Void {
    nonisolated(unsafe) let count = word(.count), latencies = latencies  // see the type
    return { sent in
      let latency = cm_now() - sent, index = cm_load(count)
      latencies[index & (RouteSink.capacity - 1)] = latency
      cm_store(count, index + 1)
    }
  }
}
