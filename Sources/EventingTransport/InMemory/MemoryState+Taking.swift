import Eventing

// Wakes the members of an engine in memory, and lets them take messages.
extension MemoryState {
  // MARK: Waking

  /// Records that a member of a group may have room for a message.
  func list(_ member: Member) {
    guard !member.isListed, let group = member.group else { return }
    member.isListed = true
    group.available.append(member)
    // Removed members are deleted from the list only when there are many of them.
    guard group.available.count > 16, group.available.count > 2 * members.count else { return }
    var rest = Deque<Member>()
    while let one = group.available.popFirst() { if !one.isGone { rest.append(one) } }
    group.available = rest
  }

  /// Wakes, in a group, the next member that has room for a message. O(1), amortized. Returns the
  /// member if its pump, the task that takes messages, must be started.
  func wakeOne(_ group: MemoryGroup) -> MemorySubscription? {
    while let member = group.available.popFirst() {
      if member.isGone { continue }
      guard member.isOpen, !member.isUnready, member.hasRoom else {
        member.isListed = false
        continue
      }
      group.available.append(member)
      return member.wake() ? member.subscription : nil
    }
    return nil
  }

  /// The number of messages that are redelivered to one group because the engine has lost its
  /// record of them. An incident of the kind ``TransportIncident/Kind/repeated`` tells this number.
  struct Repetition: Sendable {
    let filter: SubjectFilter
    /// The name of the group; `nil` for a subscription without a group.
    let name: String?
    let count: Int
  }

  /// Puts all messages without a verdict back for redelivery. Returns the groups that had such
  /// messages.
  func giveBackPending() -> [Repetition] {
    groupOrder.filter { !$0.isGone }.compactMap { group in
      let count = group.giveBackPending()
      return count > 0 ? Repetition(filter: group.filter, name: group.key?.name, count: count) : nil
    }
  }

  /// Wakes all subscriptions. Returns the ones whose pump, the task that takes messages, must be
  /// started.
  func wakeAll() -> [MemorySubscription] {
    members.sorted { $0.key < $1.key }.compactMap { $1.wake() ? $1.subscription : nil }
  }

  /// Records that a subscription cannot handle a message now. If its group has messages, wakes
  /// another member.
  ///
  /// If the pump of the subscription, the task that takes messages, must check again, does nothing,
  /// because the subscription may have become ready since the last check.
  ///
  /// - Returns: The other member, if its pump, the task that takes messages, must be started.
  func markUnready(_ id: UInt64) -> MemorySubscription? {
    guard let member = members[id], !member.mustLook else { return nil }
    member.isUnready = true
    guard let group = member.group, group.hasWork else { return nil }
    return wakeOne(group)
  }

  /// Ends the pump of a subscription, the task that takes its messages. Returns false if the pump
  /// must check for messages again.
  func stopPumping(_ id: UInt64) -> Bool {
    guard let member = members[id] else { return true }
    member.isPumping = member.mustLook
    member.mustLook = false
    return !member.isPumping
  }

  // MARK: Taking

  /// Takes the next message of a subscription. Returns `nil` if there is none or no room for one,
  /// or if the engine is disconnected.
  mutating func take(_ id: UInt64, _ faults: MemoryFaults) -> Delivery? {
    guard isConnected, let member = members[id], member.hasRoom else { return nil }
    let message: RemoteMessage
    var number: UInt64?
    // The numbers that identify the message, the listener and the delivery in random decisions.
    let about: (UInt64, UInt64, UInt64)
    if let group = member.group {
      guard member.isOpen, let (position, delivery) = group.next(), var stored = log[position] else { return nil }
      stored.attempt = (group.failures[position] ?? 0) + 1
      message = stored
      let delivered = newID()
      number = delivered
      about = (position, group.chance, delivery)
      group.pending[position] = MemoryGroup.Pending(delivery: delivered, member: id)
    } else {
      guard let first = member.queue.popFirst() else { return nil }
      message = first.message
      about = (first.number, member.chance, 1)
    }
    let dropped = member.begin()
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
    guard let member = members[subscription.id] else { return false }
    guard let group = member.group else { return true }
    guard let position = delivery.message.position else { return false }
    return group.pending[position]?.delivery == delivery.number
  }
}
