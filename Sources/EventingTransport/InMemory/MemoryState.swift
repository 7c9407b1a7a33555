import Eventing

/// The state of an engine in memory. Guarded by the mutex of its ``InMemoryTransport``, and so are
/// its members and groups, which are objects so that a change copies nothing.
struct MemoryState {
  /// The state of a subscription.
  final class Member {
    /// The subscription; `nil` when it has ended. The subscription retains a closure of the user,
    /// which must not be released under the mutex. A group may keep this member longer than the
    /// subscription lasts, and release the member under the mutex.
    private(set) var subscription: MemorySubscription?
    let filter: SubjectFilter
    let inFlight: Int
    let groupName: String?
    /// The group in the stream; `nil` without a stream. Not retained, because the group refers to
    /// its members. The dictionary `groups` retains the group at least until its last subscription
    /// has ended.
    unowned let group: MemoryGroup?
    /// The number that stands for this subscription in random decisions about faults: see
    /// ``Chances``. It is used only without a stream. In a stream, ``MemoryGroup/chance`` is used.
    let chance: UInt64
    var isGone: Bool { subscription == nil }
    /// The number of messages that the subscription has taken and that have no verdict yet.
    var inHand = 0
    /// Whether the subscription accepts new messages: false after a call of `drain(within:)`.
    var isOpen = true
    /// Whether the pump of the subscription, a task that takes messages, is running.
    var isPumping = false
    /// Whether the pump, the task that takes messages, must check for messages again before it
    /// ends.
    var mustLook = false
    /// Whether the subscription takes nothing for some time, after it has released a message.
    var isPaused = false
    /// Whether the subscription could handle no message at the last check, and `readinessChanged()`
    /// was not called since.
    var isUnready = false
    /// Whether this member is in ``MemoryGroup/available``, the list of the members that may have
    /// room for a message.
    var isListed = false
    /// The waiting messages of a subscription without a stream, with their numbers.
    var queue = Deque<(message: RemoteMessage, number: UInt64)>()
    /// The number of messages that a subscription without a stream has lost since the last incident
    /// that told of lost messages.
    var lost = 0
    /// The calls of `drain(within:)` that wait until the messages that the subscription has taken,
    /// and those in `queue`, have a verdict.
    var drainers: [CheckedContinuation<Void, Never>] = []

    init(_ subscription: MemorySubscription, _ group: MemoryGroup?, chance: UInt64) {
      self.subscription = subscription
      filter = subscription.filter
      (inFlight, groupName) = (subscription.options.inFlight, subscription.options.group)
      self.group = group
      self.chance = chance
    }

    /// Ends the subscription. Returns the messages that wait for it. The caller releases the
    /// subscription and these messages after the unlock.
    func end() -> Deque<(message: RemoteMessage, number: UInt64)> {
      subscription = nil
      defer { queue = Deque() }
      return queue
    }

    /// Whether every message that the subscription has taken has its verdict, and `queue` is empty.
    /// If so, `drain(within:)` does not wait.
    var isIdle: Bool { inHand == 0 && queue.isEmpty }
    /// Whether the subscription may take one more message.
    var hasRoom: Bool { inHand < inFlight && !isPaused }

    /// Records that there may be a message to take. Returns whether the pump, the task that takes
    /// messages, must be started.
    func wake() -> Bool {
      if isPumping { mustLook = true }
      defer { isPumping = true }
      return !isPumping
    }

    /// Adds a message to the queue of a subscription without a stream. If the queue is full, counts
    /// the message as lost.
    func enqueue(_ message: RemoteMessage, _ number: UInt64) {
      if queue.count < inFlight { queue.append((message, number)) } else { lost += 1 }
    }

    /// Counts a message that the subscription has taken. Returns the number of messages that it has
    /// lost since it took the previous one, and sets `lost` to 0.
    func begin() -> Int {
      inHand += 1
      defer { lost = 0 }
      return lost
    }
  }

