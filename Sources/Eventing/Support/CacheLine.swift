/// Keeps what is declared before it and what is declared after it on different lines of the cache, so that those who write the one do not take the other away
/// from those who read it.
struct CacheLine {
  private let bytes: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
}
