#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Random numbers that a seed brings back (SplitMix64).
struct SeededGenerator: RandomNumberGenerator, Sendable {
  let seed: UInt64
  private var state: UInt64

  init(seed: UInt64) {
    self.seed = seed
    state = seed
  }

  /// From the seed in `EVENTING_SEED`, or from a new one; prints it, so that it can be given back.
  static func fresh(_ purpose: String) -> SeededGenerator {
    let given = unsafe getenv("EVENTING_SEED").flatMap { unsafe UInt64(String(cString: $0)) }
    let seed = given ?? .random(in: 1...UInt64(UInt32.max))
    print("\(purpose): EVENTING_SEED=\(seed)")
    return SeededGenerator(seed: seed)
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
