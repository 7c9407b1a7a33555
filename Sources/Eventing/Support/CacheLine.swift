/// Padding that keeps the fields before and after it on different cache lines (64 bytes).
struct CacheLine {
  private let bytes: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
}
