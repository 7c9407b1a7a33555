import Eventing

/// The state of an engine in memory. Guarded by the mutex of its ``InMemoryTransport``.
struct MemoryState: Sendable {
  /// The state of a subscription.
  struct Member: Sendable {
    let subscription: MemorySubscription
    /// The number by which faults are decided on plain.
    let chance: UInt64
    /// The number of messages that have begun, or are about to, and have no verdict.
    var inHand = 0
    /// Whether new messages are taken.
    var isOpen = true
    /// Whether a task takes messages.
    var isPumping = false
    /// Whether that task must look again before it ends.
    var mustLook = false
    /// Whether it could handle no message when it looked last, and nothing has changed since.
    var isUnready = false
    /// Whether it is among the members of its group that can take a message.
    var isListed = false
    /// The positions of the messages that it has taken from a stream, and that have no verdict.
    var taken: Set<UInt64> = []
    /// The messages of a plain subscription that wait, with their numbers.
    var queue = Deque<(message: RemoteMessage, number: UInt64)>()
    /// The number of messages that a plain subscription lost, and of which no incident told.
    var lost = 0
    /// The tasks that drain the subscription.
    var drainers: [CheckedContinuation<Void, Never>] = []

    /// Whether a drain has nothing to wait for.
    var isIdle: Bool { inHand == 0 && queue.isEmpty }
    /// Whether one more message may begin.
    var hasRoom: Bool { inHand < subscription.options.inFlight }

    /// Notes that there may be something to take. Returns whether a task must be started for it.
    mutating func wake() -> Bool {
      if isPumping { mustLook = true }
      defer { isPumping = true }
      return !isPumping
    }

    /// Adds a plain message to the queue, or counts it as lost.
    mutating func enqueue(_ message: RemoteMessage, _ number: UInt64) {
      if queue.count < subscription.options.inFlight { queue.append((message, number)) } else { lost += 1 }
    }

    /// Notes that a message begins. Returns the number of messages that were lost before.
    mutating func begin() -> Int {
      inHand += 1
      defer { lost = 0 }
      return lost
    }
  }

  /// A message that a subscription has taken.
  struct Delivery: Sendable {
    let message: RemoteMessage
    /// The number of the delivery; `nil` on plain.
    let number: UInt64?
    /// A delay by a fault.
    let delay: Duration?
    /// Whether a fault loses the message on its way.
    let isLost: Bool
    /// The number of messages that were dropped before.
    let dropped: Int
  }

  var log: MemoryLog
  /// The groups of the stream.
  var groups: [UInt64: MemoryGroup] = [:]
  /// The ids of the groups, in the order in which they were made. Some may have gone.
  var groupOrder: [UInt64] = []
  var goneGroups = 0
  /// The ids of the durable groups.
  var groupIDs: [MemoryGroup.Key: UInt64] = [:]
  var members: [UInt64: Member] = [:]
  /// The plain subscriptions, in the order in which they were made. Some may have gone.
  var plainMembers: [UInt64] = []
  var goneMembers = 0
  /// The number of subscriptions without a group that were made.
  var lastListener: UInt64 = 0
  /// The responders of each subject, by their ids.
  var responders: [String: [UInt64: MemoryResponder]] = [:]
  let chances: Chances
  /// The number of plain messages that were published.
  var lastPlain: UInt64 = 0
  /// The number of requests that were made.
  var lastRequest: UInt64 = 0
  var lastID: UInt64 = 0
  var isClosed = false
  /// Whether the engine can be reached.
  var isConnected = true
  /// The publishers that wait until the engine can be reached.
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

  /// Stores a message. Returns the receipt, and the subscriptions to wake.
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

  /// Hands a plain message to the queues. Returns the subscriptions to wake.
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
