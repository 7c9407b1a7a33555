#if NATS
  import Eventing
  import EventingTransport
  import Foundation

  /// Makes streams and consumers through the server's JetStream interface.
  struct StreamAdmin: Sendable {
    /// After this time, the server redelivers a message without a verdict.
    static let ackWait = Duration.seconds(10)
    /// After this time, the server deletes an idle consumer without a group.
    static let forgetting = Duration.seconds(300)
    private let engine: Engine

    init(_ engine: Engine) { self.engine = engine }

    /// If the stream exists, checks that it has these subjects and options.
    func makeStream(_ name: String, _ subjects: [String], _ maxAge: Duration?, _ replicas: Int?) async throws {
      try StreamName.check(name, subjects)
      if let maxAge, maxAge < .milliseconds(100) {
        throw TransportError(.badOption, "expected a maxAge of 100 ms at least for the stream \(name); got \(maxAge)")
      }
      if let replicas, !(1...5).contains(replicas) {
        throw TransportError(.badOption, "expected 1 to 5 replicas of the stream \(name); got \(replicas)")
      }
      if try await isThere(name, subjects, maxAge, replicas) { return }
      let age = maxAge?.nanoseconds ?? 0
      let window = Duration.seconds(120).nanoseconds
      let config = StreamConfig(
        name: name, subjects: subjects, maxAge: age, replicas: replicas ?? 1,
        window: age > 0 ? min(age, window) : window)
      let answer = try await request("STREAM.CREATE.\(name)", config)
      guard let error = answer.error else { return }
      // Another process may have made the stream meanwhile.
      if try await isThere(name, subjects, maxAge, replicas) { return }
      throw TransportError(
        .refused,
        "expected to make the stream \(name) of \(subjects.joined(separator: ", ")); the server says: \(text(error))")
    }

    /// Throws if the stream gives no receipts, or differs from the arguments; `nil` allows any
    /// value.
    private func isThere(
      _ name: String, _ subjects: [String], _ maxAge: Duration?, _ replicas: Int?
    ) async throws -> Bool {
      let answer = try await request("STREAM.INFO.\(name)", Nothing?.none)
      if answer.isMissing { return false }
      guard let config = answer.config else { throw unseen(name, answer) }
      let found = config.subjects ?? []
      var faults: [String] = []
      if Set(found) != Set(subjects) {
        faults.append(
          "subjects \(subjects.sorted().joined(separator: ", ")); it has \(found.sorted().joined(separator: ", "))")
      }
      if let maxAge, maxAge.nanoseconds != config.maxAge ?? 0 {
        faults.append("a maxAge of \(maxAge); it has \(Duration.nanoseconds(config.maxAge ?? 0))")
      }
      if let replicas, let found = config.replicas, replicas != found {
        faults.append("\(replicas) replicas; it has \(found)")
      }
      if config.hasNoReceipts == true { faults.append("receipts for what is published; it has no_ack") }
      guard faults.isEmpty else {
        throw TransportError(
          .streamDiffers, "expected the stream \(name) to have \(faults.joined(separator: ", and "))")
      }
      return true
    }

    func subjects(of name: String) async throws -> [String] {
      try StreamName.check(name, [name])
      let answer = try await request("STREAM.INFO.\(name)", Nothing?.none)
      guard let config = answer.config else { throw unseen(name, answer) }
      return config.subjects ?? []
    }

    func checkStored(_ deadLetter: String) async throws {
      let answer = try await request("STREAM.NAMES", ["subject": deadLetter])
      if answer.error == nil, answer.streams?.isEmpty ?? true {
        throw TransportError(
          .badSubject, "expected a stream that stores the dead-letter subject \(deadLetter); there is none")
      }
    }

    struct StreamFacts: Sendable {
      /// A hash of the time at which the stream was created. A recreated one has the same name
      /// and positions, but another mark.
      let mark: String
      let lastPosition: UInt64
    }

    func facts(of stream: String) async throws -> StreamFacts {
      let answer = try await request("STREAM.INFO.\(stream)", Nothing?.none)
      guard let state = answer.state else { throw unseen(stream, answer) }
      return StreamFacts(mark: StreamName.hash(answer.created ?? ""), lastPosition: state.lastPosition)
    }

    private func unseen(_ stream: String, _ answer: StreamAnswer) -> TransportError {
      TransportError(
        .refused, "expected to look at the stream \(stream); the server says: \(answer.error.map(text) ?? "nothing")")
    }

    struct Consumer: Sendable {
      var isNew = false
      /// For recreating the consumer: see ``ConsumerConfig/restarted(_:)``.
      var restart: ConsumerConfig
      /// `nil` if the server does not say.
      var created: String?
    }

    /// If the consumer exists, checks its subject.
    ///
    /// The stream may be recreated meanwhile, and would then have a consumer with the old mark. So this
    /// checks the stream once more, and in that case deletes the consumer and starts over.
    ///
    /// - Parameter isNeeded: Called directly before the request is sent. Must not block.
    func makeConsumer(
      _ stream: String, isNeeded: @escaping @Sendable () -> Bool = { true },
      _ makeConfig: (StreamFacts) -> ConsumerConfig
    ) async throws -> (config: ConsumerConfig, consumer: Consumer) {
      while true {
        let facts = try await facts(of: stream)
        let config = makeConfig(facts)
        let consumer = try await makeConsumer(stream, config, isNeeded)
        if try await self.facts(of: stream).mark == facts.mark { return (config, consumer) }
        if consumer.isNew { _ = try await request("CONSUMER.DELETE.\(stream).\(config.name)", Nothing?.none) }
      }
    }

    private func makeConsumer(
      _ stream: String, _ config: ConsumerConfig, _ isNeeded: @escaping @Sendable () -> Bool
    ) async throws -> Consumer {
      if let found = try await find(stream, config) { return found }
      let answer = try await request(
        "CONSUMER.DURABLE.CREATE.\(stream).\(config.name)", ConsumerRequest(stream: stream, config: config), isNeeded)
      guard let error = answer.error else {
        return Consumer(isNew: true, restart: config.restarted(answer), created: answer.created)
      }
      // Another member may have made the consumer meanwhile, to begin at another position or time
      // of the stream. The server then refuses this request, and the existing consumer is used.
      if let found = try await find(stream, config) { return found }
      throw TransportError(
        .refused, "expected to listen to \(config.filter) in the stream \(stream); the server says: \(text(error))")
    }

    func find(_ stream: String, _ config: ConsumerConfig) async throws -> Consumer? {
      let answer = try await request("CONSUMER.INFO.\(stream).\(config.name)", Nothing?.none)
      guard let found = answer.config else {
        if answer.isMissing, answer.error?.number != 10_059 { return nil }
        throw unseen(stream, answer)
      }
      guard found.filter == config.filter else {
        throw TransportError(
          .refused,
          "expected the consumer \(config.name) to be that of \(config.filter); it is that of \(found.filter ?? "all")")
      }
      // With another policy, a message may be done that no handler has seen.
      guard found.ackPolicy == config.ackPolicy, found.maxDeliver == config.maxDeliver, found.deliverSubject == nil
      else {
        let (policy, most) = (found.ackPolicy ?? "none", found.maxDeliver.map { "\($0)" } ?? "none")
        throw TransportError(
          .refused,
          "expected the consumer \(config.name) to have ack_policy \(config.ackPolicy), max_deliver \(config.maxDeliver) and no deliver_subject; it has \(policy), \(most) and \(found.deliverSubject ?? "none")"
        )
      }
      return Consumer(restart: config.restarted(answer), created: answer.created)
    }

    /// Three requests, and a fourth if there is something.
    func backlog(_ stream: String, _ subject: String, _ group: String) async throws -> Backlog {
      let mark = try await facts(of: stream).mark
      let name = ConsumerConfig.baseName(subject, group) + mark
      let answer = try await request("CONSUMER.INFO.\(stream).\(name)", Nothing?.none)
      if answer.error?.number == 10_014 { throw unknownGroup(group, subject) }
      guard let waiting = answer.waiting, let inHand = answer.inHand else { throw unseen(stream, answer) }
      var backlog = Backlog(waiting: waiting, inHand: inHand, redelivered: answer.redelivered ?? 0)
      let start = answer.config?.startPosition ?? (answer.config?.start == "all" ? 1 : nil)
      if waiting + inHand > 0, let first = answer.handledPosition.map({ $0 + 1 }) ?? start {
        let next = MessageRequest(position: first, subject: subject)
        let oldest = try await request("STREAM.MSG.GET.\(stream)", next)
        backlog.oldest = oldest.message.flatMap { StreamAdmin.date($0.time) }
      }
      return backlog
    }

    func message(at position: UInt64, in stream: String) async throws -> (subject: String, body: [UInt8])? {
      let answer = try await request("STREAM.MSG.GET.\(stream)", MessageRequest(position: position))
      guard let message = answer.message, let subject = message.subject else { return nil }
      return (subject, message.body.map { Array($0) } ?? [])
    }

    /// The server writes nanoseconds.
    private static func date(_ text: String) -> Date? {
      let parts = text.split(separator: ".")
      guard parts.count == 2 else { return try? Date(text, strategy: .iso8601) }
      let fraction = Double("0." + parts[1].prefix { $0 != "Z" }) ?? 0
      return (try? Date("\(parts[0])Z", strategy: .iso8601))?.addingTimeInterval(fraction)
    }

    private struct Nothing: Encodable {}

    /// Throws if `isNeeded`, called before the request is sent, returns false.
    private func request(
      _ path: String, _ body: (some Encodable)?, _ isNeeded: (@Sendable () -> Bool)? = nil
    ) async throws -> StreamAnswer {
      let action = "ask the server for \(path)"
      let end = ContinuousClock.now + engine.publishTimeout
      var message = Outgoing(subject: "$JS.API.\(path)")
      if let body { message.body = try Array(JSONEncoder().encode(body)) }
      message.isNeeded = isNeeded
      var hasNoStreams = 0
      while true {
        if isNeeded?() == false { throw CancellationError() }
        guard try await engine.reach(action, until: end) else {
          throw TransportError(.refused, "expected to reach the server to \(action) within \(engine.publishTimeout)")
        }
        switch await engine.exchange(message, until: min(end, .now + .seconds(2)), endsWhenLost: true) {
        case .reply(let arrival) where arrival.status == nil:
          guard let answer = try? JSONDecoder().decode(StreamAnswer.self, from: Data(arrival.body)) else {
            throw TransportError(.refused, "expected JSON from the server's JetStream to \(action); got other bytes")
          }
          return answer
        case .reply:
          // A server that is starting has no streams yet.
          hasNoStreams += 1
          if hasNoStreams == 20 || .now >= end { throw noStreams(path) }
          try await Sleeping.sleep(for: .milliseconds(50), on: ContinuousClock())
        case .cancelled: throw CancellationError()
        case .late, .lost:
          if .now >= end {
            if hasNoStreams > 0 { throw noStreams(path) }
            throw TransportError(.refused, "expected an answer to \(path) within \(engine.publishTimeout); none came")
          }
        case .refused(let reason):
          throw TransportError(.refused, "expected to \(action); the server says: \(withoutCredentials(reason))")
        case .unsent(let reason):
          throw TransportError(.refused, "expected to \(action); not sent: \(withoutCredentials(reason))")
        case .closed: try engine.checkOpen(action)
        }
      }
    }

    private func noStreams(_ path: String) -> TransportError {
      TransportError(.refused, "expected a server with JetStream (nats-server -js) that knows \(path); nobody responds")
    }

    private func text(_ error: StreamAnswer.Failure) -> String {
      quoted(error.description ?? "no reason") + " (\(error.number ?? error.code))"
    }
  }
#endif
