import Eventing

// Delivers the messages of an engine in memory. Each subscription has at most one task that takes
// messages, the *pump*. The pump ends when no message is left, and a new pump starts for the next
// message.
extension InMemoryTransport {
  /// The delay before redelivery of a message that a fault has lost.
  static let redelivery = Duration.seconds(1)

  /// Starts the pump, the task that takes messages. If it is running, it checks again.
  func wake(_ subscription: MemorySubscription) {
    let mustStart = state.withLock { state in
      guard let member = state.members[subscription.id] else { return false }
      member.isUnready = false
      state.list(member)
      return member.wake()
    }
    if mustStart { startPump(subscription) }
  }

  func startPump(_ subscription: MemorySubscription) {
    Scheduling.task(priority: nil, on: EventContext.executor) { await self.pump(subscription) }
  }

  private func pump(_ subscription: MemorySubscription) async {
    var count = 0
    while true {
      let isReady = subscription.options.isReady()
      if !isReady, let other = state.withLock({ $0.markUnready(subscription.id) }) { startPump(other) }
      guard isReady, let delivery = state.withLock({ $0.take(subscription.id, faults) }) else {
        if state.withLock({ $0.stopPumping(subscription.id) }) { return }
        continue
      }
      // Asked again, so that a message which came after a lock is not passed to the event: it would
      // come again behind later ones.
      if subscription.group != nil, !subscription.options.isReady() {
        applyVerdict(delivery, of: subscription, .release(after: .zero))
        continue
      }
      if delivery.dropped > 0 {
        tell(
          TransportIncident(
            kind: .slowConsumer, subject: delivery.message.subject, event: subscription.filter.text,
            reason:
              "expected a listener that keeps up; at most \(subscription.options.inFlight) messages wait for it, and more had come",
            dropped: delivery.dropped))
      }
      if let delay = delivery.delay {
        try? await Sleeping.sleep(for: delay, on: clock)
        if !state.withLock({ $0.isPending(delivery, of: subscription) }) {
          // While the fault delayed this delivery, the engine put the message back for another
          // delivery, or the subscription ended. So this verdict acknowledges nothing: it only ends
          // this delivery.
          applyVerdict(delivery, of: subscription, .done)
          continue
        }
      }
      if delivery.isLost {
        applyVerdict(delivery, of: subscription, .release(after: InMemoryTransport.redelivery))
        continue
      }
      let begun = subscription.begin(delivery.message)
      if let verdict = begun.knownVerdict {
        applyVerdict(delivery, of: subscription, verdict)
      } else {
        Scheduling.task(priority: nil, on: EventContext.executor) {
          self.applyVerdict(delivery, of: subscription, await begun.verdict)
        }
      }
      count += 1
      if count.isMultiple(of: 1_024) { await Task.yield() }
    }
  }

  /// Resumes tasks in `drain(within:)`, starts pumps and delays, and posts an incident.
  private func applyVerdict(_ delivery: MemoryState.Delivery, of subscription: MemorySubscription, _ verdict: Verdict) {
    let result = state.withLock { $0.applyVerdict(delivery, of: subscription, verdict, faults) }
    for drainer in result.drainers { drainer.resume() }
    for other in result.woken { startPump(other) }
    if let reason = result.rejection {
      let group = subscription.options.group.map { "the group \($0)" } ?? "a listener without a group"
      let position = delivery.message.position.map { " at \($0)" } ?? ""
      tell(
        TransportIncident(
          kind: .deadLetter, subject: delivery.message.subject, event: subscription.filter.text, stream: streamName,
          messageID: delivery.message.publisherID,
          reason:
            "expected \(group) to handle the message\(position); it was given up at attempt \(delivery.message.attempt): \(reason)"
        ))
    }
    if let pause = result.pause {
      Scheduling.task(priority: nil, on: EventContext.executor) { [clock, weak self] in
        try? await Sleeping.sleep(for: pause, on: clock)
        guard let self else { return }
        if state.withLock({ $0.endPause(subscription.id) }) { startPump(subscription) }
      }
    }
    if let delay = result.delay, let group = subscription.group, let position = delivery.message.position {
      Scheduling.task(priority: nil, on: EventContext.executor) { [clock, weak self] in
        try? await Sleeping.sleep(for: delay, on: clock)
        guard let self else { return }
        let woken = state.withLock { $0.bringBack(position, in: group) }
        for other in woken { startPump(other) }
      }
    }
  }

  // MARK: The end of a subscription

