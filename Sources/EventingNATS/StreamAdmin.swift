#if NATS
  import Eventing
  import EventingTransport
  import Foundation

  /// Makes streams and consumers. It sends requests to the subjects of the server's JetStream
  /// interface.
  struct StreamAdmin: Sendable {
    /// The time after which the server redelivers a message without a verdict to any member.
    static let ackWait = Duration.seconds(10)
    /// The time after which the server deletes an idle consumer of a subscription without a group.
    static let forgetting = Duration.seconds(300)
    private let engine: Engine

    init(_ engine: Engine) { self.engine = engine }

    /// Makes a stream. If it exists already, checks that it has these subjects and options.
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

    /// Returns whether a stream exists. Throws if the stream gives no receipts, or has other
    /// subjects, another `maxAge` or another number of replicas than the arguments say. An argument
    /// `nil` allows any value.
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

    /// Throws if no stream stores a dead-letter subject.
    func checkStored(_ deadLetter: String) async throws {
      let answer = try await request("STREAM.NAMES", ["subject": deadLetter])
      if answer.error == nil, answer.streams?.isEmpty ?? true {
        throw TransportError(
          .badSubject, "expected a stream that stores the dead-letter subject \(deadLetter); there is none")
      }
    }

    /// The facts about a stream that a consumer depends on.
    struct StreamFacts: Sendable {
      /// The mark of the stream: a hash of the time at which it was made. A stream that is deleted
      /// and made again has the same name and the same positions, but another mark.
      let mark: String
      let lastPosition: UInt64
    }

    /// Returns the facts about a stream.
    func facts(of stream: String) async throws -> StreamFacts {
      let answer = try await request("STREAM.INFO.\(stream)", Nothing?.none)
      guard let state = answer.state else { throw unseen(stream, answer) }
      return StreamFacts(mark: StreamName.hash(answer.created ?? ""), lastPosition: state.lastPosition)
    }

    /// Returns the error for an answer that does not tell what was asked about a stream or its
    /// consumer.
    private func unseen(_ stream: String, _ answer: StreamAnswer) -> TransportError {
      TransportError(
        .refused, "expected to look at the stream \(stream); the server says: \(answer.error.map(text) ?? "nothing")")
    }

    /// A consumer of the server.
    struct Consumer: Sendable {
      /// Whether the call that returned this value has made the consumer.
      var isNew = false
      /// The configuration for making the consumer again, if the server loses it: see
      /// ``ConsumerConfig/restarted(_:)``.
      var restart: ConsumerConfig
      /// The time at which the consumer was made; `nil` if the server does not say.
      var created: String?
    }

    /// Makes a consumer. If it exists already, checks that it is the consumer of the subject in its
    /// configuration.
    ///
    /// The stream may be made again while this method runs. The new stream would then have a
    /// consumer with the mark of the old one. So the method looks at the stream once more
    /// afterwards, and in that case deletes the consumer and begins again.
    ///
    /// - Parameters:
    ///   - isNeeded: A closure that returns whether the consumer must still be made. It is called
    ///     directly before the request is sent, and must not block.
    ///   - makeConfig: A closure that makes the configuration from the facts about the stream.
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

    /// Returns a consumer; `nil` if it does not exist.
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

    private struct Nothing: Encodable {}

    /// Sends a request to the server, and waits for the answer until the connection's time limit.
    ///
    /// - Parameter isNeeded: A closure that returns whether the request must still be sent. If it
    ///   returns false, the method throws an error.
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
          if hasNoStreams == 20 {
            throw TransportError(
              .refused, "expected a server with JetStream (nats-server -js) that knows \(path); nobody responds")
          }
          try await Sleeping.sleep(for: .milliseconds(50), on: ContinuousClock())
        case .cancelled: throw CancellationError()
        case .late, .lost:
          if .now >= end {
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

    private func text(_ error: StreamAnswer.Failure) -> String {
      quoted(error.description ?? "no reason") + " (\(error.number ?? error.code))"
    }
  }
#endif
