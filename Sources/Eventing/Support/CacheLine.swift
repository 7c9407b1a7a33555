/// Padding: the fields before and after it lie on different cache lines (64 bytes).
struct CacheLine {
  private let bytes: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
}
