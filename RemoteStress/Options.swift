#if NATS
  import Foundation

  /// The options of a run.
  struct Options {
    var seconds = 60.0
    var seed = UInt64.random(in: 1...999_999)
    var publishers = 3
    var members = 3
    /// The weights by which a disturbance is a kill, a freeze or a partition.
    var kill = 0.4
    var freeze = 0.3
    var partition = 0.3
    /// The most publishes of one publisher in a second.
    var rate = 500.0

    /// Reads the options. Throws a sentence that names what was expected and found.
    init(_ arguments: [String]) throws {
      var rest = arguments[...]
      while let name = rest.popFirst() {
        guard let text = rest.popFirst(), let value = Double(text), value >= 0 else {
          throw Refusal("expected a number after \(name), got \(rest.first ?? "nothing")")
        }
        switch name {
        case "--seconds": seconds = value
        case "--seed": seed = UInt64(value)
        case "--publishers": publishers = max(1, Int(value))
        case "--members": members = max(1, Int(value))
        case "--kill": kill = value
        case "--freeze": freeze = value
        case "--partition": partition = value
        case "--rate": rate = max(1, value)
        default:
          throw Refusal(
            """
            expected --seconds, --seed, --publishers, --members, --kill, --freeze, --partition or --rate, got \(name)
            """)
        }
      }
    }
  }

  struct Refusal: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  /// A generator of random numbers from a seed (SplitMix64).
  struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var z = state
      z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
      z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
      return z ^ (z >> 31)
    }
  }
#endif
