#if NATS
  public import Eventing
  public import EventingTransport

  /// A transport over a stream of a NATS server, or without a stream: see ``NATS``.
  ///
  /// On a stream, each group is a durable consumer of the server. Questions need ``NATS/plain``: a
  /// stream would store the query, and reply that it is stored. If a stream is deleted and made
  /// again, its listenings go on with the first message of the new stream.
  ///
  /// A listening without a group has a consumer of its own, which ends with it. If its process
  /// dies, or the connection closes during `listen`, the server deletes that consumer after five
  /// minutes.
  ///
  /// A subscription has at most 65,536 messages without a verdict: a larger `inFlight` counts as
  /// that number. Waits and delays of more than a year count as a year.
  public final class NATSTransport: Transport {
    let engine: Engine
    let stream: StreamName?
    /// When a duplicate may be compared with the stored message.
    private let nextComparison = Guarded(ContinuousClock.now)

    init(_ engine: Engine, _ stream: StreamName?) {
      self.engine = engine
      self.stream = stream
    }

    public var identity: String { engine.identity }
    public var incidents: any EventSource<TransportIncident> { engine.incidents.source }

    /// The promises of the transport, which differ with and without a stream.
    public var promises: TransportPromises {
      var promises = TransportPromises(isAtLeastOnce: stream != nil)
      promises.hasRequests = stream == nil
      promises.largestPayload = max(0, engine.largestMessage - NATSTransport.headerRoom)
      return promises
    }

    /// The largest body is this much smaller than the largest message.
    static let headerRoom = 8_192

    /// The limit holds for all headers of a stored message together.
    static let mostStoredHeaders = 65_535

    /// libnats buffers up to this number of messages.
    static let mostInFlight = 65_536

    // MARK: Publishing

    public func publish(_ message: RemoteMessage, to subject: String) async throws -> Receipt {
      try await publish(message, to: subject) {}
    }

    public func publish(
      _ message: RemoteMessage, to subject: String, entered: @escaping @Sendable () -> Void
    ) async throws -> Receipt {
      do { return try await publishOnce(message, to: subject, entered) } catch {
        // A letter that is too large is made smaller, and published again.
        if let origin = message.deadLetterOrigin, (error as? TransportError)?.code != .tooLarge {
          let reason = "a dead letter was not stored: \(error)"
          engine.incidents.post(
            TransportIncident(kind: .refused, subject: origin, messageID: message.publisherID, reason: reason))
        }
        throw error
      }
    }

    private func publishOnce(
      _ message: RemoteMessage, to subject: String, _ entered: () -> Void
    ) async throws -> Receipt {
      try check(subject, nil)
      try check(message)
      let most = promises.largestPayload
      guard message.body.count <= most else {
        throw TransportError(.tooLarge, "expected at most \(most) bytes for \(subject), got \(message.body.count)")
      }
      let outgoing = Outgoing(message, to: subject, needsID: stream != nil)
      // A dead letter has more headers than the original message. So its headers may also fill the
      // room that its body leaves free. The stream of this transport need not store a dead letter,
      // because another stream may. So the check of the subject below is only for other messages.
      let isLetter = message.deadLetterOrigin != nil
      let room =
        isLetter
        ? min(most + NATSTransport.headerRoom - message.body.count, NATSTransport.mostStoredHeaders)
        : NATSTransport.headerRoom
      guard outgoing.size - message.body.count <= room else {
        throw TransportError(.tooLarge, "expected headers of at most \(room) bytes for \(subject), got more")
      }
      if !isLetter { try stream?.check(subject) }
      let end = ContinuousClock.now + engine.publishTimeout
      let cost = PublishBudget.cost(outgoing.size)
      try await reach(subject, until: end)
      guard await engine.budget.take(cost, until: end) else {
        try Task.checkCancellation()
        try engine.checkOpen("publish to \(subject)")
        throw TransportError(
          .refused,
          "expected room for a message to \(subject) within \(engine.publishTimeout); the server did not keep up. It is not stored"
        )
      }
      guard stream != nil else {
        guard engine.hand(outgoing, cost: cost) else {
          throw TransportError(.closed, "expected an open connection for \(subject); it was closed")
        }
        return Receipt()
      }
      let held = StoredRoom(engine.budget, cost)
      defer { held.release() }
      let receipt = try await store(outgoing, held, until: end, entered)
      if receipt.isDuplicate, !isLetter { checkDuplicate(message, of: receipt, on: subject) }
      return receipt
    }

    /// The publisher does not wait for the comparison. One runs at a time, and none for a minute
    /// after one that fails: a publisher may lack the permission to read the stream.
    private func checkDuplicate(_ message: RemoteMessage, of receipt: Receipt, on subject: String) {
      guard let stream, let position = receipt.position else { return }
      let mayBegin = nextComparison.withLock { next in
        if next > .now { return false }
        next = .now + .year
        return true
      }
      guard mayBegin else { return }
      Scheduling.task(priority: nil, on: nil) { [engine, self] in
        var pause = Duration.zero
        defer { nextComparison.withLock { $0 = .now + pause } }
        do {
          let stored = try await StreamAdmin(engine).message(at: position, in: stream.name)
          if let stored, stored.body != message.body || !stored.subject.hasBytes(of: subject) {
            engine.incidents.post(.reusedID(message, on: subject, in: stream.name, receipt))
          }
        } catch { pause = .seconds(60) }
      }
    }

    private func reach(_ subject: String, until end: ContinuousClock.Instant) async throws {
      guard try await engine.reach("publish to \(subject)", until: end) else {
        throw TransportError(
          .refused,
          "expected the server within \(engine.publishTimeout) for a message to \(subject); it was away. It is not stored"
        )
      }
    }

    public func backlog(of subject: String, in group: String) async throws -> Backlog {
      try check(subject, group)
      guard let stream else {
        throw TransportError(
          .notPromised, "expected a stream for the backlog of \(group); without one, nothing is stored")
      }
      try stream.check(subject)
      return try await StreamAdmin(engine).backlog(stream.name, subject, group)
    }

    // MARK: Subscribing

    public func subscribe(
      _ subject: String, _ options: SubscribeOptions, _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
    ) async throws -> any TransportSubscription {
      try check(subject, options.group)
      var options = options
      options.inFlight = min(max(1, options.inFlight), NATSTransport.mostInFlight)
      guard let stream else { return try await PlainSubscription.make(engine, subject, options, begin) }
      try stream.check(subject)
      if let deadLetter = options.deadLetter, !stream.stores(deadLetter) {
        try await StreamAdmin(engine).checkStored(deadLetter)
      }
      return try await StreamSubscription.make(engine, stream, subject, options, begin)
    }

    /// libnats would write these unchanged into a line of its protocol.
    private func check(_ subject: String, _ group: String?) throws {
      if subject.isEmpty || subject.utf8.contains(where: { $0 <= 32 || $0 == 127 }) {
        throw TransportError(
          .badSubject, "expected a subject of words that are joined by dots; got \(quoted(subject))")
      }
      if let group, group.isEmpty || group.utf8.contains(where: { $0 <= 32 || $0 == 127 || ".*>/\\".utf8.contains($0) })
      {
        throw TransportError(
          .badGroup, "expected a group name of letters, digits, - and _; got \(quoted(group))")
      }
    }

    /// libnats writes names unchanged, and replaces line breaks in values.
    private func check(_ message: RemoteMessage) throws {
      try checkHeaderSyntax(message.headers)
      if message.id.utf8.contains(where: { $0 < 32 || $0 == 127 }) {
        throw TransportError(
          .badOption, "expected an id without line breaks and control characters; got \(quoted(message.id))")
      }
    }

    // MARK: Requests

    public func request(
      _ message: RemoteMessage, to subject: String, within limit: Duration
    ) async throws -> RemoteMessage {
      try check(subject, nil)
      try check(message)
      let most = promises.largestPayload
      guard stream == nil else {
        throw TransportError(.notPromised, "expected the plain transport for a question on \(subject); got a stream")
      }
      guard message.body.count <= most else {
        throw TransportError(.tooLarge, "expected at most \(most) bytes for \(subject), got \(message.body.count)")
      }
      let end = ContinuousClock.now + min(limit, .year)
      guard try await engine.reach("ask \(subject)", until: end) else {
        throw TransportError(
          .timedOut, "expected a reply to \(subject) within \(limit); the server was away for that time")
      }
      let outgoing = Outgoing(message, to: subject, needsID: false)
      let cost = PublishBudget.cost(outgoing.size)
      guard await engine.budget.take(cost, until: end) else {
        try Task.checkCancellation()
        try engine.checkOpen("ask \(subject)")
        throw TransportError(
          .timedOut, "expected room for a question to \(subject) within \(limit); the server did not keep up")
      }
      let outcome = await engine.exchange(
        outgoing, until: end, endsWhenLost: false, sent: { [budget = engine.budget] _ in budget.give(cost) })
      switch outcome {
      case .reply(let arrival) where arrival.status == 503:
        throw TransportError(.noResponders, "expected a process that responds to \(subject); there is none")
      case .reply(let arrival): return arrival.message
      case .late, .lost:
        throw TransportError(.timedOut, "expected a reply to \(subject) within \(limit); none came")
      case .refused(let reason):
        throw TransportError(.refused, "expected to ask \(subject); the server says: \(withoutCredentials(reason))")
      case .unsent(let reason):
        throw TransportError(.refused, "expected to ask \(subject); not sent: \(withoutCredentials(reason))")
      case .closed:
        throw TransportError(.closed, "expected an open connection for \(subject); it was closed")
      case .cancelled: throw CancellationError()
      }
    }

    public func respond(
      to subject: String, group: String?, inFlight: Int,
      _ answer: @escaping @Sendable (RemoteMessage) async -> RemoteMessage
    ) async throws -> any TransportSubscription {
      try check(subject, group)
      guard stream == nil else {
        throw TransportError(.notPromised, "expected the plain transport for responders of \(subject); got a stream")
      }
      return try await Responder.make(engine, subject, group, min(max(1, inFlight), NATSTransport.mostInFlight), answer)
    }
  }

  extension NATSTransport: CustomStringConvertible {
    /// The name of the stream, or `plain`.
    public var description: String { stream.map { "NATS stream \($0.name)" } ?? "NATS plain" }
  }
#endif
