import Eventing

// The members of an engine in memory that are woken for a message, and that take it.
extension MemoryState {
  // MARK: Waking

  /// Marks a subscription as one that takes messages. Returns whether a task must be started.
  mutating func wake(_ id: UInt64) -> Bool {
    members[id]?.wake() ?? false
  }

  /// Notes that a member of a group may be able to take a message.
  mutating func list(_ id: UInt64) {
    guard let member = members[id], !member.isListed, let group = member.subscription.group else { return }
    members[id]?.isListed = true
    groups[group]?.available.append(id)
    // Members that have gone are left out now and then.
    guard let count = groups[group]?.available.count, count > 16, count > 2 * members.count else { return }
    var rest = Deque<UInt64>()
    while let one = groups[group]?.available.popFirst() { if members[one] != nil { rest.append(one) } }
    groups[group]?.available = rest
  }

  /// Wakes one member of a group that can take a message, the next one in turn. O(1), amortized.
  /// Returns it if a task must be started.
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

  /// Gives back all messages without a verdict.
  mutating func giveBackPending() {
    for id in groupOrder { groups[id]?.giveBackPending() }
    for id in Array(members.keys) { members[id]?.taken = [] }
  }

  /// Wakes all subscriptions. Returns those for which a task must be started.
  mutating func wakeAll() -> [MemorySubscription] {
    members.keys.sorted().compactMap { id in
      let subscription = members[id]?.subscription
      return wake(id) ? subscription : nil
    }
  }

  /// Notes that a subscription can handle no message now, unless that has just changed. Returns the
  /// member for which a task must be started in its place.
  mutating func markUnready(_ id: UInt64) -> MemorySubscription? {
    guard let member = members[id], !member.mustLook else { return nil }
    members[id]?.isUnready = true
    guard let group = member.subscription.group, groups[group]?.hasWork == true else { return nil }
    return wakeOne(group)
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
    // The numbers by which faults are decided: of the message, of the listener, of the delivery.
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
