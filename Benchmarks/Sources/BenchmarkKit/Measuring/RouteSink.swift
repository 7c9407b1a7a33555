import CMeasure

/// Receives the payloads that a route delivers.
///
/// Unless the route is concurrent, there is one writer at a time. The harness reads meanwhile.
// Safe: each counter in `words` is either atomic, or written by the handler alone, like
// `latencies`. The harness reads what is not atomic after the handler has counted the payload in
// the atomic `count`.
final class RouteSink: @unchecked Sendable {
  private enum Word: Int, CaseIterable { case count, sum, last, disorder }
  private static let stride = 16
  /// The maximum number of latencies that are kept.
  static let capacity = 1 << 16

  private let words: UnsafeMutablePointer<Int>
  private let latencies: UnsafeMutablePointer<Int>

  init() {
    words = .allocate(capacity: Word.allCases.count * Self.stride)
    words.initialize(repeating: 0, count: Word.allCases.count * Self.stride)
    latencies = .allocate(capacity: Self.capacity)
    latencies.initialize(repeating: 0, count: Self.capacity)
  }
  // The memory is never freed: a late delivery must still find its counters.

  private func word(_ word: Word) -> UnsafeMutablePointer<Int> { words + word.rawValue * Self.stride }

  func reset() { for each in Word.allCases { cm_store(word(each), 0) } }
  var count: Int { cm_load(word(.count)) }
  var sum: Int { cm_load(word(.sum)) }
  /// The number of payloads that came out of order.
  var disorder: Int { cm_load(word(.disorder)) }
  /// The latencies of the occurrences since the last reset, in nanoseconds.
  var latenciesSeen: [Double] { (0..<min(count, Self.capacity)).map { Double(latencies[$0]) } }

  /// Returns a handler that counts payloads, adds them up, and checks their order.
  ///
  /// The handler of a concurrent route does not check the order.
  func counter(isConcurrent: Bool) -> @Sendable (Int) -> Void {
    // Safe: see the type.
    nonisolated(unsafe) let count = word(.count), sum = word(.sum), last = word(.last), disorder = word(.disorder)
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

  /// Returns a handler that records latencies. Each payload must be the time of its send.
  func stopwatch() -> @Sendable (Int) -> Void {
    // Safe: see the type.
    nonisolated(unsafe) let count = word(.count), latencies = latencies
    return { sent in
      let latency = cm_now() - sent, index = cm_load(count)
      latencies[index & (RouteSink.capacity - 1)] = latency
      cm_store(count, index + 1)
    }
  }
}
