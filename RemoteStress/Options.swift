#if NATS
  import Foundation

  /// The options of a run.
  struct Options {
    var seconds = 60.0
    var seed = UInt64.random(in: 1...999_999)
    var publishers = 3
    var members = 3
    /// The weights of the kinds of disturbance: a kill, a freeze, a partition, a new stream of the
    /// same name.
    var kill = 0.4
    var freeze = 0.3
    var partition = 0.3
    var remake = 0.05
    /// The largest number of publishes of one publisher in a second.
    var rate = 500.0
    /// The number of brokers. With three, each stream has three replicas.
    var nodes = 1
    /// The program nats-server; `nil` for that of the system.
    var server: String?

    static let help = """
      Publishers, members of two groups and a broker, each a process, are killed, frozen and cut off at random.
      Each message that was stored must be handled or be a dead letter, for each group. Repeats follow a verdict that was
      lost, with a process or with a part of the broker's record of the group. Each receipt must name the place of its message
      in the stream. At the end the handlers are mended, and dead letters are sent again: each must be handled, and once.

        --seconds n      how long the processes are disturbed (60)
        --seed n         the seed of the disturbances (random)
        --publishers n   the processes that publish (3)
        --members n      the processes of each group (3)
        --kill w         the weight of kills among the disturbances (0.4)
        --freeze w       the weight of freezes (0.3)
        --partition w    the weight of cuts between a process and the broker (0.3)
        --remake w       the weight of deletions of the stream, which is then made again (0.05)
        --rate n         the most publishes of one publisher in a second (500)
        --nodes n        the brokers, 1 to 5; each has a replica of each stream (1)
        --server path    the program nats-server (that of the system)
        --help           this text

      The exit code is 0 if nothing was lost, 1 if something was or the run could not be judged, and 64 for wrong options.
      """

    /// Reads the options. Throws a sentence that names the expected and the found text.
    init(_ arguments: [String]) throws {
      var rest = arguments[...]
      while let name = rest.popFirst() {
        let text = rest.popFirst()
        if name == "--server", let text {
          server = text
          continue
        }
        guard let value = text.flatMap({ Double($0) }), value >= 0, value < 1e9 else {
          throw Refusal("expected a number from 0 to a billion after \(name), got \(text ?? "nothing")")
        }
        switch name {
        case "--seconds": seconds = value
        case "--seed": seed = UInt64(value)
        case "--publishers": publishers = max(1, Int(value))
        case "--members": members = max(1, Int(value))
        case "--kill": kill = value
        case "--freeze": freeze = value
        case "--partition": partition = value
        case "--remake": remake = value
        case "--rate": rate = max(1, value)
        case "--nodes":
          guard (1...5).contains(value) else { throw Refusal("expected --nodes 1 to 5, got \(value)") }
          nodes = Int(value)
        default:
          throw Refusal(
            """
            expected --seconds, --seed, --publishers, --members, --kill, --freeze, --partition, --remake, --rate, --nodes, --server or --help, got \(name)
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
