/// The random decisions of an engine in memory.
///
/// A decision depends only on the seed, the kind of decision and the numbers that say what it is
/// about, not on earlier decisions. So the order in which tasks run changes no decision.
struct Chances: Sendable {
  /// The kinds of decisions.
  enum Kind: UInt64, Sendable { case drop = 1, delay, duplicate, receipt, member, request }

  private let seed: UInt64

  init(seed: UInt64) { self.seed = seed }

  /// Returns the generator for one decision.
  ///
  /// - Parameters:
  ///   - kind: The kind of the decision.
  ///   - numbers: The numbers that say what the decision is about, such as the position of a
  ///     message.
  func generator(_ kind: Kind, _ numbers: UInt64...) -> SeededGenerator {
    var generator = SeededGenerator(seed: seed ^ kind.rawValue)
    for number in numbers { generator = SeededGenerator(seed: generator.next() ^ number) }
    return generator
  }
}

/// A generator of random numbers from a seed (SplitMix64).
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

  /// Returns true with the given probability, and false otherwise.
  mutating func chance(_ probability: Double) -> Bool {
    probability > 0 && Double.random(in: 0..<1, using: &self) < probability
  }
}
