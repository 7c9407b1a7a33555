/// A decision depends only on the seed, its kind and the numbers that say what it is about, not on
/// earlier decisions. So the order in which tasks run changes none.
struct Chances: Sendable {
  enum Kind: UInt64, Sendable { case drop = 1, delay, duplicate, receipt, member, request }

  private let seed: UInt64

  init(seed: UInt64) { self.seed = seed }

  func generator(_ kind: Kind, _ numbers: UInt64...) -> SeededGenerator {
    var generator = SeededGenerator(seed: seed ^ kind.rawValue)
    for number in numbers { generator = SeededGenerator(seed: generator.next() ^ number) }
    return generator
  }
}

/// The algorithm is SplitMix64.
struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func chance(_ probability: Double) -> Bool {
    probability > 0 && Double.random(in: 0..<1, using: &self) < probability
  }
}
