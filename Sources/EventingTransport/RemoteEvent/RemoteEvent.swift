public import Eventing

/// An event whose occurrences reach other processes.
///
///     let placed = RemoteEvent<OrderPlaced>("orders.placed", over: orders)
///     placed.addHandler { order in try await bill(order) }
///     try await placed.publish(order)                         // returns when it is stored
///     let listening = try await placed.listen(as: "billing")  // one member handles each
///
/// A published payload goes to the engine. The engine delivers it to one member of each group, and
/// to each process that listens without a group, this process included. Handlers, views and
/// sequences are those of any `EventSource`.
///
/// **The acknowledgement is the report.** A message is acknowledged if at least one handler ran, or
/// a filter or an interceptor left the message out, and no handler threw an error or had no room.
/// Otherwise a stream redelivers it to all handlers of the event, until the last attempt has
/// failed. A handler that ended before its call, or is locked, has not handled the message; if no
/// other handler has, the message goes back without a failed attempt. What a newer payload
/// replaces, because a handler is throttled, debounced, cancels the previous call or has room for
/// the latest only, is handled. A transport without a stream redelivers nothing. Handlers behind
/// forwards count, too. While the event has no handlers, or is locked, it takes no messages.
///
/// **Loops.** A loop over a sequence has handled an element when it asks for the next one. Only
/// then is the message acknowledged. This holds for sequences of this event, of a view, and of an
/// event behind forwards. If the loop ends, its current element is redelivered. So are elements
/// that waited in its buffer, or were dropped there. A sequence without a loop keeps its messages
/// without a verdict. `next(within:where:)` has handled the payload that it returns, and the
/// payloads that it skipped before.
///
/// **Concurrency.** Any thread and any handler may call any method.
///
/// **Lifetime.** The event listens until its listening ends, ``Eventing/HandlerRegistry/finish()``
/// is called, or the last reference is released. If a handler publishes to its own event, it must
/// capture the event weakly: `[weak placed]`.
public final class RemoteEvent<Payload: Sendable>: EventSource {
  let channel: RemoteChannel<Payload>
  let event: Event<Delivered<Payload>>
  private let source: any EventSource<Payload>

  /// Creates an event. Nothing is sent or received yet.
  ///
  /// - Parameters:
  ///   - subject: The subject: words that are joined by dots. If it is not valid, `publish` and
  ///     `listen` throw.
  ///   - transport: The engine, or one of its streams.
  ///   - codec: The codec. It must be equal or compatible in all processes.
  public init(_ subject: String, over transport: any Transport, codec: Codec<Payload>) {
    channel = RemoteChannel(subject, transport, codec)
    event = Event(subject)
    source = event.map { $0.payload }
    event.onReadiness(channel.listenings.readinessChanged)
  }

  deinit { channel.listenings.end() }

  /// The subject that the event publishes to and listens to.
  public var subject: String { channel.subject }

  // MARK: Publishing

  /// Publishes a payload.
  ///
  /// This method calls no local handlers. If this event listens, they are called when the engine
  /// delivers the message. A cycle of forwards ends, but a cycle of handlers that publish does not:
  /// publishing inside a handler begins a new forwarding path.
  ///
  /// - Parameters:
  ///   - payload: The payload.
  ///   - headers: The headers for the receivers. Names that begin with `Eventing-` or `Nats-`
  ///     belong to the library.
  /// - Returns: The receipt. On a stream, the method returns it when the message is stored.
  /// - Throws: ``TransportError``. After ``TransportError/Code/mayBeStored``, the message may or
  ///   may not be stored. A cancelled task gets this code, too, if the message was sent before, and
  ///   otherwise a `CancellationError`.
  @discardableResult public func publish(
    _ payload: Payload, headers: [String: String] = [:]
  ) async throws -> Receipt {
    try await channel.publish(payload, headers: headers)
  }

  /// Publishes a payload with an id, once: see ``publish(_:headers:)``.
  ///
  /// A stream that remembers the id stores no second message with it. So a publisher that retries
  /// passes the id of its first attempt.
  ///
  /// - Parameters:
  ///   - payload: The payload.
  ///   - id: The id of the message; `nil` for a new one.
  ///   - headers: The headers for the receivers.
  /// - Returns: The receipt. Its ``Receipt/isDuplicate`` says that the stream had the id before, so
  ///   that this payload was not stored.
  /// - Throws: ``TransportError``.
  public func publish(_ payload: Payload, id: String?, headers: [String: String] = [:]) async throws -> Receipt {
    try await channel.publish(payload, id: id, headers: headers)
  }

  // MARK: Listening

