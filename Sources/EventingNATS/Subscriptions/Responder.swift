#if NATS
  import Eventing
  import EventingTransport

  final class Responder: EngineSubscription {
    private struct State: Sendable {
      var library: KeptSubscription?
      var waiting: [(request: Arrival, gate: QueryGate)] = []
      var running = 0
      var inHand: [UInt64: (request: Arrival, gate: QueryGate)] = [:]
      var lastNumber: UInt64 = 0
      var drainers: [OneShot<Void>] = []
      var dropped = 0
      /// Requests that were dropped since the last report, because their reply would go to no
      /// inbox.
      var hostile: (count: Int, subject: String) = (0, "")
      /// The number of replies made after the connection was closed that have not been reported yet.
      var unsent = 0
      /// Later requests are refused.
      var isOver = false
    }

    private enum Place { case running, waiting, refused }

    private static let limit = 4_096
    private let engine: Engine
    private let subject: String
    private let inFlight: Int
    private let answer: @Sendable (RemoteMessage) async -> RemoteMessage
    private let state = Guarded(State())

    private init(
      _ engine: Engine, _ subject: String, _ inFlight: Int,
      _ answer: @escaping @Sendable (RemoteMessage) async -> RemoteMessage
    ) {
      self.engine = engine
      self.subject = subject
      self.inFlight = inFlight
      self.answer = answer
    }

    static func make(
      _ engine: Engine, _ subject: String, _ group: String?, _ inFlight: Int,
      _ answer: @escaping @Sendable (RemoteMessage) async -> RemoteMessage
    ) async throws -> Responder {
      guard try await engine.reach("respond to \(subject)", until: .now + engine.publishTimeout) else {
        throw TransportError(.refused, "expected the server to respond to \(subject); it is away")
      }
      let responder = Responder(engine, subject, inFlight, answer)
      do {
        let library = try await onOwnThread {
          try engine.subscribe(subject, group: group, limit: nil) { responder.receive($0) }
        } unwanted: {
          $0.end()
        }
        responder.state.withLock { $0.library = library }
        try engine.add(responder, subject)
      } catch {
        responder.cancel()
        throw error
      }
      return responder
    }

    private func receive(_ request: Arrival) {
      guard let reply = request.reply else { return }
      guard ReplySubject.isInbox(reply, of: engine.inboxPrefix) else {
        return state.withLock { $0.hostile = ($0.hostile.count + 1, reply) }
      }
      // The caller's limit counts from now on, also while the request waits here.
      let gate = QueryGate(isWanted: RequestCaller.waiting(for: request.message))
      let place = state.withLock { state -> Place in
        if state.isOver { return .refused }
        if state.running < inFlight {
          state.running += 1
          return .running
        }
        guard state.waiting.count < Responder.limit else {
          state.dropped += 1
          return .refused
        }
        state.waiting.append((request, gate))
        return .waiting
      }
      switch place {
      case .running: Scheduling.task(priority: nil, on: nil) { await self.run((request, gate)) }
      case .waiting: break
      case .refused: refuse(request)
      }
    }

    /// Replies that there is no responder, so that the caller does not wait for its limit.
    private func refuse(_ request: Arrival) {
      let reason = "expected a process that responds to \(subject); this one has ended, or has too many requests"
      let headers = [
        MessageHeader.failure: "\(TransportError.Code.noResponders)", MessageHeader.failureReason: reason,
      ]
      engine.sendQueue.send(Outgoing(subject: request.reply ?? "", headers: headers))
    }

    private func run(_ first: (request: Arrival, gate: QueryGate)) async {
      var next: (request: Arrival, gate: QueryGate)? = first
      while let (request, gate) = next {
        let (number, isOver) = state.withLock { state in
          state.lastNumber += 1
          state.inHand[state.lastNumber] = (request, gate)
          return (state.lastNumber, state.isOver)
        }
        if isOver, gate.refuse() { refuse(request) }
        var message = request.message
        message.queryGate = gate
        let isWanted = gate.isWanted?() ?? true
        let reply = isWanted ? checked(await answer(message)) : RemoteMessage()
        state.withLock { _ = $0.inHand.removeValue(forKey: number) }
        let isTaken =
          !isWanted || gate.isRefused
          || engine.reply(Outgoing(reply, to: request.reply ?? "", needsID: false), from: subject)
        let (following, drainers, unsent) = state.withLock {
          state -> ((request: Arrival, gate: QueryGate)?, [OneShot<Void>], Int) in
          if !isTaken { state.unsent += 1 }
          if !state.waiting.isEmpty { return (state.waiting.removeFirst(), [], 0) }
          state.running -= 1
          guard state.running == 0 else { return (nil, [], 0) }
          defer { (state.drainers, state.unsent) = ([], 0) }
          return (nil, state.drainers, state.unsent)
        }
        for drainer in drainers { drainer.set(()) }
        if unsent > 0 {
          let reason = "expected to send all replies before the connection was closed; some were not sent"
          engine.incidents.post(
            TransportIncident(kind: .refused, subject: subject, reason: reason, dropped: unsent))
        }
        next = following
      }
    }

    /// A reply that cannot be sent is replaced by one that reports the fault to the caller.
    private func checked(_ reply: RemoteMessage) -> RemoteMessage {
      do {
        try checkHeaderSyntax(reply.headers)
        let (size, most) = (Outgoing(reply, to: "", needsID: false).size, engine.largestMessage)
        guard size <= most else {
          throw TransportError(.tooLarge, "expected an answer of at most \(most) bytes with its headers, got \(size)")
        }
        return reply
      } catch {
        return RemoteMessage(
          headers: [
            MessageHeader.failure: "\(TransportError.Code.responderFailed)", MessageHeader.failureReason: "\(error)",
          ])
      }
    }

    var inHandCount: Int { state.withLock { $0.inHand.count } }

    func tick(_ now: ContinuousClock.Instant) { report() }

    private func report() {
      let (dropped, hostile) = state.withLock { state in
        defer { (state.dropped, state.hostile) = (0, (0, "")) }
        return (state.dropped, state.hostile)
      }
      if hostile.count > 0 {
        let reason = "expected an inbox, as _INBOX.a, as the subject for a reply; got \(quoted(hostile.subject))"
        engine.incidents.post(
          TransportIncident(kind: .refused, subject: subject, event: subject, reason: reason, dropped: hostile.count))
      }
      if dropped > 0 {
        engine.incidents.post(
          TransportIncident(
            kind: .slowConsumer, subject: subject, event: subject, reason: "a responder did not keep up",
            dropped: dropped))
      }
    }

    func reconnected() {}
    func readinessChanged() {}

    /// Answers the callers whose answers would be too late.
    func connectionCloses() {
      let headers = [
        MessageHeader.failure: "\(TransportError.Code.responderFailed)",
        MessageHeader.failureReason: "expected an answer of \(subject) before its connection closed; it came too late",
      ]
      let begun = state.withLock { $0.inHand.sorted { $0.key < $1.key }.map(\.value) }.filter { !$0.gate.isRefused }
      for query in begun { engine.sendQueue.send(Outgoing(subject: query.request.reply ?? "", headers: headers)) }
    }

    /// The server sends requests until it knows of the end. They reach no other responder, so this
    /// one answers them.
    func drain(within limit: Duration) async {
      let end = ContinuousClock.now + min(limit, .year)
      if let library = state.withLock({ $0.library }) { await library.end(waitingUntil: end) }
      let isIdle = OneShot<Void>()
      let mustWait = state.withLock { state in
        if state.running > 0 { state.drainers.append(isIdle) }
        return state.running > 0
      }
      if mustWait { await isIdle.value(until: end, or: ()) }
      cancel()
    }

    func cancel() {
      endDelivery()
      let (waiting, inHand) = state.withLock { state in
        defer { state.waiting = [] }
        state.isOver = true
        return (state.waiting, Array(state.inHand.values))
      }
      for (request, _) in waiting { refuse(request) }
      // A query that waits on the lane of a responder is not begun any more.
      for query in inHand where query.gate.refuse() { refuse(query.request) }
      engine.remove(self)
      report()  // for requests dropped since the last `tick`: the engine now calls `tick` no more
    }

    private func endDelivery() {
      let library = state.withLock { state in
        defer { state.library = nil }
        return state.library
      }
      library?.end()
    }
  }
#endif
