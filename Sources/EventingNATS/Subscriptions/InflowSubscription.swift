#if NATS
  import Eventing
  import EventingTransport

  /// A subscription that hands its messages to handlers from a task.
  protocol InflowSubscription: EngineSubscription {
    var inflow: Inflow { get }
    var options: SubscribeOptions { get }
    var begin: @Sendable (RemoteMessage) -> any BegunMessage { get }
    var engine: Engine { get }

    /// Notes whether messages can be handled, before the task takes one.
    func lookedReady(_ isReady: Bool)
    /// Asks the server for nothing more until ``takeAgain()``, if the message of a verdict must
    /// come again before any other. Returns whether that is so.
    func waits(for verdict: Verdict) -> Bool
    /// Ends a wait.
    func takeAgain()
    /// Does what a verdict says.
    func apply(_ verdict: Verdict, to item: Inflow.Item)
    /// Gives messages without a verdict back.
    func giveBack(_ items: [Inflow.Item])
    /// Ends the subscription at the server, and calls a closure when the server has been told.
    ///
    /// What is given back before would come here again.
    func endDelivery(_ next: @escaping @Sendable () -> Void)
    /// Removes what the server keeps for this subscription alone.
    func forget()
  }

  extension InflowSubscription {
    /// Starts the task that takes messages, unless it runs.
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
          settle(item, verdict)
        } else {
          Scheduling.task(priority: nil, on: nil) { self.settle(item, await begun.verdict) }
        }
        count += 1
        if count.isMultiple(of: 1_024) { await Task.yield() }
      }
    }

    private func settle(_ item: Inflow.Item, _ verdict: Verdict) {
      let isWaiting = waits(for: verdict)  // before there is room for another message
      let wasInHand = inflow.finish(item)
      if wasInHand { apply(verdict, to: item) }
      if isWaiting { takeAgain() }
      guard wasInHand else { return }  // it was given back
      if case .reject(let reason) = verdict {
        engine.incidents.post(
          TransportIncident(kind: .deadLetter, subject: item.message.subject, reason: reason))
      }
      wake()
    }

    func waits(for verdict: Verdict) -> Bool { false }
    func takeAgain() {}
    func readinessChanged() { wake() }

    func cancel() {
      let items = inflow.end()
      endDelivery {
        self.giveBack(items)
        self.forget()
      }
      engine.remove(self)
    }
  }
#endif
