#if NATS
  import Eventing
  import EventingTransport

  /// A subscription whose messages a task passes to handlers.
  protocol InflowSubscription: EngineSubscription {
    var inflow: Inflow { get }
    var options: SubscribeOptions { get }
    var begin: @Sendable (RemoteMessage) -> any BegunMessage { get }
    var engine: Engine { get }
    /// The subject of the subscription, which may have wildcards.
    var filter: String { get }
    /// The name of the stream; `nil` without one.
    var streamName: String? { get }

    /// Tells the subscription whether messages can be handled. The task that passes messages to
    /// handlers calls this method before it takes each message.
    func lookedReady(_ isReady: Bool)
    /// If the message of a verdict must be redelivered before any other, stops requesting messages
    /// until ``takeAgain()``, and returns true. Otherwise returns false.
    func waits(for verdict: Verdict) -> Bool
    /// Ends the wait that ``waits(for:)`` began.
    func takeAgain()
    /// Carries out a verdict.
    func apply(_ verdict: Verdict, to item: Inflow.Item)
    /// Ends the subscription at the server, and returns messages without a verdict to the server.
    ///
    /// - Parameters:
    ///   - items: The messages.
    ///   - next: A closure that is called when everything that this method sends is in the send
    ///     queue. This includes the returns of messages that arrive before the server knows of the
    ///     end.
    func endDelivery(returning items: [Inflow.Item], _ next: @escaping @Sendable () -> Void)
  }

  extension InflowSubscription {
    /// Starts the task that takes messages, unless it is running.
    func wake() {
      if inflow.wake() { Scheduling.task(priority: nil, on: nil) { await self.pump() } }
    }

    private func pump() async {
      var count = 0
      while true {
        let isReady = options.isReady()
        lookedReady(isReady)
        guard isReady, let item = inflow.take() else {
          if inflow.stopPumping() { return }
          continue
        }
        let begun = begin(item.message)
        if let verdict = begun.knownVerdict {
          applyVerdict(item, verdict)
        } else {
          Scheduling.task(priority: nil, on: nil) { self.applyVerdict(item, await begun.verdict) }
        }
        count += 1
        if count.isMultiple(of: 1_024) { await Task.yield() }
      }
    }

    private func applyVerdict(_ item: Inflow.Item, _ verdict: Verdict) {
      let isWaiting = waits(for: verdict)  // first, because `finish` below makes room for another message
      let settled = inflow.settle(item)
      if let settled {
        apply(verdict, to: settled)
        inflow.finish(settled)
      }
      if isWaiting { takeAgain() }
      guard settled != nil else { return }  // the message was returned to the server before
      if case .reject(let reason) = verdict {
        engine.incidents.post(
          TransportIncident(
            kind: .deadLetter, subject: item.message.subject, event: filter, stream: streamName, reason: reason))
      }
      wake()
    }

    func waits(for verdict: Verdict) -> Bool { false }
    func takeAgain() {}
    func readinessChanged() { wake() }

    func cancel() { cancel {} }

    /// Ends the subscription. Calls a closure when everything that this call sends to the server is
    /// in the send queue: the request to end the subscription, and the returns of messages. Until
    /// the closure is called, a close of the connection waits for the subscription.
    func cancel(_ next: @escaping @Sendable () -> Void) {
      endDelivery(returning: inflow.end()) {
        self.engine.remove(self)
        next()
      }
    }
  }
#endif
