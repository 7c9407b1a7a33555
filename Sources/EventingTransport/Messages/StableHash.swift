/// Equal in all processes. The algorithm is FNV-1a with 64 bits.
func stableHash(_ text: some StringProtocol) -> UInt64 {
  func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return hash
  }
  // Reading bytes of a string one by one takes much longer than reading those of a buffer.
  return text.utf8.withContiguousStorageIfAvailable { unsafe hash($0) } ?? hash(text.utf8)
}
