import Eventing

/// The state of an engine in memory. Guarded by the mutex of its ``InMemoryTransport``.
struct MemoryState: Sendable {
  /// The state of a subscription.
  struct Member: Sendable {
    let subscription: MemorySubscription
    /// The number that stands for a subscription without a stream in random decisions.
    let chance: UInt64
    /// The number of messages that the subscription has taken and that have no verdict yet.
    var inHand = 0
    /// Whether the subscription takes new messages.
    var isOpen = true
    /// Whether the pump of the subscription, a task that takes messages, is running.
    var isPumping = false
    /// Whether the pump must check for messages again before it ends.
    var mustLook = false
    /// Whether the subscription takes nothing for some time, after it has released a message.
    var isPaused = false
    /// Whether the subscription could handle no message at the last check, and `readinessChanged()`
    /// was not called since.
    var isUnready = false
    /// Whether the group's list of members with room has this member.
    var isListed = false
    /// The positions of the messages that the subscription has taken from a stream and that have no
    /// verdict yet.
    var taken: Set<UInt64> = []
    /// The waiting messages of a subscription without a stream, with their numbers.
    var queue = Deque<(message: RemoteMessage, number: UInt64)>()
    /// The number of messages that a subscription without a stream has lost since the last incident
    /// that told of lost messages.
    var lost = 0
    /// The tasks that wait in `drain(within:)`.
    var drainers: [CheckedContinuation<Void, Never>] = []

    /// Whether a drain need not wait.
    var isIdle: Bool { inHand == 0 && queue.isEmpty }
    /// Whether one more message may begin.
    var hasRoom: Bool { inHand < subscription.options.inFlight && !isPaused }

    /// Records that there may be a message to take. Returns whether the pump must be started.
    mutating func wake() -> Bool {
      if isPumping { mustLook = true }
      defer { isPumping = true }
      return !isPumping
    }

    /// Adds a message to the queue of a subscription without a stream. If the queue is full, counts
    /// the message as lost.
    mutating func enqueue(_ message: RemoteMessage, _ number: UInt64) {
      if queue.count < subscription.options.inFlight { queue.append((message, number)) } else { lost += 1 }
    }

    /// Counts a message that begins. Returns the number of messages that were lost before it.
    mutating func begin() -> Int {
      inHand += 1
      defer { lost = 0 }
      return lost
    }
  }

  /// A message that a subscription has taken.
  struct Delivery: Sendable {
    let message: RemoteMessage
    /// The number of the delivery; `nil` without a stream.
    let number: UInt64?
    /// The delay that a fault adds.
    let delay: Duration?
    /// Whether a fault loses the message.
    let isLost: Bool
    /// The number of messages that were dropped before.
    let dropped: Int
  }

  var log: MemoryLog
  /// The groups of the stream.
  var groups: [UInt64: MemoryGroup] = [:]
  /// The ids of the groups, in the order in which they were made. Some may have been removed.
  var groupOrder: [UInt64] = []
  var goneGroups = 0
  /// The ids of the durable groups.
  var groupIDs: [MemoryGroup.Key: UInt64] = [:]
  var members: [UInt64: Member] = [:]
  /// The subscriptions without a stream, in the order in which they were made. Some may have been
  /// removed.
  var plainMembers: [UInt64] = []
  var goneMembers = 0
  /// The number of subscriptions without a group that were made.
  var lastListener: UInt64 = 0
  /// The responders of each subject, by their ids.
  var responders: [String: [UInt64: MemoryResponder]] = [:]
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
  /// The publishers that wait until the engine is reachable.
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

  /// Stores a message. Returns the receipt, and the subscriptions whose pump must be started.
  mutating func store(_ message: RemoteMessage) -> (Receipt, [MemorySubscription]) {
    if let position = log.position(of: message.id) { return (Receipt(position: position, isDuplicate: true), []) }
    let matching = groupOrder.filter { groups[$0]?.filter.matches(message.subject) == true }
    let position = log.append(message, needs: matching.count)
    var woken: [MemorySubscription] = []
    for id in matching {
      groups[id]?.append(position)
      if let subscription = wakeOne(id) { woken.append(subscription) }
    }
    return (Receipt(position: position), woken)
  }

  /// Adds a message to the queues of subscriptions without a stream. Returns the subscriptions
  /// whose pump must be started.
  mutating func hand(_ message: RemoteMessage) -> [MemorySubscription] {
    var groups: [String: [UInt64]] = [:]
    var chosen: [UInt64] = []
    lastPlain += 1
    for id in plainMembers {
      guard let member = members[id], member.isOpen, member.subscription.filter.matches(message.subject) else {
        continue
      }
      if let group = member.subscription.options.group {
        groups[group, default: []].append(id)
      } else {
        chosen.append(id)
      }
    }
    for group in groups.keys.sorted() {
      var generator = chances.generator(.member, lastPlain, stableHash(group))
      if let id = groups[group]?.randomElement(using: &generator) { chosen.append(id) }
    }
    var woken: [MemorySubscription] = []
    for id in chosen {
      members[id]?.enqueue(message, lastPlain)
      if wake(id), let subscription = members[id]?.subscription { woken.append(subscription) }
    }
    return woken
  }
}
