#if NATS
  import Eventing
  import EventingTransport
  import Foundation

  /// Requests as many messages as it has room for (a *pull*), while messages can be handled.
  final class StreamSubscription: InflowSubscription {
    struct State: Sendable {
      var library: KeptSubscription?
      var pulls = StreamPulls()
      var isReady = true
      var pausedUntil = ContinuousClock.now
      var nextHeartbeat = ContinuousClock.now + StreamAdmin.ackWait / 3
      var nextLook = ContinuousClock.now
      /// Returns of messages under way. Until all have ended, no pull is sent, because the server
      /// must redeliver these messages first.
      var returning = 0
      var isRestoring = false
      var isForgotten = false
      /// The position after the largest one that was received.
      var nextPosition: UInt64?
      /// Positions that were returned to the server for redelivery.
      var retreated = RetreatedPositions()
      var consumerCreated: String?
      /// Where the consumer begins in this stream. Its name has the mark of the stream.
      var first: ConsumerConfig
      /// For a new consumer if the server loses this one. Made of the server's last answer.
      var restart: ConsumerConfig
      /// `nil` if the last attempt succeeded, or there was none. An incident reports a new reason.
      var restoringFailure: String?
      /// Texts that an incident has reported.
      var reportedTexts: Set<String> = []
      var lastNumber: UInt64 = 0

      /// Returns the highest position seen so far if the server, having forgotten earlier
      /// deliveries, is repeating messages; otherwise `nil`.
      ///
      /// Delivery numbers normally increase. One that does not shows that the server has forgotten
      /// deliveries. If the position still advances, a new consumer has started after the last
      /// message, and nothing is repeated.
      mutating func note(_ place: StreamPlace) -> UInt64? {
        let last = nextPosition.map { $0 - 1 }
        let isFallen = place.number <= lastNumber && place.position <= last ?? 0
        lastNumber = place.number
        nextPosition = max(nextPosition ?? 0, place.position + 1)
        return isFallen ? last : nil
      }
    }

    let engine: Engine
    let options: SubscribeOptions
    let inflow: Inflow
    let begin: @Sendable (RemoteMessage) -> any BegunMessage
    let stream: StreamName
    let filter: String
    let baseName: String
    var config: ConsumerConfig { state.withLock { $0.first } }
    let inbox: String
    var streamName: String? { stream.name }
    let state: Guarded<State>

    private init(
      _ engine: Engine, _ stream: StreamName, _ baseName: String, _ state: State,
      _ options: SubscribeOptions, _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
    ) {
      self.engine = engine
      self.stream = stream
      (filter, self.baseName) = (state.first.filter, baseName)
      self.state = Guarded(state)
      self.options = options
      self.begin = begin
      inflow = Inflow(options.inFlight)
      inbox = engine.newInbox()
    }

    static func make(
      _ engine: Engine, _ stream: StreamName, _ subject: String, _ options: SubscribeOptions,
      _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
    ) async throws -> StreamSubscription {
      let baseName = ConsumerConfig.baseName(subject, options.group)
      let (config, consumer) = try await StreamAdmin(engine).makeConsumer(stream.name) { facts in
        ConsumerConfig(subject, options, named: baseName, in: facts)
      }
      let state = State(consumerCreated: consumer.created, first: config, restart: consumer.restart)
      let subscription = StreamSubscription(engine, stream, baseName, state, options, begin)
      // The buffer needs room for the messages that pulls request, and for the few messages in
      // which the server says how a pull ended. The server sends no other messages to this inbox.
      let limit = options.inFlight + 1_024
      do {
        let library = try await onOwnThread {
          try engine.subscribe("\(subscription.inbox).*", group: nil, limit: limit) {
            subscription.receive($0)
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
      subscription.wake()
      return subscription
    }

    // MARK: Arrivals

    private func receive(_ arrival: Arrival) {
      if let status = arrival.status { return receive(status, arrival) }
      // Only the server writes to this inbox. If another program does, its message must not make
      // this process send verdicts on messages of other consumers.
      guard let reply = arrival.reply, let place = StreamPlace(reply),
        place.stream.utf8.elementsEqual(stream.name.utf8),
        place.consumer.utf8.starts(with: baseName.utf8)
      else { return }
      let current = config.name
      let consumer = place.consumer.utf8.elementsEqual(current.utf8) ? current : String(place.consumer)
      let mark = consumer.dropFirst(baseName.count)
      var message = arrival.message
      if arrival.givenID == nil {
        message.id = "\(stream.name).\(mark).\(place.position)"  // the publisher gave no id
      }
      message.attempt = engine.failures.count(consumer, place.position) + 1
      message.position = place.position
      message.streamMark = String(mark)
      message.publishedAt = place.time
      let item = Inflow.Item(message: message, reply: reply, consumer: consumer)
      if !inflow.append(item, limit: .max) { giveBack([item]) }
      // The position is noted only after the message was appended to `inflow`: see
      // `unlimitedRestartConfig`.
      let (isOtherConsumer, fallenFrom) = state.withLock { state -> (Bool, UInt64?) in
        state.pulls.arrived()
        // A message of a deleted stream says nothing about the stream that was made instead.
        guard state.first.name == consumer else { return (false, nil) }
        return (place.number <= state.lastNumber, state.note(place))
      }
      // If the delivery number has not grown, a new consumer may have sent the message.
      if isOtherConsumer { beginRestoring() }
      if let fallenFrom { noteRepetition(from: place.position, to: fallenFrom) }
      wake()
    }

    /// The server has lost a part of its record, so it delivers some messages again.
    private func noteRepetition(from position: UInt64, to last: UInt64) {
      let group = options.group.map { "the group \($0)" } ?? "a listener without a group"
      engine.incidents.post(
        TransportIncident(
          kind: .repeated, subject: filter, event: filter, stream: streamName,
          reason:
            "expected the server to know what \(group) has received; it has lost a part of its record, so messages from \(position) on come again; the last one before was at \(last)"
        ))
    }

    // MARK: Time

    func tick(_ now: ContinuousClock.Instant) {
      let (mustBeat, hasExpired, mustLook) = state.withLock { state in
        let (mustBeat, hasExpired) = (state.nextHeartbeat <= now, state.pulls.expire(now))
        if mustBeat { state.nextHeartbeat = now + StreamAdmin.ackWait / 3 }
        // `readinessChanged()` does not report every change. This check finds the unreported ones.
        let mustLook = hasExpired || state.pulls.isEmpty && state.nextLook <= now
        if mustLook { state.nextLook = now + (state.isReady ? .milliseconds(100) : .seconds(1)) }
        return (mustBeat, hasExpired, mustLook)
      }
      // The server answers each pull when the pull ends, unless the consumer of the pull does not
      // exist. So if a pull expires without an answer, the server may have lost the consumer.
      if hasExpired, engine.isConnected { beginRestoring() }
      if mustBeat, engine.isConnected {
        beat(inflow.items)
        askForFloor(now)
      }
      if mustLook { wake() }
    }

    func reconnected() {
      state.withLock { $0.pulls.endAll() }
      wake()
    }

    // MARK: Ending

    func endDelivery(returning items: [Inflow.Item], _ next: @escaping @Sendable () -> Void) {
      // The server may send messages until it knows that the subscription ends. The subscription
      // returns each of these messages. Without a connection, none arrives.
      let isConnected = engine.isConnected
      end(
        {
          self.giveBack(items)
          self.forget()
          if !isConnected { next() }
        }, delivered: { if isConnected { next() } })
    }

    /// `next` is called when the request is enqueued, `delivered` when all messages have arrived
    /// that the server had sent. Messages are returned in `next`: before the request, the server
    /// might deliver them here again.
    private func end(_ next: @escaping @Sendable () -> Void, delivered: @escaping @Sendable () -> Void = {}) {
      guard let library = state.withLock({ $0.library }) else {
        next()
        return delivered()
      }
      library.end(next, delivered: delivered)
    }

    /// Called without a group, whose consumer is this subscription's own.
    private func forget() {
      guard options.group == nil else { return }
      let isFirst = state.withLock { state in
        defer { state.isForgotten = true }
        return !state.isForgotten
      }
      if isFirst { engine.sendQueue.send(Outgoing(subject: "$JS.API.CONSUMER.DELETE.\(stream.name).\(config.name)")) }
    }

    func drain(within limit: Duration) async {
      inflow.close()
      let waiting = inflow.settleWaiting()
      end { self.giveBack(waiting) }
      for item in waiting { inflow.finish(item) }
      await inflow.drain(within: limit)
      let isGivenBack = OneShot<Void>()
      cancel { isGivenBack.set(()) }  // `isGivenBack` is set after `giveBack(waiting)` above was called
      // If the server is frozen, the wait ends after a second. The server then redelivers the
      // messages by itself.
      await isGivenBack.value(until: .now + .seconds(1), or: ())
    }
  }
#endif
