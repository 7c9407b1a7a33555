public import Eventing

/// A question that responders in other processes answer.
///
///     let quote = RemoteQuestion<Item, Price>("price", over: nats.plain)
///     quote.addResponder { item in try await shop.price(of: item) }
///     try await quote.listen(as: "shops")
///     let price = try await quote.firstAnswer(to: item, within: .seconds(1))
///
/// In each group, a query reaches one member. If a query is sent again, responders may answer it
/// twice. So a responder must do only what may be done twice.
///
/// Any thread and any responder may call any method. The question listens until its listening ends,
/// ``Eventing/HandlerRegistry/finish()`` is called, or the last reference is released.
public final class RemoteQuestion<Query: Sendable, Answer: Sendable>: Sendable {
  let question: EventQuestion<AskedQuery<Query>, Answer>
  private let transport: any Transport
  private let queries: Codec<Query>
  private let answers: Codec<Answer>
  let listenings: Listenings
  /// The subject of the queries.
  public let subject: String

  /// Creates a question. Nothing is sent or received yet.
  ///
  /// - Parameters:
  ///   - subject: The subject of the queries: words that are joined by dots. If it is not valid,
  ///     `firstAnswer` and `listen` throw.
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
    question = EventQuestion(subject)
    listenings = Listenings(subject)
    question.onReadiness(listenings.readinessChanged)
  }

  deinit { listenings.end() }

  /// Adds a responder, as `addResponder` of ``Eventing/EventQuestion`` does.
  ///
  /// - Parameters:
  ///   - options: How the responder is called. The priority is that among the responders of this
  ///     process.
  ///   - fileID: The file where the responder is made.
  ///   - line: The line where the responder is made.
  ///   - body: A closure that answers. If it returns `nil`, the next responder is asked.
  /// - Returns: The token of the responder. Releasing the token does not remove the responder.
  @discardableResult public func addResponder(
    _ options: HandlerOption<Query>..., fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Query) async throws -> Answer?
  ) -> HandlerToken {
    question.addResponder(options, fileID: fileID, line: line) { asked in
      asked.begin() ? try await body(asked.query) : nil
    }
  }

  /// Answers queries with the responders of this process, until the listening ends.
  ///
  /// No responder begins a query after the listening has ended: the caller gets
  /// ``TransportError/Code/noResponders``. A query that has begun is answered if its responder
  /// returns within the limit of ``Listening/drain(within:)``, or of the engine's `close`. After the
  /// limit, the caller may get ``TransportError/Code/responderFailed``. No responder begins a query
  /// whose caller does not wait any more: after its time limit or, in memory, its cancellation.
  ///
  /// - Parameters:
  ///   - group: The group: one member answers each query. Without a group, this process answers
  ///     each query, and the caller takes the first answer.
  ///   - inFlight: The largest number of queries that this listening has handed to responders and
  ///     that have no answer yet. Further queries wait in this process as long as their callers
  ///     wait, and no other member answers them. A number above 1 lets several responders of this
  ///     process work at the same time, each on one query.
  /// - Returns: The listening. Releasing it does not end it.
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

  /// Asks other processes, and this one if it listens. Returns the first answer that arrives.
  ///
  /// - Parameters:
  ///   - query: The query.
  ///   - limit: The longest wait.
  ///   - headers: The headers of the query.
  /// - Returns: The answer.
  /// - Throws: ``TransportError``. The code is ``TransportError/Code/noResponders``, without a
  ///   wait, if no process listens. The code is the same if no responder of the asked processes has
  ///   an answer, and ``TransportError/Code/responderFailed`` if a responder threw. An engine that
  ///   does not know how many processes it has asked waits up to half a second for an answer of
  ///   another one. The code is ``TransportError/Code/timedOut`` after the limit.
  public func firstAnswer(
    to query: Query, within limit: Duration = .seconds(5), headers: [String: String] = [:]
  ) async throws -> Answer {
    try check()
    try checkHeaders(headers)
    var headers = headers
    try RemoteContext.inject(into: &headers)
    headers[HeaderName.limit] = RequestCaller.header(limit)
    var message = RemoteMessage(subject: subject, headers: headers)
    do { try queries.encode(query, &message) } catch {
      throw TransportError(
        .notEncodable,
        "expected a \(Query.self) that can be encoded for \(subject); the encoder says: \(withoutContent(error))")
    }
    let most = transport.promises.largestPayload
    if message.body.count > most {
      throw TransportError(.tooLarge, "expected at most \(most) bytes for \(subject), got \(message.body.count)")
    }
    let reply = try await transport.request(message, to: subject, within: limit)
    if let damage = reply.damage { throw TransportError(.notDecodable, "\(damage), in a reply to \(subject)") }
    if let code = reply.headers[HeaderName.failure] {
      let known: TransportError.Code = code == TransportError.Code.noResponders.name ? .noResponders : .responderFailed
      let reason = headerValue(reply.headers[HeaderName.failureReason] ?? "no reason was given")
      throw TransportError(known, "expected an answer to \(subject); a responder says: \(reason)")
    }
    do { return try answers.decode(reply) } catch {
      throw TransportError(
        .notDecodable,
        "expected a reply of \(Answer.self) to \(subject); the decoder says: \(headerValue(withoutContent(error)))")
    }
  }

  private func check() throws {
    try checkSubject(subject)
    if !transport.promises.hasRequests {
      throw TransportError(
        .notPromised, "expected a transport that has requests for the question \(subject); this one has none")
    }
    try listenings.checkOpen()
  }

  /// Without an answer, the headers of the reply have the reason.
  private static func reply(
    to message: RemoteMessage, _ question: EventQuestion<AskedQuery<Query>, Answer>, _ gate: ListeningGate,
    _ queries: Codec<Query>,
    _ answers: Codec<Answer>, _ largest: Int
  ) async -> RemoteMessage {
    var reply = RemoteMessage()
    do {
      if let damage = message.damage { throw TransportError(.notDecodable, damage) }
      let query: Query
      do { query = try queries.decode(message) } catch {
        throw TransportError(.notDecodable, "expected a \(Query.self); the decoder says: \(withoutContent(error))")
      }
      message.queryGate?.hold()
      var answer: Result<Answer, any Error>?
      let asked = AskedQuery(
        query: query, gate: gate, own: message.queryGate, isWanted: RequestCaller.waiting(for: message))
      await RemoteContext.extract(message.headers) {
        do { answer = .success(try await question.firstAnswer(to: asked)) } catch {
          answer = .failure(error)
        }
      }
      guard let answer else { preconditionFailure("a task-local value is bound around one call") }
      let value = try answer.get()
      do { try answers.encode(value, &reply) } catch {
        throw TransportError(
          .notEncodable, "expected a \(Answer.self) that can be encoded; the encoder says: \(withoutContent(error))")
      }
      try checkHeaderSyntax(reply.headers)
      if reply.body.count > largest {
        throw TransportError(.tooLarge, "expected an answer of at most \(largest) bytes, got \(reply.body.count)")
      }
    } catch {
      let isUnanswered = error as? EventingError == .unanswered
      let code: TransportError.Code = isUnanswered ? .noResponders : .responderFailed
      reply.body = []
      reply.headers = [HeaderName.failure: code.name, HeaderName.failureReason: headerValue(reason(of: error))]
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

extension RemoteQuestion: HandlerRegistry {
  /// The responders of this process. A locked one is asked nothing; the others are asked.
  public var handlerTable: HandlerTable { question.handlerTable }
}

extension RemoteQuestion: CustomStringConvertible {
  /// The subject and the types.
  public var description: String { "remote question \"\(subject)\" of \(Query.self), answered by \(Answer.self)" }
}
