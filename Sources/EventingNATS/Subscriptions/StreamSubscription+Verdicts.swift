#if NATS
  import Eventing
  import EventingTransport

  // Sends verdicts to the server.
  extension StreamSubscription {
    func answer(_ item: Inflow.Item, _ text: String) {
      if let reply = item.reply { engine.sendQueue.send(Outgoing(subject: reply, body: Array(text.utf8))) }
    }

    /// Sends a *heartbeat* for each message that is being handled.
    ///
    /// If it reached the server after a verdict with a delay, the server would forget the delay. So
    /// the sending thread asks `inflow`, directly before, whether the message still has no verdict.
    func beat(_ items: [Inflow.Item]) {
      for item in items {
        guard let reply = item.reply else { continue }
        var heartbeat = Outgoing(subject: reply, body: Array("+WPI".utf8))
        heartbeat.isNeeded = { [inflow] in inflow.lacksVerdict(item) }
        engine.sendQueue.send(heartbeat)
      }
    }

    func apply(_ verdict: Verdict, to item: Inflow.Item) {
      // If the stream of the message was deleted, the verdict reaches no consumer, and the position
      // says nothing about the stream that was made instead.
      guard isCurrent(item) else { return }
      let position = item.message.position ?? 0
      switch verdict {
      case .done:
        settled(item, position)
        answer(item, "+ACK")
      case .reject:
        settled(item, position)
        answer(item, "+TERM")
      case .retry(let delay):
        engine.failures.add(item.consumer, position)
        retreat(item, delay)
      case .release(let delay) where options.inFlight == 1:
        state.withLock { $0.pausedUntil = max($0.pausedUntil, .now + min(delay, .year)) }
        giveBackInOrder([item])
      case .release(let delay): retreat(item, delay)
      }
    }

    /// The stream may have been recreated.
    private func isCurrent(_ item: Inflow.Item) -> Bool { item.consumer == config.name }

    /// The message was returned earlier, and has a final verdict now.
    private func settled(_ item: Inflow.Item, _ position: UInt64) {
      engine.failures.remove(item.consumer, position)
      state.withLock { $0.retreated.remove(position) }
    }

    private func retreat(_ item: Inflow.Item, _ delay: Duration) {
      note(retreated: item)
      answer(item, delay > .zero ? "-NAK {\"delay\":\(min(delay, .year).nanoseconds)}" : "-NAK")
    }

    private func note(retreated item: Inflow.Item) {
      if let position = item.message.position { state.withLock { $0.retreated.add(position) } }
    }

    /// The server is asked at most every 10 s.
    func askForFloor(_ now: ContinuousClock.Instant) {
      let isShared = options.group != nil
      guard state.withLock({ $0.retreated.mustAsk(now, isShared: isShared) }) else { return }
      Scheduling.task(priority: nil, on: nil) { [self] in
        // If the consumer doesn't exist, the server has lost it, or the stream was recreated.
        guard let found = try? await StreamAdmin(engine).find(stream.name, config) else { return beginRestoring() }
        // If the consumer was made at a time that this member does not know, another member has
        // recreated it.
        if state.withLock({ $0.consumerCreated != found.created }) { return beginRestoring() }
        note(found.restart)
      }
    }

    /// Records where the consumer must begin if the server loses it.
    func note(_ restart: ConsumerConfig) {
      state.withLock { state in
        state.restart = restart
        if let position = restart.startPosition { state.retreated.remove(upTo: max(1, position) - 1) }
      }
    }

    func waits(for verdict: Verdict) -> Bool {
      guard options.inFlight == 1, case .release = verdict else { return false }
      state.withLock { $0.returning += 1 }
      return true
    }

    func takeAgain() {
      state.withLock { $0.returning -= 1 }
      wake()
    }

    /// The server redelivers these to any member, before all other messages. It does not keep the
    /// order between verdicts and pulls, so the next pull waits until the last verdict is
    /// confirmed.
    func giveBackInOrder(_ items: [Inflow.Item]) {
      let items = items.filter(isCurrent)
      guard let last = items.last, let reply = last.reply else { return }
      for item in items { note(retreated: item) }
      for item in items.dropLast() { answer(item, "-NAK") }
      state.withLock { $0.returning += 1 }
      let verdict = Outgoing(subject: reply, body: Array("-NAK".utf8))
      let (_, outcome) = engine.beginExchange(verdict, until: .now + .seconds(2), endsWhenLost: true)
      Scheduling.task(priority: nil, on: nil) { [self] in
        _ = await outcome.value
        takeAgain()
      }
    }

    func giveBack(_ items: [Inflow.Item]) {
      // A small delay is needed: without it, nats-server 2.9 may redeliver the first of these
      // messages to a pull that has ended.
      for item in items where isCurrent(item) { retreat(item, .milliseconds(20)) }
    }
  }
#endif
