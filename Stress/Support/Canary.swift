import Synchronization

/// An object that is counted as long as it lives. Handlers, payloads and owners contain canaries,
/// so that the counts reveal leaks.
final class Canary: Sendable {
  enum Kind: Int, CaseIterable, Sendable {
    case handler, payload, owner
  }

  let kind: Kind
  /// A flag that ``isAlive`` reads, so that the compiler keeps a canary that a closure captures.
  private let beat = Atomic<Bool>(true)

  var isAlive: Bool { beat.load(ordering: .relaxed) }

  init(_ kind: Kind) {
    self.kind = kind
    Canary.living[kind.rawValue].add(1)
  }

  deinit { Canary.living[kind.rawValue].add(-1) }

  /// Returns the number of living canaries of one kind.
  static func alive(_ kind: Kind) -> Int { living[kind.rawValue].value }

  /// The number of living canaries.
  static var alive: Int { living.reduce(0) { $0 + $1.value } }

  /// The living canaries by kind, such as "2 of kind handler, 1 of kind payload".
  static var description: String {
    Kind.allCases.filter { alive($0) != 0 }.map { "\(alive($0)) of kind \($0)" }.joined(separator: ", ")
  }

  private static let living = Kind.allCases.map { _ in Counter() }
}

/// A weak reference to an event, which shows whether the event is deallocated. Handlers, payloads
/// and owners show it by a ``Canary`` in them. An event cannot: it is a type of the library, to
/// which the stress program adds no field.
struct WeakLook: Sendable {
  weak let object: (any AnyObject & Sendable)?
}

/// A number that any thread may change.
final class Counter: Sendable {
  private let atomic = Atomic<Int>(0)

  var value: Int { atomic.load(ordering: .acquiring) }

  @discardableResult func add(_ number: Int = 1) -> Int {
    atomic.wrappingAdd(number, ordering: .acquiringAndReleasing).newValue
  }

  /// Raises the value to `number`, unless it is greater already.
  func raise(to number: Int) {
    var seen = atomic.load(ordering: .relaxed)
    while number > seen {
      let (done, now) = atomic.compareExchange(expected: seen, desired: number, ordering: .relaxed)
      if done { return }
      seen = now
    }
  }
}
