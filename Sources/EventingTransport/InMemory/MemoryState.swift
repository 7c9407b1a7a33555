import Eventing

/// The state of an engine in memory. Guarded by the mutex of its ``InMemoryTransport``.
struct MemoryState: Sendable {
  /// The state of a subscription.
  struct Member: Sendable {
    let subscription: MemorySubscription
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
    /// The messages of a plain subscription that wait.
    var queue = Deque<RemoteMessage>()
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
    mutating func enqueue(_ message: RemoteMessage) {
      if queue.count < subscription.options.inFlight { queue.append(message) } else { lost += 1 }
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

  var log = MemoryLog()
  /// The groups of the stream, in the order in which they were made.
  var groups: [MemoryGroup] = []
  var members: [UInt64: Member] = [:]
  /// The plain subscriptions, in the order in which they were made.
  var plainMembers: [UInt64] = []
  var responders: [MemoryResponder] = []
  var random: SeededGenerator
  var lastID: UInt64 = 0
  var isClosed = false
  /// Whether the engine can be reached.
  var isConnected = true
  /// The publishers that wait until the engine can be reached.
  var publishers: [UInt64: CheckedContinuation<Void, Never>] = [:]

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func newID() -> UInt64 {
    lastID += 1
    return lastID
  }

  func index(of group: UInt64) -> Int? { groups.firstIndex { $0.id == group } }

  // MARK: Publishing

  /// Stores a message. Returns the receipt, and the subscriptions to wake.
  mutating func store(_ message: RemoteMessage, keeping limit: Int) -> (Receipt, [MemorySubscription]) {
    if let position = log.position(of: message.id) { return (Receipt(position: position, isDuplicate: true), []) }
    let position = log.append(message)
    if log.count > limit + 1_024, position.isMultiple(of: 256) {
      log.trim(to: limit, before: groups.reduce(.max) { min($0, $1.needed) })
    }
    var woken: [MemorySubscription] = []
    for index in groups.indices where groups[index].filter.matches(message.subject) {
      if let subscription = wakeOne(index) { woken.append(subscription) }
    }
    return (Receipt(position: position), woken)
  }

  /// Hands a plain message to the queues. Returns the subscriptions to wake.
  mutating func hand(_ message: RemoteMessage) -> [MemorySubscription] {
    var groups: [String: [UInt64]] = [:]
    var chosen: [UInt64] = []
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
      if let id = groups[group]?.randomElement(using: &random) { chosen.append(id) }
    }
    var woken: [MemorySubscription] = []
    for id in chosen {
      members[id]?.enqueue(message)
      if wake(id), let subscription = members[id]?.subscription { woken.append(subscription) }
    }
    return woken
  }

  // MARK: Waking

  /// Marks a subscription as one that takes messages. Returns whether a task must be started.
  mutating func wake(_ id: UInt64) -> Bool {
    members[id]?.wake() ?? false
  }

  /// Wakes one member of a group that has room, the next one in turn. Returns it if a task must be
  /// started.
  mutating func wakeOne(_ index: Int) -> MemorySubscription? {
    let ids = groups[index].members
    for offset in 0..<ids.count {
      let turn = (groups[index].turn + offset) % ids.count
      guard let member = members[ids[turn]], member.isOpen, !member.isUnready,
        member.inHand < member.subscription.options.inFlight
      else {
        continue
      }
      groups[index].turn = turn + 1
      return wake(ids[turn]) ? member.subscription : nil
    }
    return nil
  }

  /// Wakes all members of a group. Returns those for which a task must be started.
  mutating func wakeAll(_ index: Int) -> [MemorySubscription] {
    groups[index].members.compactMap { id in
      let subscription = members[id]?.subscription
      return wake(id) ? subscription : nil
    }
  }

  /// Notes that a subscription can handle no message now, unless that has just changed. Returns the
  /// member for which a task must be started in its place.
  mutating func markUnready(_ id: UInt64) -> MemorySubscription? {
    guard let member = members[id], !member.mustLook else { return nil }
    members[id]?.isUnready = true
    guard let group = member.subscription.group, let index = index(of: group), groups[index].hasWork(in: log) else {
      return nil
    }
    return wakeOne(index)
  }

  /// Ends the task of a subscription. Returns false if it must look again.
  mutating func stopPumping(_ id: UInt64) -> Bool {
    guard let member = members[id] else { return true }
    members[id]?.mustLook = false
    if member.mustLook { return false }
    members[id]?.isPumping = false
    return true
  }

  // MARK: Taking

  /// Takes the next message of a subscription; `nil` if there is none, or no room.
  mutating func take(_ id: UInt64, _ faults: MemoryFaults) -> Delivery? {
    guard isConnected, members[id]?.hasRoom == true else { return nil }
    let message: RemoteMessage
    var number: UInt64?
    if let group = members[id]?.subscription.group {
      guard members[id]?.isOpen == true, let index = index(of: group), let position = groups[index].next(in: log),
        var stored = log[position]
      else { return nil }
      stored.attempt = (groups[index].failures[position] ?? 0) + 1
      message = stored
      let delivery = newID()
      number = delivery
      groups[index].pending[position] = MemoryGroup.Pending(delivery: delivery, member: id)
    } else {
      guard let first = members[id]?.queue.popFirst() else { return nil }
      message = first
    }
    let dropped = members[id]?.begin() ?? 0
    let isLost = random.chance(faults.drop)
    let delay = faults.delay > .zero ? faults.delay * Double.random(in: 0...1, using: &random) : nil
    return Delivery(message: message, number: number, delay: delay, isLost: isLost, dropped: dropped)
  }

  /// Returns whether a delivery still belongs to the subscription that took it.
  func isPending(_ delivery: Delivery, of subscription: MemorySubscription) -> Bool {
    guard members[subscription.id] != nil else { return false }
    guard let group = subscription.group else { return true }
    guard let index = index(of: group), let position = delivery.message.position else { return false }
    return groups[index].pending[position]?.delivery == delivery.number
  }
}
