#if NATS
  import EventingTransport
  import Foundation

  /// Makes streams and consumers. It sends requests to the subjects of the server's JetStream
  /// interface.
  struct StreamAdmin: Sendable {
    /// The time after which the server redelivers a message without a verdict to another member.
    static let ackWait = Duration.seconds(10)
    /// The time after which the server deletes an idle consumer of a subscription without a group.
    static let forgetting = Duration.seconds(300)
    private let engine: Engine

    init(_ engine: Engine) { self.engine = engine }

    /// Makes a stream. If it exists, checks its options.
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

    /// Returns whether a stream exists. Throws if its options differ.
    private func isThere(
      _ name: String, _ subjects: [String], _ maxAge: Duration?, _ replicas: Int?
    ) async throws -> Bool {
      let answer = try await request("STREAM.INFO.\(name)", Nothing?.none)
      if answer.isMissing { return false }
      guard let config = answer.config else {
        throw TransportError(
          .refused, "expected to look at the stream \(name); the server says: \(answer.error.map(text) ?? "nothing")")
      }
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

    /// If a configuration starts with new messages, returns one that starts at the next position of
    /// the stream. Returns any other configuration unchanged.
    ///
    /// A server that lost its record of a consumer begins again at the configured start. With
    /// `new`, it would leave out all messages that were stored earlier and are not handled yet.
    func fixingStart(_ stream: String, _ config: ConsumerConfig) async throws -> ConsumerConfig {
      guard config.start == "new", let last = try await request("STREAM.INFO.\(stream)", Nothing?.none).state else {
        return config
      }
      var config = config
      config.begin(at: .position(last.lastPosition &+ 1))
      return config
    }

    /// Makes a consumer. If it exists, checks its options.
    ///
    /// - Returns: Whether the consumer was made, and its start if it has to be made again: see
    ///   ``ConsumerConfig/restarted(_:)``.
    func makeConsumer(_ stream: String, _ config: ConsumerConfig) async throws -> (isNew: Bool, restart: ConsumerConfig)
    {
      if let found = try await find(stream, config) { return (false, found) }
      let answer = try await request(
        "CONSUMER.DURABLE.CREATE.\(stream).\(config.name)", ConsumerRequest(stream: stream, config: config))
      guard let error = answer.error else { return (true, config.restarted(answer)) }
      // Another member may have made the consumer with another start.
      if let found = try await find(stream, config) { return (false, found) }
      throw TransportError(
        .refused, "expected to listen to \(config.filter) in the stream \(stream); the server says: \(text(error))")
    }

    /// Returns the start of a consumer if it has to be made again; `nil` if the consumer does not
    /// exist.
    func find(_ stream: String, _ config: ConsumerConfig) async throws -> ConsumerConfig? {
      let answer = try await request("CONSUMER.INFO.\(stream).\(config.name)", Nothing?.none)
      guard let found = answer.config else {
        if answer.isMissing, answer.error?.number != 10_059 { return nil }
        throw TransportError(
          .refused, "expected to look at the stream \(stream); the server says: \(answer.error.map(text) ?? "nothing")")
      }
      guard found.filter == config.filter else {
        throw TransportError(
          .refused,
          "expected the consumer \(config.name) to be that of \(config.filter); it is that of \(found.filter ?? "all")")
      }
      return config.restarted(answer)
    }

    private struct Nothing: Encodable {}

    /// Sends a request to the server, and waits for the answer until the connection's time limit.
    private func request(_ path: String, _ body: (some Encodable)?) async throws -> StreamAnswer {
      let action = "ask the server for \(path)"
      let end = ContinuousClock.now + engine.publishTimeout
      var message = Outgoing(subject: "$JS.API.\(path)")
      if let body { message.body = try Array(JSONEncoder().encode(body)) }
      var hasNoStreams = 0
      while true {
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
          try await Task.sleep(for: .milliseconds(50))
        case .late, .lost, .cancelled:
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
