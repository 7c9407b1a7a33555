import Eventing

/// A group of a stream in memory, or a subscription without a group.
///
/// Each message that it has not handled is in exactly one of ``waiting``, ``again``, ``pending``
/// and ``delayed``.
struct MemoryGroup: Sendable {
  /// One delivery of one message. A message that is given back, and delivered again, has another
  /// number.
  struct Pending: Sendable {
    let delivery: UInt64
    let member: UInt64
  }

  /// The name and the subject of a durable group.
  struct Key: Hashable, Sendable {
    let name: String
    let filter: SubjectFilter
  }

  let id: UInt64
  /// `nil` for a subscription without a group.
  let key: Key?
  let filter: SubjectFilter
  /// The number by which faults are decided.
  let chance: UInt64
  /// The messages that no member has taken, in their order.
  private(set) var waiting = Deque<UInt64>()
  /// The messages that come again, the last one first.
  private var again: [UInt64] = []
  /// The numbers of failed attempts.
  var failures: [UInt64: Int] = [:]
  /// The numbers of deliveries of the messages that are not handled.
  private(set) var deliveries: [UInt64: UInt64] = [:]
  /// The messages without a verdict.
  var pending: [UInt64: Pending] = [:]
  /// The messages that a fault repeats, each once.
  var repeated: Set<UInt64> = []
  /// The messages that come again after a delay.
  var delayed: Set<UInt64> = []
  /// The members that could take a message when they were looked at last, the next one first. Some
  /// may have gone.
  var available = Deque<UInt64>()

  init(_ id: UInt64, _ key: Key?, _ filter: SubjectFilter, chance: UInt64) {
    self.id = id
    self.key = key
    self.filter = filter
    self.chance = chance
  }

  /// All messages that are not handled.
  var unhandled: [UInt64] {
    var all = again + pending.keys + delayed
    var rest = waiting
    while let position = rest.popFirst() { all.append(position) }
    return all
  }

  /// Whether a message waits.
  var hasWork: Bool { !again.isEmpty || !waiting.isEmpty }

  /// Adds a new message.
  mutating func append(_ position: UInt64) { waiting.append(position) }

  /// Takes out the next message. Returns its position, and the number of this delivery; `nil` if
  /// there is none.
  mutating func next() -> (position: UInt64, delivery: UInt64)? {
    guard let position = again.popLast() ?? waiting.popFirst() else { return nil }
    deliveries[position, default: 0] += 1
    return (position, deliveries[position] ?? 1)
  }

  /// Lets a message come again, in its place.
  mutating func giveBack(_ position: UInt64) {
    var (low, high) = (0, again.count)
    while low < high {
      let middle = (low + high) / 2
      if again[middle] > position { low = middle + 1 } else { high = middle }
    }
    again.insert(position, at: low)
  }

  /// Forgets a message that was handled.
  mutating func forget(_ position: UInt64) {
    failures[position] = nil
    deliveries[position] = nil
    repeated.remove(position)
  }

  /// Gives back all messages without a verdict.
  mutating func giveBackPending() {
    for position in pending.keys { giveBack(position) }
    pending = [:]
  }
}
