#if NATS
  import Eventing
  import EventingTransport

  // Makes a consumer again that the server has lost, with a start before which no member's message
  // lacks a verdict.
  extension StreamSubscription {
    /// Starts a task that makes the consumer again if the server has lost it.
    func beginRestoring() {
      let isFirst = state.withLock { state in
        defer { state.isRestoring = true }
        return !state.isRestoring
      }
      if isFirst { Scheduling.task(priority: nil, on: nil) { await self.restore() } }
    }

    /// Makes the consumer again if the server has lost it.
    private func restore() async {
      let config = restartConfig
      do {
        if inflow.isOpen {
          let (isNew, restart) = try await StreamAdmin(engine).makeConsumer(stream.name, config)
          note(restart)
          state.withLock { $0.restoringFailure = nil }
          if isNew, let group = options.group {
            let place = config.startPosition.map { "\($0)" } ?? "its first start"
            engine.incidents.post(refusal("the server had no group \(group) any more; it begins again at \(place)"))
          }
        }
      } catch {
        let reason = "\(error)"
        let isNew = state.withLock { state in
          defer { state.restoringFailure = reason }
          return state.restoringFailure != reason
        }
        if isNew, inflow.isOpen { engine.incidents.post(refusal(reason)) }
        try? await Task.sleep(for: .seconds(1))
      }
      state.withLock { $0.isRestoring = false }
      wake()
    }

    /// The configuration of a new consumer if the server has lost this one. The new consumer begins
    /// with the first message that has no final verdict here.
    ///
    /// In a group, other members know of further messages without a verdict, and members that have
    /// ended knew of some. So the new consumer of a group begins at the *floor* of the lost one at
    /// the latest. Without a group, and without such a message, the new consumer begins after the
    /// last received message.
    private var restartConfig: ConsumerConfig {
      // A message is counted in `nextPosition` only after it is in `inflow`, and leaves `inflow`
      // only after it is in `retreated`. So whichever moves meanwhile, this order finds it.
      let (next, known) = state.withLock { ($0.nextPosition, $0.restart) }
      let inHand = inflow.firstPosition
      let own = [inHand, state.withLock { $0.retreated.first }].compactMap(\.self).min()
      var config = config
      if options.group == nil || known.start == "new" {
        if let position = own ?? next { config.begin(at: .position(position)) }
        return config
      }
      config = known
      if let floor = known.startPosition, let own { config.begin(at: .position(min(floor, own))) }
      return config
    }

    private func refusal(_ reason: String) -> TransportIncident {
      TransportIncident(kind: .refused, subject: filter, event: filter, stream: streamName, reason: reason)
    }
  }
#endif
