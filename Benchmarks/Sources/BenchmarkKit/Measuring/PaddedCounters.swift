import CMeasure

/// Counters of several threads, each on cache lines of its own.
// Safe: each counter has one writer, and all access is atomic.
final class PaddedCounters: @unchecked Sendable {
  private static let stride = 16
  private let base: UnsafeMutablePointer<Int>
  private let count: Int

  init(_ count: Int) {
    self.count = count
    base = .allocate(capacity: count * Self.stride)
    base.initialize(repeating: 0, count: count * Self.stride)
  }
  deinit { base.deallocate() }

  subscript(index: Int) -> Int { cm_load(base + index * Self.stride) }
  func set(_ index: Int, _ value: Int) { cm_store(base + index * Self.stride, value) }
  var sum: Int { (0..<count).reduce(0) { $0 + self[$1] } }
}
