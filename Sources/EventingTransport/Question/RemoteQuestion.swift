public import Eventing

/// A question that responders in other processes answer.
///
///     let quote = RemoteQuestion<Item, Price>("price", over: nats.plain)
///     quote.addResponder { item in try await shop.price(of: item) }
///     try await quote.listen(as: "shops")
///     let price = try await quote.first(item, within: .seconds(1))
///
/// A query that goes to a group reaches one member. A question that is asked twice may be answered
/// twice: responders do nothing that must not be repeated.
///
/// All methods may be called from any thread, and inside responders. The question listens until a
/// listening ends, ``finish()`` is called, or the last reference goes.
public final class RemoteQuestion<Query: Sendable, Answer: Sendable>: Sendable {
  private let question: Question<AskedQuery<Query>, Answer>
  private let transport: any Transport
  private let queries: Codec<Query>
  private let answers: Codec<Answer>
  private let listenings: Listenings
  /// The subject of the queries.
  public let subject: String

  /// Creates a question. Nothing is sent or received yet.
  ///
  /// - Parameters:
  ///   - subject: The subject of the queries: words that are joined by dots. A fault is reported by
  ///     `first` and `listen`.
  ///   - transport: The engine.
  ///   - codec: The codec of the queries.
  ///   - answerCodec: The codec of the answers.
  public init(
    _ subject: String, over transport: any Transport, codec: Codec<Query>, answerCodec: Codec<Answer>
  ) {
    self.subject = subject
    self.transport = transport
    queries = codec
    answers = answerCodec
    question = Question(subject)
    listenings = Listenings(subject)
  }

  deinit { listenings.end() }