  /// A message that a subscription has taken.
  struct Delivery: Sendable {
    let message: RemoteMessage
    /// A number that no other delivery of the engine has, neither of this message nor of another
    /// one; `nil` without a stream.
    let number: UInt64?
    /// The delay that a fault adds.
    let delay: Duration?
    /// Whether a fault loses the message.
    let isLost: Bool
    /// The number of messages that were dropped before this one, because the queue was full.
    let dropped: Int
  }

  var log: MemoryLog
  /// The groups of the stream, by their ids.
  var groups: [UInt64: MemoryGroup] = [:]
  /// The groups in the order in which they were made. Some may have been removed.
  var groupOrder: [MemoryGroup] = []
  var goneGroups = 0
  /// The durable groups.
  var durableGroups: [MemoryGroup.Key: MemoryGroup] = [:]
  var members: [UInt64: Member] = [:]
  /// The subscriptions without a stream, in the order in which they were made. Some may have been
  /// removed.
  var plainMembers: [Member] = []
  var goneMembers = 0
  /// The number of subscriptions without a group that were made.
  var lastListener: UInt64 = 0
  /// The responders of each subject, by their ids.
  var responders: [ExactText: [UInt64: MemoryResponder]] = [:]
  let chances: Chances
  /// The number of messages that were published without a stream.
  var lastPlain: UInt64 = 0
  /// The number of requests that were made.
  var lastRequest: UInt64 = 0
  var lastID: UInt64 = 0
  /// Whether the engine takes no new subscriptions and responders, because it is being closed.
  var isClosing = false
  var isClosed = false
  /// Whether the engine is reachable.
  var isConnected = true
  /// Whether publishers, subscribers and requests reach the engine, must wait for it, or get an
  /// error.
  var reach: Reach { isClosed ? .closed : isConnected ? .open : .away }
  enum Reach { case open, away, closed }
  /// The calls of `publish`, `subscribe` and `request` that wait until the engine is reachable.
  var publishers: [UInt64: CheckedContinuation<Void, Never>] = [:]

  init(seed: UInt64, keeping limit: Int) {
    chances = Chances(seed: seed)
    log = MemoryLog(keeping: limit)
  }

  mutating func newID() -> UInt64 {
    lastID += 1
    return lastID
  }

  // MARK: Publishing

  /// Stores a message. Returns the receipt, and the subscriptions whose pump, the task that takes
  /// messages, must be started.
  mutating func store(_ message: RemoteMessage) -> (Receipt, [MemorySubscription]) {
    if let position = log.position(of: message.id) { return (Receipt(position: position, isDuplicate: true), []) }
    func matches(_ group: MemoryGroup) -> Bool { !group.isGone && group.filter.matches(message.subject) }
    let position = log.append(message, needs: groupOrder.count(where: matches))
    var woken: [MemorySubscription] = []
    for group in groupOrder where matches(group) {
      group.append(position)
      if let subscription = wakeOne(group) { woken.append(subscription) }
    }
    return (Receipt(position: position), woken)
  }

  /// Adds a message that no stream stores to the queues of subscriptions: of one member of each
  /// group, and of all subscriptions without a group. Returns the subscriptions whose pump, the
  /// task that takes messages, must be started.
  mutating func hand(_ message: RemoteMessage) -> [MemorySubscription] {
    var groups: [String: [Member]] = [:]
    var chosen: [Member] = []
    lastPlain += 1
    for member in plainMembers {
      guard !member.isGone, member.isOpen, member.filter.matches(message.subject) else { continue }
      if let group = member.groupName {
        groups[group, default: []].append(member)
      } else {
        chosen.append(member)
      }
    }
    for group in groups.keys.sorted() {
      var generator = chances.generator(.member, lastPlain, stableHash(group))
      if let member = groups[group]?.randomElement(using: &generator) { chosen.append(member) }
    }
    var woken: [MemorySubscription] = []
    for member in chosen {
      member.enqueue(message, lastPlain)
      if member.wake(), let subscription = member.subscription { woken.append(subscription) }
    }
    return woken
  }
}
