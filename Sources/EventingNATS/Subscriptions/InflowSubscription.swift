#if NATS
  import Eventing
  import EventingTransport

  /// A task passes the messages to handlers.
  protocol InflowSubscription: EngineSubscription {
    var inflow: Inflow { get }
    var options: SubscribeOptions { get }
    var begin: @Sendable (RemoteMessage) -> any BegunMessage { get }
    var engine: Engine { get }
    var filter: String { get }
    /// `nil` if the messages come from no stream.
    var streamName: String? { get }

    /// Called by the task that passes messages to handlers, before it takes each one.
    func lookedReady(_ isReady: Bool)
    /// True if the message must be redelivered before any other: none is requested until
    /// ``takeAgain()``.
    func waits(for verdict: Verdict) -> Bool
    func takeAgain()
    func apply(_ verdict: Verdict, to item: Inflow.Item)
    /// Ends the subscription at the server, and returns messages without a verdict.
    ///
    /// - Parameter next: Called when all that is in the send queue, the returns of messages that
    ///   arrive before the server knows of the end included.
    func endDelivery(returning items: [Inflow.Item], _ next: @escaping @Sendable () -> Void)
  }

  extension InflowSubscription {
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
        // Asked again, so that a message which came after a lock is not passed to the event: it would
        // go back to the server, and come again behind later ones.
        guard options.isReady() else {
          inflow.putBack(item)
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
            kind: .deadLetter, subject: item.message.subject, event: filter, stream: streamName,
            messageID: item.message.publisherID, reason: reason))
      }
      wake()
    }

    func waits(for verdict: Verdict) -> Bool { false }
    func takeAgain() {}
    func readinessChanged() { wake() }

    func cancel() { cancel {} }

    /// Calls `next` when the request for the end, and the returns of messages, are in the send
    /// queue. Until then, a close of the connection waits.
    func cancel(_ next: @escaping @Sendable () -> Void) {
      endDelivery(returning: inflow.end()) {
        self.engine.remove(self)
        next()
      }
    }
  }
#endif
