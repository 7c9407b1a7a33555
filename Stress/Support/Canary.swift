import Synchronization

/// An object that is counted while it lives: held by what must go away, it shows what did not.
final class Canary: Sendable {
  enum Kind: Int, CaseIterable, Sendable {
    case handler, payload, owner
  }

  let kind: Kind
  /// Read by ``isAlive``, so that the compiler keeps what is captured for its sake.
  private let beat = Atomic<Bool>(true)

  var isAlive: Bool { beat.load(ordering: .relaxed) }

  init(_ kind: Kind) {
    self.kind = kind
    Canary.living[kind.rawValue].add(1)
  }

  deinit { Canary.living[kind.rawValue].add(-1) }

  /// How many of that kind are alive.
  static func alive(_ kind: Kind) -> Int { living[kind.rawValue].value }

  /// How many are alive in all.
  static var alive: Int { living.reduce(0) { $0 + $1.value } }

  /// "2 handlers, 1 payload".
  static var description: String {
    Kind.allCases.filter { alive($0) != 0 }.map { "\(alive($0)) of kind \($0)" }.joined(separator: ", ")
  }

  private static let living = Kind.allCases.map { _ in Counter() }
}

/// Looks at an object without keeping it: for events, which cannot hold a canary.
struct WeakLook: Sendable {
  weak let object: (any AnyObject & Sendable)?
}

/// A number that any thread may add to.
final class Counter: Sendable {
  private let atomic = Atomic<Int>(0)

  var value: Int { atomic.load(ordering: .acquiring) }

  @discardableResult func add(_ number: Int = 1) -> Int {
    atomic.wrappingAdd(number, ordering: .acquiringAndReleasing).newValue
  }

  /// Becomes `number` if that is more.
  func raise(to number: Int) {
    var seen = atomic.load(ordering: .relaxed)
    while number > seen {
      let (done, now) = atomic.compareExchange(expected: seen, desired: number, ordering: .relaxed)
      if done { return }
      seen = now
    }
  }
}
