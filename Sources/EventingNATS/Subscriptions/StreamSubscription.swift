#if NATS
  import Eventing
  import EventingTransport
  import Foundation

  /// A subscription to a stream.
  ///
  /// The subscription requests as many messages as it has room for (a *pull*). The server sends
  /// them when they are available. The subscription pulls only while messages can be handled.
  final class StreamSubscription: InflowSubscription {
    struct State: Sendable {
      var library: LibrarySubscription?
      var pulls = StreamPulls()
      /// Whether messages could be handled at the last check.
      var isReady = true
      /// The time before which no pull is sent.
      var pausedUntil = ContinuousClock.now
      var nextHeartbeat = ContinuousClock.now + StreamAdmin.ackWait / 3
      var nextLook = ContinuousClock.now
      /// The number of operations under way that return messages to the server. Until all of them
      /// have ended, no pull is sent, because the server must redeliver these messages before any
      /// other.
      var returning = 0
      /// Whether a task is restoring the consumer.
      var isRestoring = false
      /// Whether this subscription, which has no group, has deleted its consumer.
      var isForgotten = false
      /// The position after the largest one that was received.
      var nextPosition: UInt64?
      /// The positions of the messages that were returned to the server for redelivery.
      var retreated = RetreatedPositions()
      /// The time at which the stream was made.
      var streamCreated: String?
      /// The time at which the consumer was made.
      var consumerCreated: String?
      /// The configuration with which the consumer begins in this stream.
      var first: ConsumerConfig
      /// The configuration for a new consumer if the server loses this one, so that no member loses
      /// a message. It is made of the server's last answer about the consumer.
      var restart: ConsumerConfig
      /// Why the consumer could not be made again at the last attempt; `nil` if it could, or if
      /// there was no attempt. An incident is posted when the reason changes.
      var restoringFailure: String?
      /// The number of the last delivery that arrived, among all deliveries of the consumer.
      var lastNumber: UInt64 = 0

      /// Records a delivery. If its number shows that the server has forgotten earlier deliveries,
      /// so that the server repeats messages, returns the largest position that arrived before this
      /// delivery; otherwise `nil`.
      ///
      /// Deliveries of a consumer have growing numbers, and arrive in that order. A number that
      /// does not grow shows that the server has forgotten deliveries. If the position grows
      /// nevertheless, a new consumer was made that begins after the last message that arrived.
      /// Then no message is repeated.
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
    let config: ConsumerConfig
    private let inbox: String
    var filter: String { config.filter }
    var streamName: String? { stream.name }
    let state: Guarded<State>

    private init(
      _ engine: Engine, _ stream: StreamName, _ config: ConsumerConfig, _ state: State,
      _ options: SubscribeOptions, _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
    ) {
      self.engine = engine
      self.stream = stream
      self.config = config
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
      let admin = StreamAdmin(engine)
      var config = ConsumerConfig(subject, options)
      let facts = try await admin.facts(of: stream.name)
      config.fixStart(after: facts.lastPosition)
      let consumer = try await admin.makeConsumer(stream.name, config)
      let state = State(
        streamCreated: facts.created, consumerCreated: consumer.created, first: config, restart: consumer.restart)
      let subscription = StreamSubscription(engine, stream, config, state, options, begin)
      // The buffer needs room for the messages that pulls request, and for the few messages in
      // which the server says how a pull ended. The server sends no other messages to this inbox.
      let limit = options.inFlight + 1_024
      do {
        let library = try await onOwnThread {
          try engine.connection.subscribe("\(subscription.inbox).*", group: nil, limit: limit) {
            subscription.receive($0)
          }
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
      guard let reply = arrival.reply, let place = StreamPlace(reply) else { return }
      var message = arrival.message
      if arrival.headers[MessageHeader.id] == nil, arrival.headers["ce-id"] == nil {
        message.id = "\(stream.name).\(place.position)"  // the publisher gave no id
      }
      message.attempt = max(1, place.delivered - engine.released.count(config.name, place.position))
      message.position = place.position
      message.publishedAt = place.time
      let item = Inflow.Item(message: message, reply: reply)
      if !inflow.append(item, limit: .max) { giveBack([item]) }
      // The position is noted only after the message was appended to `inflow`: see
      // `unlimitedRestartConfig`.
      let (isOtherConsumer, fallenFrom) = state.withLock { state in
        state.pulls.arrived()
        return (place.number <= state.lastNumber, state.note(place))
      }
      // If the delivery number has not grown, a new consumer may have sent the message, perhaps
      // from a new stream. Restoring then prevents verdicts on messages of the old stream.
      if isOtherConsumer { beginRestoring() }
      if let fallenFrom { noteRepetition(from: place.position, to: fallenFrom) }
      wake()
    }

    /// Posts an incident: the server has lost a part of its record of the messages that the group
    /// received, so it delivers some of them again.
    private func noteRepetition(from position: UInt64, to last: UInt64) {
      let group = options.group.map { "the group \($0)" } ?? "a listener without a group"
      engine.incidents.post(
        TransportIncident(
          kind: .repeated, subject: filter, event: filter, stream: streamName,
          reason:
            "expected the server to know what \(group) has received; it has lost a part of its record, so messages from \(position) on come again; the last one before was at \(last)"
        ))
    }

    /// Handles a message that the server sends about a pull: the pull has ended, or the consumer is
    /// lost.
    private func receive(_ status: Int, _ arrival: Arrival) {
      let token = UInt64(arrival.subject.dropFirst(inbox.count + 1)) ?? 0
      let unsent = arrival.headers[MessageHeader.unsent].flatMap { Int($0) }
      let text = arrival.headers[MessageHeader.description] ?? ""
      let mustRestore = state.withLock { state in
        switch status {
        case 404, 408: if let unsent { state.pulls.end(token, unsent: unsent) } else { state.pulls.end(token) }
        case 409, 503:
          state.pulls.endAll()
          state.pausedUntil = .now + .milliseconds(200)
        default: return false
        }
        return status == 503 || text.contains("Consumer")
      }
      if mustRestore { beginRestoring() }
      wake()
    }

    // MARK: Pulls

    func lookedReady(_ isReady: Bool) {
      guard inflow.isOpen else { return }
      if !isReady {
        let hasPulls = state.withLock { state in
          state.isReady = false
          return !state.pulls.isEmpty
        }
        // If messages are returned while a pull is open, the server delivers them to this pull at
        // once. So they are returned only after the pull has ended, which takes at most
        // ``StreamPulls/expiry``.
        guard !hasPulls else { return }
        let waiting = inflow.settleWaiting()
        giveBackInOrder(waiting)
        for item in waiting { inflow.finish(item) }
        return
      }
      guard engine.isConnected else { return }
      let (count, now) = (inflow.count, ContinuousClock.now)
      let pull = state.withLock { state in
        state.isReady = true
        return state.pausedUntil <= now && !state.isRestoring && state.returning == 0
          ? state.pulls.begin(room: options.inFlight - count, of: options.inFlight, now) : nil
      }
      if let pull { send(pull) }
    }

    /// Sends a pull.
    func send(_ pull: (token: UInt64, batch: Int)) {
      var message = Outgoing(
        subject: "$JS.API.CONSUMER.MSG.NEXT.\(stream.name).\(config.name)", reply: "\(inbox).\(pull.token)",
        body: Array("{\"batch\":\(pull.batch),\"expires\":\(StreamPulls.expiry.nanoseconds)}".utf8))
      message.isSent = { [state] reason in
        if reason != nil { state.withLock { $0.pulls.end(pull.token) } }  // the next tick pulls again
      }
      // If the pull was given up while it waited for the connection, it is not sent.
      message.isNeeded = { [state] in state.withLock { $0.pulls.isOpen(pull.token) } }
      engine.sendQueue.send(message)
    }

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

    /// Asks the server to end the subscription. Calls `next` when the request is enqueued, and
    /// `delivered` when all messages have arrived that the server had sent before.
    ///
    /// Callers return their messages to the server in `next`, and not earlier. If a message were
    /// returned before the request, the server might deliver it to this subscription again.
    private func end(_ next: @escaping @Sendable () -> Void, delivered: @escaping @Sendable () -> Void = {}) {
      guard let library = state.withLock({ $0.library }) else {
        next()
        return delivered()
      }
      library.end(next, delivered: delivered)
    }

    /// Deletes the consumer of a subscription without a group.
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
      let timer = Scheduling.cancelledWhenDropped {
        if (try? await Task.sleep(for: .seconds(1))) != nil { isGivenBack.set(()) }
      }
      await isGivenBack.value
      withExtendedLifetime(timer) {}
    }
  }
#endif
