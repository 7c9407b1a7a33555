/// Padding of one cache line, 64 bytes.
///
/// Fields before it and fields after it lie on different lines. So a thread that writes the fields
/// of one group does not take the line of the other group from a thread that reads it.
struct CacheLine {
  private let bytes: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
}
