// The subscriptions of an engine in memory, and the verdicts on what they took.
extension MemoryState {
  /// Returns the group of a new subscription to the stream; makes it if there is none.
  mutating func group(_ options: SubscribeOptions, _ filter: SubjectFilter) -> UInt64 {
    if let name = options.group, let group = groups.first(where: { $0.name == name && $0.filter == filter }) {
      return group.id
    }
    let group = MemoryGroup(newID(), options.group, filter, log.position(of: options.start))
    groups.append(group)
    return group.id
  }

  mutating func add(_ subscription: MemorySubscription) {
    members[subscription.id] = Member(subscription: subscription)
    if let group = subscription.group, let index = index(of: group) {
      groups[index].members.append(subscription.id)
    } else {
      plainMembers.append(subscription.id)
    }
  }

  /// Removes a subscription, and gives back what it has in hand.
  ///
  /// - Returns: The state of the subscription, which is released after the mutex, and the members
  ///   for which a task must be started.
  mutating func remove(_ subscription: MemorySubscription) -> (gone: Member?, woken: [MemorySubscription]) {
    guard let gone = members.removeValue(forKey: subscription.id) else { return (nil, []) }
    plainMembers.removeAll { $0 == subscription.id }
    guard let group = subscription.group, let index = index(of: group) else { return (gone, []) }
    groups[index].members.removeAll { $0 == subscription.id }
    groups[index].giveBackPending(of: subscription.id)
    if groups[index].name == nil {
      groups.remove(at: index)
      return (gone, [])
    }
    return (gone, wakeAll(index))
  }

  /// The consequences of a verdict, to be drawn after the mutex.
  struct Settled: Sendable {
    var woken: [MemorySubscription] = []
    var drainers: [CheckedContinuation<Void, Never>] = []
    /// The delay after which the message comes again.
    var delay: Duration?
    /// The reason of a rejection.
    var rejection: String?
  }

  /// Notes a verdict.
  mutating func settle(
    _ delivery: Delivery, of subscription: MemorySubscription, _ verdict: Verdict, _ faults: MemoryFaults
  ) -> Settled {
    var settled = Settled()
    if var member = members[subscription.id] {
      member.inHand -= 1
      if !member.isOpen, member.isIdle { swap(&settled.drainers, &member.drainers) }
      members[subscription.id] = member
      if wake(subscription.id) { settled.woken.append(subscription) }
    }
    guard let group = subscription.group else {
      if case .reject(let reason) = verdict { settled.rejection = reason }
      return settled
    }
    guard let index = index(of: group), let position = delivery.message.position,
      groups[index].pending[position]?.delivery == delivery.number
    else { return settled }
    groups[index].pending[position] = nil
    switch verdict {
    case .done:
      if groups[index].repeated.remove(position) == nil, random.chance(faults.duplicate) {
        groups[index].repeated.insert(position)
        settled.woken += comeAgain(position, index)
      } else {
        groups[index].failures[position] = nil
      }
    case .reject(let reason):
      settled.rejection = reason
      groups[index].failures[position] = nil
    case .retry(let delay):
      groups[index].failures[position, default: 0] += 1
      settled.delay = delay
    case .release(let delay): settled.delay = delay
    }
    guard let delay = settled.delay else { return settled }
    if delay > .zero {
      groups[index].delayed.insert(position)
    } else {
      settled.delay = nil
      settled.woken += comeAgain(position, index)
    }
    return settled
  }

  private mutating func comeAgain(_ position: UInt64, _ index: Int) -> [MemorySubscription] {
    groups[index].giveBack(position)
    return wakeOne(index).map { [$0] } ?? []
  }

  /// Lets a message come again after its delay. Returns the members for which a task must be
  /// started.
  mutating func bringBack(_ position: UInt64, in group: UInt64) -> [MemorySubscription] {
    guard let index = index(of: group), groups[index].delayed.remove(position) != nil else { return [] }
    return comeAgain(position, index)
  }
}
