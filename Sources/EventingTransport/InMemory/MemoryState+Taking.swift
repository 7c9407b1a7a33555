import Eventing

// Wakes the members of an engine in memory, and lets them take messages.
extension MemoryState {
  // MARK: Waking

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

  /// O(1), amortized. Returns the member if its pump, the task that takes messages, must be
  /// started.
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

  /// Messages that are redelivered to one group, because the engine has lost its record of them.
  struct Repetition: Sendable {
    let filter: SubjectFilter
    let name: String?
    let count: Int
  }

  func giveBackPending() -> [Repetition] {
    groupOrder.filter { !$0.isGone }.compactMap { group in
      let count = group.giveBackPending()
      return count > 0 ? Repetition(filter: group.filter, name: group.key?.name, count: count) : nil
    }
  }

  /// Returns those whose pump, the task that takes messages, must be started.
  func wakeAll() -> [MemorySubscription] {
    members.sorted { $0.key < $1.key }.compactMap { $1.wake() ? $1.subscription : nil }
  }

  /// Wakes another member if the group has messages. Does nothing if the pump, the task that takes
  /// messages, must check again: the subscription may have become ready. Returns the other member
  /// if its pump must be started.
  func markUnready(_ id: UInt64) -> MemorySubscription? {
    guard let member = members[id], !member.mustLook else { return nil }
    member.isUnready = true
    guard let group = member.group, group.hasWork else { return nil }
    return wakeOne(group)
  }

  /// Returns false if the pump, the task that takes messages, must check again.
  func stopPumping(_ id: UInt64) -> Bool {
    guard let member = members[id] else { return true }
    member.isPumping = member.mustLook
    member.mustLook = false
    return !member.isPumping
  }

  // MARK: Taking

  /// `nil` without a message or room, or if the engine is disconnected.
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

  func isPending(_ delivery: Delivery, of subscription: MemorySubscription) -> Bool {
    guard let member = members[subscription.id] else { return false }
    guard let group = member.group else { return true }
    guard let position = delivery.message.position else { return false }
    return group.pending[position]?.delivery == delivery.number
  }
}
