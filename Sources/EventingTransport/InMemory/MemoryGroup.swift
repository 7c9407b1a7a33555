import Eventing

/// A group of a stream in memory, or a subscription without a group.
///
/// A message is recorded by its position in the stream. Each one that the group has not handled is
/// in exactly one of ``waiting``, ``again``, ``pending`` and ``delayed``.
final class MemoryGroup {
  /// One delivery of one message. Each redelivery of the message has a new number.
  struct Pending {
    let delivery: UInt64
    let member: UInt64
  }

  /// The name and the subject of a durable group.
  struct Key: Hashable, Sendable {
    let name: String
    let filter: SubjectFilter
  }

  let id: UInt64
  /// The key of a durable group; `nil` for a subscription without a group.
  let key: Key?
  let filter: SubjectFilter
  /// The number that stands for this group in random decisions about faults: see ``Chances``.
  let chance: UInt64
  /// Whether the group was removed. Only the private group of a subscription without a group is
  /// removed, when the subscription ends.
  var isGone = false
  /// The positions of the messages that no member has taken yet, the smallest first.
  private(set) var waiting = Deque<UInt64>()
  /// The positions of the messages to be redelivered, the largest first. The next message to
  /// redeliver has the smallest position, and so is the last element.
  private var again: [UInt64] = []
  /// The number of failed attempts of each message.
  var failures: [UInt64: Int] = [:]
  /// The number of earlier deliveries of each message that was put back for redelivery.
  private var deliveries: [UInt64: UInt64] = [:]
  /// The messages that a member has taken, and that have no verdict yet.
  var pending: [UInt64: Pending] = [:]
  /// The messages that a fault has repeated for this group. Each is repeated once at most.
  var repeated: Set<UInt64> = []
  /// The messages to be redelivered after a delay.
  var delayed: Set<UInt64> = []
  /// The members that may have room for a message, in the order in which they are chosen. Members
  /// whose subscription has ended may still be among them.
  var available = Deque<MemoryState.Member>()

  init(_ id: UInt64, _ key: Key?, _ filter: SubjectFilter, chance: UInt64) {
    self.id = id
    self.key = key
    self.filter = filter
    self.chance = chance
  }

  /// All messages that the group has not handled.
  var unhandled: [UInt64] {
    var all = again + pending.keys + delayed
    var rest = waiting
    while let position = rest.popFirst() { all.append(position) }
    return all
  }

  /// Whether a message waits for a member that takes it.
  var hasWork: Bool { !again.isEmpty || !waiting.isEmpty }

  /// Adds a new message.
  func append(_ position: UInt64) { waiting.append(position) }

  /// Removes the next message. Returns its position and how often the message was delivered to the
  /// group, this time included; `nil` if there is none.
  func next() -> (position: UInt64, delivery: UInt64)? {
    guard let position = again.popLast() ?? waiting.popFirst() else { return nil }
    return (position, (deliveries[position] ?? 0) + 1)
  }

  /// Puts a message back for redelivery, at its place in the order.
  func giveBack(_ position: UInt64) {
    deliveries[position, default: 0] += 1
    var (low, high) = (0, again.count)
    while low < high {
      let middle = (low + high) / 2
      if again[middle] > position { low = middle + 1 } else { high = middle }
    }
    again.insert(position, at: low)
  }

  /// Removes the record of a handled message.
  func forget(_ position: UInt64) {
    if !failures.isEmpty { failures[position] = nil }
    if !deliveries.isEmpty { deliveries[position] = nil }
    if !repeated.isEmpty { repeated.remove(position) }
  }

  /// Puts all messages without a verdict back for redelivery. Returns their number.
  func giveBackPending() -> Int {
    defer { pending = [:] }
    for position in pending.keys { giveBack(position) }
    return pending.count
  }
}