  func cancel(_ subscription: MemorySubscription) {
    // The messages in `gone` are released after the unlock.
    let (gone, woken) = state.withLock { $0.remove(subscription) }
    for drainer in gone?.drainers ?? [] { drainer.resume() }
    for other in woken { startPump(other) }
  }

  func drain(_ subscription: MemorySubscription, within limit: Duration) async {
    guard let woken = state.withLock({ $0.closeMember(subscription.id) }) else { return }
    for other in woken { startPump(other) }
    let timer = Scheduling.cancelledWhenDropped { [weak self, clock] in
      if (try? await Sleeping.sleep(for: limit, on: clock)) != nil { self?.cancel(subscription) }
    }
    await withCheckedContinuation { continuation in
      let mustWait = state.withLock { state in
        guard let member = state.members[subscription.id], !member.isIdle else { return false }
        member.drainers.append(continuation)
        return true
      }
      if !mustWait { continuation.resume() }
    }
    withExtendedLifetime(timer) {}
    cancel(subscription)
  }

  // MARK: Disconnecting and closing

  /// Makes the engine unreachable: it delivers nothing, and calls of `publish`, `request` and
  /// `subscribe` wait. Subscriptions remain.
  public func disconnect() {
    let isNew = state.withLock { state in
      defer { state.isConnected = false }
      return state.isConnected
    }
    if isNew {
      tell(TransportIncident(kind: .lost, stream: streamName, reason: "expected the engine; it was disconnected"))
    }
  }

  /// Makes the engine reachable again.
  ///
  /// - Parameter isForgetful: Whether the engine has lost its record of begun messages, like a
  ///   broker that has crashed. Then all messages without a verdict are redelivered, and verdicts
  ///   on their earlier deliveries have no effect. For each group, and each listening without a
  ///   group, that had such messages, the engine posts an incident of the kind
  ///   ``TransportIncident/Kind/repeated``.
  public func reconnect(forgettingWhatIsInHand isForgetful: Bool = false) {
    let (isNew, repetitions, publishers, woken) = state.withLock { state in
      let isNew = !state.isConnected
      state.isConnected = true
      let repetitions = isForgetful ? state.giveBackPending() : []
      defer { state.publishers = [:] }
      return (isNew, repetitions, state.publishers, state.wakeAll())
    }
    if isNew {
      tell(
        TransportIncident(
          kind: .reconnected, stream: streamName, reason: "the engine is there again after it was disconnected"))
    }
    for repetition in repetitions {
      let filter = repetition.filter.text
      let group = repetition.name.map { "the group \($0)" } ?? "a listener without a group"
      tell(
        TransportIncident(
          kind: .repeated, subject: filter, event: filter, stream: streamName,
          reason:
            "expected the engine to know what \(group) has received; it has forgotten \(repetition.count) messages without a verdict, which come again"
        ))
    }
    for (_, publisher) in publishers.sorted(by: { $0.key < $1.key }) { publisher.resume() }
    for subscription in woken { startPump(subscription) }
  }

  /// Ends all subscriptions and responders, as their `drain(within:)` does, and then the transport.
  /// Later calls throw.
  ///
  /// Until each `drain(within:)` has returned, handlers that still run may publish and ask.
  ///
  /// - Parameter limit: The longest wait for handlers.
  public func close(within limit: Duration = .seconds(10)) async {
    let transports = [self, plainTransport].compactMap { $0 }
    await withDiscardingTaskGroup { group in
      for transport in transports { transport.drainAll(within: limit, in: &group) }
    }
    for transport in transports { transport.end() }
  }

  private func drainAll(within limit: Duration, in group: inout DiscardingTaskGroup) {
    let (subscriptions, responders) = state.withLock { state in
      state.isClosing = true
      return (
        state.members.values.compactMap(\.subscription).sorted { $0.id < $1.id },
        state.responders.values.flatMap(\.values).sorted { $0.id < $1.id }
      )
    }
    for subscription in subscriptions { group.addTask { await subscription.drain(within: limit) } }
    for responder in responders { group.addTask { await responder.drain(within: limit) } }
  }

  private func end() {
    let publishers = state.withLock { state in
      state.isClosed = true
      defer { state.publishers = [:] }
      return state.publishers
    }
    for (_, publisher) in publishers.sorted(by: { $0.key < $1.key }) { publisher.resume() }
  }
}

extension InMemoryTransport {
  package var storedCount: Int { state.withLock { $0.log.count } }
  package var subscriptionCount: Int { state.withLock { $0.members.count } }
}
