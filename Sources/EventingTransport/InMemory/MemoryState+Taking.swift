import Eventing

// Wakes the members of an engine in memory, and lets them take messages.
extension MemoryState {
  // MARK: Waking

  /// Wakes a subscription. Returns whether its pump must be started.
  mutating func wake(_ id: UInt64) -> Bool {
    members[id]?.wake() ?? false
  }

  /// Records that a member of a group may have room for a message.
  mutating func list(_ id: UInt64) {
    guard let member = members[id], !member.isListed, let group = member.subscription.group else { return }
    members[id]?.isListed = true
    groups[group]?.available.append(id)
    // Removed members are deleted from the list only when there are many of them.
    guard let count = groups[group]?.available.count, count > 16, count > 2 * members.count else { return }
    var rest = Deque<UInt64>()
    while let one = groups[group]?.available.popFirst() { if members[one] != nil { rest.append(one) } }
    groups[group]?.available = rest
  }

  /// Wakes, in a group, the next member that has room for a message. O(1), amortized. Returns the
  /// member if its pump must be started.
  mutating func wakeOne(_ group: UInt64) -> MemorySubscription? {
    while let id = groups[group]?.available.popFirst() {
      guard let member = members[id] else { continue }
      guard member.isOpen, !member.isUnready, member.hasRoom else {
        members[id]?.isListed = false
        continue
      }
      groups[group]?.available.append(id)
      return wake(id) ? member.subscription : nil
    }
    return nil
  }

  /// The messages of a group that come again.
  struct Repetition: Sendable {
    let group: MemoryGroup
    let count: Int
  }

  /// Puts all messages without a verdict back for redelivery. Returns the groups that had any.
  mutating func giveBackPending() -> [Repetition] {
    for id in Array(members.keys) { members[id]?.taken = [] }
    return groupOrder.compactMap { id in
      guard let count = groups[id]?.giveBackPending(), count > 0 else { return nil }
      return groups[id].map { Repetition(group: $0, count: count) }
    }
  }

  /// Wakes all subscriptions. Returns the ones whose pump must be started.
  mutating func wakeAll() -> [MemorySubscription] {
    members.keys.sorted().compactMap { id in
      let subscription = members[id]?.subscription
      return wake(id) ? subscription : nil
    }
  }

  /// Records that a subscription cannot handle a message now. Does nothing if the pump of the
  /// subscription must check again. If the group has messages, wakes another member, and returns it
  /// if its pump must be started.
  mutating func markUnready(_ id: UInt64) -> MemorySubscription? {
    guard let member = members[id], !member.mustLook else { return nil }
    members[id]?.isUnready = true
    guard let group = member.subscription.group, groups[group]?.hasWork == true else { return nil }
    return wakeOne(group)
  }

  /// Ends the pump of a subscription. Returns false if the pump must check for messages again.
  mutating func stopPumping(_ id: UInt64) -> Bool {
    guard let member = members[id] else { return true }
    members[id]?.mustLook = false
    if member.mustLook { return false }
    members[id]?.isPumping = false
    return true
  }

  // MARK: Taking

  /// Takes the next message of a subscription. Returns `nil` if there is none, or no room for one.
  mutating func take(_ id: UInt64, _ faults: MemoryFaults) -> Delivery? {
    guard isConnected, members[id]?.hasRoom == true else { return nil }
    let message: RemoteMessage
    var number: UInt64?
    // The numbers that identify the message, the listener and the delivery in random decisions.
    let about: (UInt64, UInt64, UInt64)
    if let group = members[id]?.subscription.group {
      guard members[id]?.isOpen == true, let (position, delivery) = groups[group]?.next(),
        var stored = log[position]
      else { return nil }
      stored.attempt = (groups[group]?.failures[position] ?? 0) + 1
      message = stored
      let delivered = newID()
      number = delivered
      about = (position, groups[group]?.chance ?? 0, delivery)
      groups[group]?.pending[position] = MemoryGroup.Pending(delivery: delivered, member: id)
      members[id]?.taken.insert(position)
    } else {
      guard let first = members[id]?.queue.popFirst() else { return nil }
      message = first.message
      about = (first.number, members[id]?.chance ?? 0, 1)
    }
    let dropped = members[id]?.begin() ?? 0
    var isLost = false
    if faults.drop > 0 {
      var generator = chances.generator(.drop, about.0, about.1, about.2)
      isLost = generator.chance(faults.drop)
    }
    var delay: Duration?
    if faults.delay > .zero {
      var generator = chances.generator(.delay, about.0, about.1, about.2)
      delay = faults.delay * Double.random(in: 0...1, using: &generator)
    }
    return Delivery(message: message, number: number, delay: delay, isLost: isLost, dropped: dropped)
  }

  /// Returns whether a delivery still belongs to the subscription that took it.
  func isPending(_ delivery: Delivery, of subscription: MemorySubscription) -> Bool {
    guard members[subscription.id] != nil else { return false }
    guard let group = subscription.group else { return true }
    guard let position = delivery.message.position else { return false }
    return groups[group]?.pending[position]?.delivery == delivery.number
  }
}