  /// Adds a responder, as `addResponder` of ``Eventing/Question`` does.
  ///
  /// - Parameters:
  ///   - name: The name in logs and snapshots.
  ///   - priority: The rank among the responders of this process.
  ///   - fileID: The file where the responder is made.
  ///   - line: The line where the responder is made.
  ///   - body: The closure that answers. It passes by returning `nil`.
  /// - Returns: A token that names the responder. Dropping it changes nothing.
  @discardableResult public func addResponder(
    named name: String? = nil, priority: Int = 0, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Query) async throws -> Answer?
  ) -> HandlerToken {
    question.addResponder(named: name, priority: priority, fileID: fileID, line: line) { asked in
      asked.gate.isOpen ? try await body(asked.query) : nil
    }
  }

  /// Removes a responder. Returns whether this call removed it.
  @discardableResult public func remove(_ token: HandlerToken) -> Bool { question.remove(token) }

  /// The number of responders in this process.
  public var responderCount: Int { question.responderCount }

  /// Answers queries of other processes with the responders of this one, until the listening ends.
  ///
  /// No responder begins a query after the listening has ended: the caller gets
  /// ``TransportError/Code/noResponders``. A query that has begun is answered.
  ///
  /// - Parameters:
  ///   - group: The group: one member answers each query. Without a group, this process answers
  ///     each query, and the caller takes the first answer.
  ///   - inFlight: The largest number of queries of this listening that its responders have
  ///     received and not yet answered. Further queries that this process receives wait, each for
  ///     as long as its caller waits. No other member answers a query that waits here. A responder
  ///     answers one query after the other. So a number above 1 lets several responders of this
  ///     process work at once.
  /// - Returns: The listening. Dropping it changes nothing.
  /// - Throws: ``TransportError``.
  @discardableResult public func listen(as group: String? = nil, inFlight: Int = 256) async throws -> Listening {
    try check()
    try ListenOptions(group: group, inFlight: inFlight).check(subject, transport.promises)
    let (question, queries, answers, transport, subject) = (question, queries, answers, transport, subject)
    let gate = ListeningGate()
    return try await listenings.add(group) {
      let subscription = try await transport.respond(to: subject, group: group, inFlight: inFlight) { message in
        await RemoteQuestion.reply(to: message, question, gate, queries, answers, transport.promises.largestPayload)
      }
      return GatedSubscription(subscription, gate)
    }
  }

  /// Asks other processes, and this one if it listens, and returns the first answer that comes.
  ///
  /// - Parameters:
  ///   - query: The query.
  ///   - limit: The longest wait.
  ///   - headers: The headers of the query.
  /// - Returns: The answer.
  /// - Throws: ``TransportError``: at once with ``TransportError/Code/noResponders`` if no process
  ///   listens, or if no responder of the process that was asked had an answer.
  ///   ``TransportError/Code/responderFailed`` if a responder threw,
  ///   ``TransportError/Code/timedOut`` after the limit.
  public func first(
    _ query: Query, within limit: Duration = .seconds(5), headers: [String: String] = [:]
  ) async throws -> Answer {
    try check()
    try checkHeaders(headers)
    var message = RemoteMessage(subject: subject, headers: headers)
    RemoteContext.inject(into: &message.headers)
    do { try queries.encode(query, &message) } catch {
      throw TransportError(
        .notEncodable, "expected a \(Query.self) that can be encoded for \(subject); the encoder says: \(error)")
    }
    let most = transport.promises.largestPayload
    if message.body.count > most {
      throw TransportError(.tooLarge, "expected at most \(most) bytes for \(subject), got \(message.body.count)")
    }
    let reply = try await transport.request(message, to: subject, within: limit)
    if let code = reply.headers[Header.failure] {
      let known: TransportError.Code = code == TransportError.Code.noResponders.name ? .noResponders : .responderFailed
      throw TransportError(known, headerValue(reply.headers[Header.failureReason] ?? "no reason was given"))
    }
    do { return try answers.decode(reply) } catch {
      throw TransportError(
        .notDecodable, "expected a reply of \(Answer.self) to \(subject); the decoder says: \(headerValue("\(error)"))")
    }
  }

  /// Ends the question: it answers and asks no more.
  public func finish() { listenings.end() }

  private func check() throws {
    try checkSubject(subject)
    if !transport.promises.hasRequests {
      throw TransportError(
        .notPromised, "expected a transport that has requests for the question \(subject); this one has none")
    }
    try listenings.checkOpen()
  }

  /// Answers one query. A failure travels in the headers.
  private static func reply(
    to message: RemoteMessage, _ question: Question<AskedQuery<Query>, Answer>, _ gate: ListeningGate,
    _ queries: Codec<Query>,
    _ answers: Codec<Answer>, _ largest: Int
  ) async -> RemoteMessage {
    var reply = RemoteMessage()
    do {
      let query = try queries.decode(message)
      var answer: Result<Answer, any Error>?
      await RemoteContext.extract(message.headers) {
        do { answer = .success(try await question.first(AskedQuery(query: query, gate: gate))) } catch {
          answer = .failure(error)
        }
      }
      guard let answer else { preconditionFailure("a task-local value is bound around one call") }
      try answers.encode(answer.get(), &reply)
      if reply.body.count > largest {
        throw TransportError(.tooLarge, "expected an answer of at most \(largest) bytes, got \(reply.body.count)")
      }
    } catch {
      let isUnanswered = (error as? EventingError)?.code == .unanswered
      let code: TransportError.Code = isUnanswered ? .noResponders : .responderFailed
      reply.body = []
      reply.headers = [Header.failure: code.name, Header.failureReason: headerValue("\(error)")]
    }
    return reply
  }
}

extension RemoteQuestion where Query: Codable, Answer: Codable {
  /// Creates a question whose queries and answers are JSON. Nothing is sent or received yet.
  public convenience init(_ subject: String, over transport: any Transport) {
    self.init(subject, over: transport, codec: .json, answerCodec: .json)
  }
}

extension RemoteQuestion {
  @available(
    *, unavailable,
    message: "queries and answers that are not Codable need codecs: RemoteQuestion(_, over:, codec:, answerCodec:)"
  )
  @_disfavoredOverload public convenience init(_ subject: String, over transport: any Transport) {
    fatalError("unavailable")
  }
  @available(
    *, unavailable, message: "over: takes what can be asked on: a stream of the connection, or its 'plain'"
  )
  public convenience init(_ subject: String, over connection: any TransportConnection) { fatalError("unavailable") }
}

extension RemoteQuestion: CustomStringConvertible {
  /// The subject and the types.
  public var description: String { "remote question \"\(subject)\" of \(Query.self), answered by \(Answer.self)" }
}
