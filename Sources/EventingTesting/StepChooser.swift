struct StepChooser {
  private enum Way {
    case random
    case priorities(changes: Set<Int>)
    case script([(choice: Int, count: Int)])
  }

  private let way: Way
  private var random: SplitMix
  private var step = 0
  private var priorities: [UInt64: UInt64] = [:]
  /// The next change of priority gives a lower one.
  private var lowest = UInt64(1) << 32

  init(_ strategy: Simulation.Strategy, seed: UInt64) {
    var random = SplitMix(state: seed)
    switch strategy {
    case .random: way = .random
    case .priorities(let changes):
      // More draws than steps would hardly find another step.
      way = .priorities(changes: Set((0..<min(64, max(0, changes))).map { _ in Int(random.next() % 64) }))
    }
    self.random = random
  }

  /// Always chooses the first step after the script.
  init(_ script: [(choice: Int, count: Int)]) {
    way = .script(script)
    random = SplitMix(state: 0)
  }

  /// `nil` if the script expects a different number of eligible steps.
  ///
  /// - Parameter ready: The numbers of tasks and queues with an eligible step.
  mutating func choose(_ ready: [UInt64]) -> Int? {
    defer { step += 1 }
    switch way {
    case .random: return Int(random.next() % UInt64(ready.count))
    case .script(let script):
      guard step < script.count else { return 0 }
      return script[step].count == ready.count ? script[step].choice : nil
    case .priorities(let changes):
      for id in ready where priorities[id] == nil { priorities[id] = random.next() | (1 << 63) }
      if changes.contains(step) {
        lowest -= 1
        priorities[ready[highest(ready)]] = lowest
      }
      return highest(ready)
    }
  }

  private func highest(_ ready: [UInt64]) -> Int {
    ready.indices.max { (priorities[ready[$0]] ?? 0) < (priorities[ready[$1]] ?? 0) } ?? 0
  }
}

/// Equal results on every platform (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, 2014).
package struct SplitMix: RandomNumberGenerator, Sendable {
  var state: UInt64

  package init(state: UInt64) { self.state = state }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }
}
