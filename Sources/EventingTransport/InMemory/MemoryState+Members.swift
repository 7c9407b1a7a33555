import Eventing

// Adds and removes the subscriptions of an engine in memory, and records the verdicts on their
// messages.
extension MemoryState {
  mutating func group(_ options: SubscribeOptions, _ filter: SubjectFilter) -> MemoryGroup {
    let key = options.group.map { MemoryGroup.Key(name: $0, filter: filter) }
    if let key, let group = durableGroups[key] { return group }
    let group = MemoryGroup(newID(), key, filter, chance: newChance(options, filter))
    for position in log.positions(from: options.start, filter) {
      group.append(position)
      log.retain(position)
    }
    groups[group.id] = group
    groupOrder.append(group)
    if let key { durableGroups[key] = group }
    return group
  }

  /// For random decisions: see ``Chances``. Depends only on the name and the filter of a group.
  mutating func newChance(_ options: SubscribeOptions, _ filter: SubjectFilter) -> UInt64 {
    if let group = options.group { return stableHash("\(group) \(filter.text)") }
    lastListener += 1
    return stableHash(filter.text) &+ lastListener
  }

  mutating func add(_ subscription: MemorySubscription, to group: MemoryGroup?, chance: UInt64) {
    let member = Member(subscription, group, chance: chance)
    members[subscription.id] = member
    if group == nil { plainMembers.append(member) } else { list(member) }
  }

  /// From now on the subscription takes nothing. If messages wait in the group, wakes another
  /// member, because the group may have woken this one for them.
  ///
  /// One is enough: the group wakes its members with room in turn, so all others have been woken
  /// since an earlier wake-up of this one. Only the last wake-up can be lost.
  ///
  /// Returns the other member if its pump, the task that takes messages, must be started; `nil` if
  /// the subscription has ended.
  func closeMember(_ id: UInt64) -> [MemorySubscription]? {
    guard let member = members[id] else { return nil }
    guard member.isOpen else { return [] }
    member.isOpen = false
    guard let group = member.group, group.hasWork, let other = wakeOne(group) else { return [] }
    return [other]
  }

  struct Gone {
    let drainers: [CheckedContinuation<Void, Never>]
    let queue: Deque<(message: RemoteMessage, number: UInt64)>
  }

  /// Puts messages without a verdict back for redelivery: O(*m* · *n*) for *m* such messages, and
  /// *n* that then wait. The pumps of `woken`, the tasks that take messages, must be started.
  mutating func remove(_ subscription: MemorySubscription) -> (gone: Gone?, woken: [MemorySubscription]) {
    guard let member = members.removeValue(forKey: subscription.id) else { return (nil, []) }
    let gone = Gone(drainers: member.drainers, queue: member.end())
    guard let group = member.group else {
      goneMembers += 1
      if goneMembers > 16, goneMembers > plainMembers.count / 2 {
        plainMembers.removeAll(where: \.isGone)
        goneMembers = 0
      }
      return (gone, [])
    }
    if subscription.options.group == nil {
      removeGroup(group)
      return (gone, [])
    }
    let taken = group.pending.filter { $0.value.member == subscription.id }.keys
    for position in taken {
      group.pending[position] = nil
      group.giveBack(position)
    }
    // For each message that was put back, wakes one member that has room, if there is one. Also
    // wakes one member in place of the removed subscription: the group may have woken this
    // subscription for a message that the subscription did not take.
    var woken: [MemorySubscription] = []
    for _ in 0...taken.count where group.hasWork {
      if let other = wakeOne(group) { woken.append(other) }
    }
    return (gone, woken)
  }

  private mutating func removeGroup(_ group: MemoryGroup) {
    group.isGone = true
    groups[group.id] = nil
    for position in group.unhandled { log.release(position) }
    goneGroups += 1
    if goneGroups > 16, goneGroups > groupOrder.count / 2 {
      groupOrder.removeAll(where: \.isGone)
      goneGroups = 0
    }
  }

  /// Carried out after the unlock.
  struct VerdictResult: Sendable {
    var woken: [MemorySubscription] = []
    var drainers: [CheckedContinuation<Void, Never>] = []
    var delay: Duration?
    var pause: Duration?
    var rejection: String?
  }

  /// Records a verdict. Returns what the caller must do after the unlock.
  mutating func applyVerdict(
    _ delivery: Delivery, of subscription: MemorySubscription, _ verdict: Verdict, _ faults: MemoryFaults
  ) -> VerdictResult {
    var result = VerdictResult()
    guard let member = members[subscription.id] else {
      // The subscription has ended. If it had a group, the group has the message back already.
      if subscription.group == nil, case .reject(let reason) = verdict { result.rejection = reason }
      return result
    }
    if case .release(let delay) = verdict, delay > .zero, subscription.options.inFlight == 1, member.group != nil {
      member.isPaused = true
      result.pause = delay
    }
    member.inHand -= 1
    if !member.isOpen, member.isIdle {
      result.drainers = member.drainers
      member.drainers = []
    }
    list(member)
    if member.wake() { result.woken.append(subscription) }
    guard let group = member.group else {
      if case .reject(let reason) = verdict { result.rejection = reason }
      return result
    }
    guard let position = delivery.message.position, let found = group.pending[position],
      found.delivery == delivery.number
    else { return result }
    group.pending[position] = nil
    switch verdict {
    case .done:
      if mustRepeat(position, group, faults) {
        group.repeated.insert(position)
        result.woken += comeAgain(position, group)
      } else {
        end(position, group)
      }
    case .reject(let reason):
      result.rejection = reason
      end(position, group)
    case .retry(let delay):
      group.failures[position, default: 0] += 1
      result.delay = delay
    // With `inFlight` 1, a member handles messages in order: no later message may overtake a
    // released one. So the released message returns to its place in the group at once, and the
    // member takes no message until the delay is over. Another member may take the released message
    // earlier.
    case .release(let delay): result.delay = result.pause == nil ? delay : .zero
    }
    guard let delay = result.delay else { return result }
    if delay > .zero {
      group.delayed.insert(position)
    } else {
      result.delay = nil
      result.woken += comeAgain(position, group)
    }
    return result
  }

  /// Ends the pause of a subscription. Returns whether its pump, the task that takes messages, must
  /// be started.
  func endPause(_ id: UInt64) -> Bool {
    guard let member = members[id] else { return false }
    member.isPaused = false
    list(member)
    return member.wake()
  }

  private func mustRepeat(_ position: UInt64, _ group: MemoryGroup, _ faults: MemoryFaults) -> Bool {
    guard faults.duplicate > 0, !group.repeated.contains(position) else { return false }
    var generator = chances.generator(.duplicate, position, group.chance)
    return generator.chance(faults.duplicate)
  }

  private mutating func end(_ position: UInt64, _ group: MemoryGroup) {
    group.forget(position)
    log.release(position)
  }

  private func comeAgain(_ position: UInt64, _ group: MemoryGroup) -> [MemorySubscription] {
    group.giveBack(position)
    return wakeOne(group).map { [$0] } ?? []
  }

  /// Puts a message whose delay is over back for redelivery. Returns the members whose pump, the
  /// task that takes messages, must be started.
  func bringBack(_ position: UInt64, in group: UInt64) -> [MemorySubscription] {
    guard let group = groups[group], group.delayed.remove(position) != nil else { return [] }
    return comeAgain(position, group)
  }
}