  /// Listens to the subject, until the listening ends.
  ///
  /// - Parameters:
  ///   - group: The durable group: one member handles each message. Without a group, each listening
  ///     process handles each message.
  ///   - start: The first message of a new group, or of a listening without a group.
  ///   - inFlight: The largest number of messages without a verdict. With 1, each message is
  ///     handled before the next one begins.
  ///   - retry: The number of attempts and the delays, if a handler fails. `nil` on a stream: five
  ///     attempts, with a backoff from 100 milliseconds to 30 seconds. A transport that delivers at
  ///     most once retries nothing, and refuses a policy of more than one attempt. A delivery
  ///     that ended without an error of a handler is no attempt. Over NATS each process counts the
  ///     failures of its own handlers, so each member of a group has this number of attempts.
  ///   - deadLetter: The subject for messages that cannot be decoded, or whose last attempt has
  ///     failed. Without one they are dropped, and only the transport's incidents report them. A
  ///     message that is a dead letter itself goes to no subject that it came from: it is dropped
  ///     then. While the engine refuses to store a dead letter, the message that failed is not
  ///     acknowledged. It is redelivered after up to 30 s, so that the letter is published again.
  ///     No handler of this process sees the message then.
  ///   - deduplication: The number of handled ids that this listening remembers, to skip
  ///     repetitions.
  /// - Returns: The listening. Releasing it does not end it.
  /// - Throws: ``TransportError``, such as ``TransportError/Code/alreadyListening`` for a second
  ///   listening of this event in one group.
  @discardableResult public func listen(
    as group: String? = nil, startingAt start: StartPosition = .new, inFlight: Int = 256,
    retry: RetryPolicy? = nil, deadLetter: String? = nil, deduplicating deduplication: Deduplication = .none
  ) async throws -> Listening {
    let options = ListenOptions(
      group: group, start: start, inFlight: inFlight, givenRetry: retry, deadLetter: deadLetter,
      deduplication: deduplication)
    let event = event
    return try await channel.listen(options, mayDeliver: { event.mayDeliver(countsLocked: $0) }) { _ in
      { event.begin($0, accountedIn: $0.account) }
    }
  }

  /// Returns what a group has not handled yet, whoever its members are: see
  /// ``Transport/backlog(of:in:)``.
  ///
  /// - Parameter group: A group that has listened to this event on this stream.
  /// - Throws: ``TransportError``.
  public func backlog(of group: String) async throws -> Backlog { try await channel.backlog(of: group) }

  // MARK: Handlers

  @discardableResult public func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken] {
    source.add(contentsOf: handlers)
  }

  @discardableResult public func add(_ handler: Handler<Payload>) -> HandlerToken {
    source.add(handler)
  }

  /// A source of the errors that the handlers throw: see ``Eventing/Event/failures``.
  public var failures: some EventSource<HandlerFailure> { event.failures }

  /// A source of whole occurrences: payloads with id, attempt, subject, headers, time and position.
  ///
  /// The source retains this event.
  public var remoteOccurrences: RemoteOccurrences<Payload> { RemoteOccurrences(remote: self) }
}

extension RemoteEvent where Payload: Codable {
  /// Creates an event whose payloads are JSON. Nothing is sent or received yet.
  public convenience init(_ subject: String, over transport: any Transport) {
    self.init(subject, over: transport, codec: .json)
  }
}

extension RemoteEvent where Payload == Void {
  /// Creates an event without payloads. Nothing is sent or received yet.
  public convenience init(_ subject: String, over transport: any Transport) {
    self.init(subject, over: transport, codec: .nothing)
  }

  /// Publishes without a payload: see ``publish(_:headers:)``.
  @discardableResult public func publish(headers: [String: String] = [:]) async throws -> Receipt {
    try await publish((), headers: headers)
  }

  /// Publishes without a payload, once: see ``publish(_:id:headers:)``.
  public func publish(id: String?, headers: [String: String] = [:]) async throws -> Receipt {
    try await publish((), id: id, headers: headers)
  }
}

extension RemoteEvent: HandlerRegistry {
  /// The handlers of this process.
  ///
  /// A message that a lock keeps from a handler counts as unhandled by it. If no other handler has
  /// handled the message, an engine that stores messages delivers it again. While the event itself
  /// is locked, it takes no messages, so other members of its group receive them. A message that
  /// the engine has passed to this event already is redelivered if the lock keeps it from a
  /// handler.
  public var handlerTable: HandlerTable { event.handlerTable }
}

extension RemoteEvent: CustomStringConvertible {
  /// The subject and the payload type.
  public var description: String { "remote event \"\(subject)\" of \(Payload.self)" }
}
