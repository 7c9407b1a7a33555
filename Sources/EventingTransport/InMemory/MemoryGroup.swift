import Eventing

/// Each message that the group has not handled is, by its position, in exactly one of ``waiting``,
/// ``again``, ``pending`` and ``delayed``.
final class MemoryGroup {
  /// Each redelivery of a message has a new number.
  struct Pending {
    let delivery: UInt64
    let member: UInt64
  }

  struct Key: Hashable, Sendable {
    let name: String
    let filter: SubjectFilter
  }

  let id: UInt64
  let key: Key?
  let filter: SubjectFilter
  /// Stands for the group in random decisions: see ``Chances``.
  let chance: UInt64
  /// Only the private group of a subscription without a group is ever removed.
  var isGone = false
  /// Not taken by a member yet. The smallest position comes first.
  private(set) var waiting = Deque<UInt64>()
  /// To be redelivered; the largest position first, so that the next one is the last element.
  private var again: [UInt64] = []
  var failures: [UInt64: Int] = [:]
  /// Earlier deliveries of messages that were put back.
  private var deliveries: [UInt64: UInt64] = [:]
  /// Taken by a member, without a verdict yet.
  var pending: [UInt64: Pending] = [:]
  /// Repeated by a fault, at most once.
  var repeated: Set<UInt64> = []
  var delayed: Set<UInt64> = []
  /// May have room, in the order in which they are chosen. May include members whose subscription
  /// has ended.
  var available = Deque<MemoryState.Member>()

  init(_ id: UInt64, _ key: Key?, _ filter: SubjectFilter, chance: UInt64) {
    self.id = id
    self.key = key
    self.filter = filter
    self.chance = chance
  }

  var unhandled: [UInt64] {
    var all = again + pending.keys + delayed
    var rest = waiting
    while let position = rest.popFirst() { all.append(position) }
    return all
  }

  /// Without the time of the oldest message, whose position is the second value.
  var backlog: (Backlog, oldest: UInt64?) {
    let inHand = again.count + pending.count + delayed.count
    let known = Set(deliveries.keys).union(failures.keys)
    let oldest = [again.last, pending.keys.min(), delayed.min(), waiting.first].compactMap { $0 }.min()
    return (Backlog(waiting: waiting.count, inHand: inHand, redelivered: known.count), oldest)
  }

  var hasWork: Bool { !again.isEmpty || !waiting.isEmpty }

  func append(_ position: UInt64) { waiting.append(position) }

  /// Also returns how often the message was delivered to the group, this time included.
  func next() -> (position: UInt64, delivery: UInt64)? {
    guard let position = again.popLast() ?? waiting.popFirst() else { return nil }
    return (position, (deliveries[position] ?? 0) + 1)
  }

  /// The message gets its place in the order back.
  func giveBack(_ position: UInt64) {
    deliveries[position, default: 0] += 1
    var (low, high) = (0, again.count)
    while low < high {
      let middle = (low + high) / 2
      if again[middle] > position { low = middle + 1 } else { high = middle }
    }
    again.insert(position, at: low)
  }

  func forget(_ position: UInt64) {
    if !failures.isEmpty { failures[position] = nil }
    if !deliveries.isEmpty { deliveries[position] = nil }
    if !repeated.isEmpty { repeated.remove(position) }
  }

  /// Returns the number of messages without a verdict, which are put back.
  func giveBackPending() -> Int {
    defer { pending = [:] }
    for position in pending.keys { giveBack(position) }
    return pending.count
  }
}
