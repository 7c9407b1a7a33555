/// SplitMix64, a small and fast generator. Equal seeds give equal numbers on every platform.
struct Random: RandomNumberGenerator, Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  /// Creates an independent generator for a combination of numbers, such as scenario, round and
  /// worker.
  init(seed: UInt64, _ parts: Int...) {
    state = seed
    for part in parts { state = next() ^ UInt64(truncatingIfNeeded: part) }
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// Returns a number from 0 up to, but not including, `limit`.
  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(1, limit))) }

  /// Returns true once in `number` calls, on average.
  mutating func oneIn(_ number: Int) -> Bool { below(number) == 0 }

  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

  /// Returns the index of one of the weights, with a probability in proportion to its weight.
  mutating func weighted(_ weights: [Int]) -> Int {
    var left = below(weights.reduce(0, +))
    for (index, weight) in weights.enumerated() {
      if left < weight { return index }
      left -= weight
    }
    return 0
  }
}
