/// Padding of one cache line, 64 bytes.
///
/// Fields before it and fields after it lie on different lines. So threads that write one group do
/// not take the other group from threads that read it.
struct CacheLine {
  private let bytes: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
}
