#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif
import EventingTesting

/// SplitMix64.
struct SeededGenerator: RandomNumberGenerator, Sendable {
  let seed: UInt64
  private var random: SplitMix

  init(seed: UInt64) {
    self.seed = seed
    random = SplitMix(state: seed)
  }

  /// Takes the seed from `EVENTING_SEED`, and prints it, so that a run can be repeated.
  static func fresh(_ purpose: String) -> SeededGenerator {
    let given = unsafe getenv("EVENTING_SEED").flatMap { unsafe UInt64(String(cString: $0)) }
    let seed = given ?? .random(in: 1...UInt64(UInt32.max))
    print("\(purpose): EVENTING_SEED=\(seed)")
    return SeededGenerator(seed: seed)
  }

  mutating func next() -> UInt64 { random.next() }
}
