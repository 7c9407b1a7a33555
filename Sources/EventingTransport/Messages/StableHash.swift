/// Equal in all processes. The algorithm is FNV-1a with 64 bits.
func stableHash(_ text: some StringProtocol) -> UInt64 {
  text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
}
