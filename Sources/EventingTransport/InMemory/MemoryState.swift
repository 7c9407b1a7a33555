import Eventing

/// Guarded by the mutex of its ``InMemoryTransport``, as are members and groups, which are objects
/// so that a change copies nothing.
struct MemoryState {
  final class Member {
    /// `nil` when the subscription has ended: it retains a closure of the user, and a group may
    /// release this member under the mutex.
    private(set) var subscription: MemorySubscription?
    let filter: SubjectFilter
    let inFlight: Int
    let groupName: String?
    /// `nil` without a stream. `groups` retains the group at least until its last subscription has
    /// ended.
    unowned let group: MemoryGroup?
    /// For random decisions without a stream: see ``Chances``.
    let chance: UInt64
    var isGone: Bool { subscription == nil }
    /// Taken messages without a verdict.
    var inHand = 0
    var isOpen = true
    /// The pump is the task that takes messages.
    var isPumping = false
    /// The pump must check for messages again before it ends.
    var mustLook = false
    /// Takes nothing for some time, after it has released a message.
    var isPaused = false
    /// Could handle no message at the last check, and `readinessChanged()` was not called since.
    var isUnready = false
    /// Whether ``MemoryGroup/available`` has this member.
    var isListed = false
    /// Used only without a stream.
    var queue = Deque<(message: RemoteMessage, number: UInt64)>()
    var lost = 0
    /// Calls of `drain(within:)`, which wait for `inHand` and `queue`.
    var drainers: [CheckedContinuation<Void, Never>] = []

    init(_ subscription: MemorySubscription, _ group: MemoryGroup?, chance: UInt64) {
      self.subscription = subscription
      filter = subscription.filter
      (inFlight, groupName) = (subscription.options.inFlight, subscription.options.group)
      self.group = group
      self.chance = chance
    }

    /// The caller releases the subscription and the returned messages after the unlock.
    func end() -> Deque<(message: RemoteMessage, number: UInt64)> {
      subscription = nil
      defer { queue = Deque() }
      return queue
    }

    var isIdle: Bool { inHand == 0 && queue.isEmpty }
    var hasRoom: Bool { inHand < inFlight && !isPaused }

    /// Returns whether the pump must be started.
    func wake() -> Bool {
      if isPumping { mustLook = true }
      defer { isPumping = true }
      return !isPumping
    }

    /// Without a stream. A full queue loses the message.
    func enqueue(_ message: RemoteMessage, _ number: UInt64) {
      if queue.count < inFlight { queue.append((message, number)) } else { lost += 1 }
    }

    /// Returns the number of messages lost since the previous one, and sets `lost` to 0.
    func begin() -> Int {
      inHand += 1
      defer { lost = 0 }
      return lost
    }
  }

  struct Delivery: Sendable {
    let message: RemoteMessage
    /// No other delivery of the engine has this number; `nil` without a stream.
    let number: UInt64?
    let delay: Duration?
    let isLost: Bool
    /// Dropped before this one, because the queue was full.
    let dropped: Int
  }

  var log: MemoryLog
  var groups: [UInt64: MemoryGroup] = [:]
  /// In the order in which the groups were made. Some may have been removed.
  var groupOrder: [MemoryGroup] = []
  var goneGroups = 0
  var durableGroups: [MemoryGroup.Key: MemoryGroup] = [:]
  var members: [UInt64: Member] = [:]
  /// Subscriptions without a stream, in the order in which they were made. Some may have been
  /// removed.
  var plainMembers: [Member] = []
  var goneMembers = 0
  var lastListener: UInt64 = 0
  var responders: [ExactText: [UInt64: MemoryResponder]] = [:]
  let chances: Chances
  var lastPlain: UInt64 = 0
  var lastRequest: UInt64 = 0
  var lastID: UInt64 = 0
  var isClosing = false
  var isClosed = false
  var isConnected = true
  /// Whether publishers, subscribers and requests reach the engine, must wait for it, or get an
  /// error.
  var reach: Reach { isClosed ? .closed : isConnected ? .open : .away }
  enum Reach { case open, away, closed }
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

  /// Also returns the subscriptions whose pump must be started.
  mutating func store(_ message: RemoteMessage) -> (Receipt, [MemorySubscription]) {
    let hash = stableHash(message.id)
    if let position = log.position(of: message.id, hash) { return (Receipt(position: position, isDuplicate: true), []) }
    let subject = message.subject
    func matches(_ group: MemoryGroup) -> Bool { !group.isGone && group.filter.matches(subject) }
    let position = log.append(message, hash, needs: groupOrder.count(where: matches))
    var woken: [MemorySubscription] = []
    for group in groupOrder where matches(group) {
      group.append(position)
      if let subscription = wakeOne(group) { woken.append(subscription) }
    }
    return (Receipt(position: position), woken)
  }

  /// Without a stream: to one member of each group, and all subscriptions without a group. Returns
  /// the subscriptions whose pump must be started.
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
