#if NATS
  import Eventing
  import EventingTransport

  /// Without a stream. A full queue drops messages, and counts them.
  final class PlainSubscription: InflowSubscription {
    private struct State: Sendable {
      var library: KeptSubscription?
      /// Drops that no incident has reported yet. libnats counts its own drops.
      var dropped = 0
      /// The number of drops by libnats at the last check.
      var droppedBefore = 0
      var nextReport = ContinuousClock.now
      /// True after ``drain(within:)``, which was to handle all messages that the server had sent:
      /// later ones count as dropped.
      var countsLate = false
    }

    let engine: Engine
    let options: SubscribeOptions
    let inflow: Inflow
    let begin: @Sendable (RemoteMessage) -> any BegunMessage
    private let subject: String
    var filter: String { subject }
    var streamName: String? { nil }
    private let state = Guarded(State())

    private init(
      _ engine: Engine, _ subject: String, _ options: SubscribeOptions,
      _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
    ) {
      self.engine = engine
      self.subject = subject
      self.options = options
      self.begin = begin
      inflow = Inflow(options.inFlight)
    }

    static func make(
      _ engine: Engine, _ subject: String, _ options: SubscribeOptions,
      _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
    ) async throws -> PlainSubscription {
      guard try await engine.reach("listen to \(subject)", until: .now + engine.publishTimeout) else {
        throw TransportError(.refused, "expected the server to listen to \(subject); it is away")
      }
      let subscription = PlainSubscription(engine, subject, options, begin)
      do {
        let library = try await onOwnThread {
          try engine.subscribe(subject, group: options.group, limit: max(256, options.inFlight)) { arrival in
            subscription.receive(arrival)
          }
        } unwanted: {
          $0.end()
        }
        subscription.state.withLock { $0.library = library }
        try engine.add(subscription, subject)
      } catch {
        subscription.cancel()
        throw error
      }
      return subscription
    }

    private func receive(_ arrival: Arrival) {
      let item = Inflow.Item(message: arrival.message, reply: nil)
      if !inflow.append(item, limit: options.inFlight) {
        let isOpen = inflow.isOpen
        state.withLock { state in
          if isOpen || state.countsLate { state.dropped += 1 }
        }
      }
      wake()
    }

    func tick(_ now: ContinuousClock.Instant) {
      let mustReport = state.withLock { state in
        guard state.nextReport <= now else { return false }
        state.nextReport = now + .milliseconds(500)
        return true
      }
      if mustReport { report() }
    }

    /// Posts an incident if messages were dropped since the last call.
    private func report() {
      let count = state.withLock { $0.library }?.dropped ?? 0
      let dropped = state.withLock { state in
        defer {
          state.dropped = 0
          state.droppedBefore = max(count, state.droppedBefore)
        }
        return state.dropped + max(0, count - state.droppedBefore)
      }
      if dropped > 0 {
        engine.incidents.post(
          TransportIncident(
            kind: .slowConsumer, subject: subject, event: subject, reason: "a subscription did not keep up",
            dropped: dropped))
      }
    }

    func reconnected() {}
    func lookedReady(_ isReady: Bool) {}
    func apply(_ verdict: Verdict, to item: Inflow.Item) {}

    func endDelivery(returning items: [Inflow.Item], _ next: @escaping @Sendable () -> Void) {
      if let library = state.withLock({ $0.library }) { library.end(next) } else { next() }
      report()  // for messages dropped since the last `tick`: the engine soon calls `tick` no more
    }

    /// Messages that the server has already sent reach no other member, so they are handled, too.
    /// Messages that still wait at the limit count as dropped.
    func drain(within limit: Duration) async {
      let end = ContinuousClock.now + min(limit, .year)
      if let library = state.withLock({ $0.library }) {
        await library.end(waitingUntil: end, delivered: { self.report() })
      }
      state.withLock { $0.countsLate = true }
      inflow.close()
      await inflow.drain(within: max(.zero, end - .now))
      let left = inflow.removeWaiting().count
      state.withLock { $0.dropped += left }
      cancel()
    }
  }
#endif
