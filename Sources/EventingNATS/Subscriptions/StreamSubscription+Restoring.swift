#if NATS
  import Eventing
  import EventingTransport
  import Foundation

  // If the server has lost the consumer of a subscription, makes the consumer again. The new
  // consumer begins at the first message on which no member has given a final verdict (done or
  // reject), or at an earlier message.
  extension StreamSubscription {
    func beginRestoring() {
      let isFirst = state.withLock { state in
        defer { state.isRestoring = true }
        return !state.isRestoring
      }
      if isFirst { Scheduling.task(priority: nil, on: nil) { await self.restore() } }
    }

    private func restore() async {
      do {
        if inflow.isOpen {
          // If a subscription without a group has ended, its consumer is not recreated. The server
          // would keep the unused consumer for the time ``StreamAdmin/forgetting``.
          let isNeeded: @Sendable () -> Bool = { [state] in !state.withLock { $0.isForgotten } }
          let (config, consumer) = try await StreamAdmin(engine).makeConsumer(stream.name, isNeeded: isNeeded) {
            facts in
            begin(in: facts)
            return restartConfig(facts.lastPosition)
          }
          note(consumer.restart)
          state.withLock { state in
            state.restoringFailure = nil
            // The server does not answer the pulls for the lost consumer.
            if consumer.isNew || consumer.created != state.consumerCreated { state.pulls.endAll() }
            state.consumerCreated = consumer.created
          }
          if consumer.isNew, let group = options.group {
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
        if inflow.isOpen {
          if isNew { engine.incidents.post(refusal(reason)) }
          await pause(.seconds(1))
        }
      }
      state.withLock { $0.isRestoring = false }
      wake()
    }

    /// If the stream was recreated, forgets the positions in the old one. The consumer begins with
    /// the first message of the new stream, or with the first one from its configured time on.
    private func begin(in facts: StreamAdmin.StreamFacts) {
      var new = ConsumerConfig(filter, options, named: baseName, in: facts)
      let old = config.name
      guard new.name != old else { return }
      if new.start != "by_start_time" { new.begin(at: .first) }
      engine.failures.removeAll(old)
      state.withLock { [new] state in
        (state.nextPosition, state.lastNumber, state.retreated) = (nil, 0, RetreatedPositions())
        (state.first, state.restart) = (new, new)
      }
    }

    /// For a consumer that the server has lost. Begins with the first message without a final
    /// verdict here (done or reject), or after the last received one.
    ///
    /// In a group, another member may have received a message, given no final verdict on it, and
    /// ended. Such a message is above the last known floor (see ``RetreatedPositions``), so the
    /// consumer begins after the floor, if that comes first.
    ///
    /// - Parameter lastPosition: That of the stream. A server may have lost the last messages, and
    ///   then stores others at their positions.
    private func restartConfig(_ lastPosition: UInt64) -> ConsumerConfig {
      var config = unlimitedRestartConfig
      let most = max(lastPosition &+ 1, state.withLock { $0.first.startPosition ?? 0 })
      if let position = config.startPosition, position > most { config.begin(at: .position(most)) }
      return config
    }

    private var unlimitedRestartConfig: ConsumerConfig {
      // These lines read first `nextPosition`, then `inflow`, then `retreated`. A message enters
      // `inflow` before it is counted in `nextPosition`, and enters `retreated` before it leaves
      // `inflow`. So a message that moves on between two of these reads is found by one of them.
      let (next, first, known) = state.withLock { ($0.nextPosition, $0.first, $0.restart) }
      let inHand = inflow.firstPosition(of: first.name)
      let own = [inHand, state.withLock { $0.retreated.first }].compactMap(\.self).min()
      var config = first
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
