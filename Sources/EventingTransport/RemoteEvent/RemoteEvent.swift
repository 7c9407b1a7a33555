public import Eventing

/// An event whose occurrences cross processes.
///
///     let placed = RemoteEvent<OrderPlaced>("orders.placed", over: orders)
///     placed.addHandler { order in try await bill(order) }
///     try await placed.publish(order)                         // returns when it is stored
///     let listening = try await placed.listen(as: "billing")  // one member handles each
///
/// A payload that is published goes to the engine, and from there to every process that listens,
/// this one included if it does. Handlers, views and sequences are those of any `EventSource`.
///
/// **The acknowledgement is the report.** A message is acknowledged when it has reached a handler,
/// and no handler has failed, dropped or deferred it, or was locked. Otherwise it comes again, for
/// all handlers of the listening. Handlers behind forwards count. While the event has no handlers,
/// or is locked, it takes no messages.
///
/// **Loops.** A loop over a sequence of this event, of a view, or of an event behind forwards, has
/// handled an element when it asks for the next one. The message is acknowledged then. What a loop
/// worked on when it ended comes again, and so does what waited in its buffer, or was dropped
/// there. So a sequence without a loop keeps its messages in hand. `next(within:where:)` has
/// handled the payload that it returns, and the payloads that it left out before.
///
/// **Concurrency.** All methods may be called from any thread and inside handlers.
///
/// **Lifetime.** The event listens until a listening ends, ``finish()`` is called, or the last
/// reference goes. A handler that publishes to its own event captures it weakly: `[weak placed]`.
public final class RemoteEvent<Payload: Sendable>: EventSource {
  let channel: RemoteChannel<Payload>
  let event: Event<Delivered<Payload>>
  /// The payloads of `event`.
  private let source: any EventSource<Payload>

  /// Creates an event. Nothing is sent or received yet.
  ///
  /// - Parameters:
  ///   - subject: The subject: words that are joined by dots. A fault is reported by `publish` and
  ///     `listen`.
  ///   - transport: The engine, or one of its streams.
  ///   - codec: The codec, equal or compatible in all processes.
  public init(_ subject: String, over transport: any Transport, codec: Codec<Payload>) {
    channel = RemoteChannel(subject, transport, codec)
    event = Event(subject)
    source = event.map(\.occurrence.payload)
  }

  deinit { channel.listenings.end() }

  /// The subject that the event publishes to and listens to.
  public var subject: String { channel.subject }

  // MARK: Publishing

  /// Publishes a payload.
  ///
  /// The local handlers are not called here, only by what comes back from the engine. Inside a
  /// handler, publishing begins a new way: only forwards end cycles.
  ///
  /// - Parameters:
  ///   - payload: The payload.
  ///   - id: The id of the message. A stream stores an id once within its window, so a publisher
  ///     that tries again gives the id again. `nil` for a new one.
  ///   - headers: The headers for the receivers. Names that begin with `Eventing-` or `Nats-`
  ///     belong to the library.
  /// - Returns: The receipt: on a stream, when the message is stored.
  /// - Throws: ``TransportError``. With ``TransportError/Code/mayBeStored`` nothing is known of the
  ///   message.
  @discardableResult public func publish(
    _ payload: Payload, id: String? = nil, headers: [String: String] = [:]
  ) async throws -> Receipt {
    try await channel.publish(payload, id: id, headers: headers)
  }

  // MARK: Listening

  /// Listens to the subject, until the listening ends.
  ///
  /// - Parameters:
  ///   - group: The durable group: one member handles each message. Without a group, each listening
  ///     process handles each message.
  ///   - start: The first message of a new group, or of a listening without one.
  ///   - inFlight: The largest number of messages in hand. With 1, each message is handled before
  ///     the next one begins.
  ///   - retry: The number of attempts and the delays, if a handler fails. `nil` on a stream: five
  ///     attempts, with a backoff from 100 milliseconds to 30 seconds. A transport that delivers at
  ///     most once retries nothing, and refuses a policy of more than one attempt. The attempts of
  ///     all members of a group count together, also those before a restart. Deliveries that ended
  ///     without an error of a handler are none, as far as the engine can tell.
  ///   - deadLetter: The subject for messages that cannot be decoded, or whose last attempt has
  ///     failed. Without one they are dropped, and only the transport's incidents tell of them. So
  ///     is what comes to this subject and fails: no dead letter is made of a dead letter. While
  ///     the engine refuses a dead letter, its message stays without an acknowledgement, and comes
  ///     again after up to 30 s to try the letter again. No handler of this process sees it then.
  ///   - deduplication: The number of handled ids that this listening remembers.
  /// - Returns: The listening. Dropping it changes nothing.
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
    return try await channel.listen(options, isReady: { event.mayDeliver }) { _ in
      { delivered, way in event.begin(delivered, from: way) { delivered.loops.mark() } }
    }
  }

  /// Ends the event: no message is taken or published any more. Handlers end as those of
  /// ``Eventing/Event/finish()`` do.
  public func finish() {
    channel.listenings.end()
    event.finish()
  }

  // MARK: Handlers

  @discardableResult public func add(_ handlers: [Handler<Payload>]) -> [HandlerToken] {
    defer { channel.listenings.readinessChanged() }
    return source.add(handlers)
  }

  @discardableResult public func attach(_ handler: Handler<Payload>) -> HandlerToken {
    defer { channel.listenings.readinessChanged() }
    return source.attach(handler)
  }

  @discardableResult public func remove(_ token: HandlerToken) -> Bool { event.remove(token) }

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

  /// Publishes without a payload: see ``publish(_:id:headers:)``.
  @discardableResult public func publish(id: String? = nil, headers: [String: String] = [:]) async throws -> Receipt {
    try await publish((), id: id, headers: headers)
  }
}

extension RemoteEvent: CustomStringConvertible {
  /// The subject and the payload type.
  public var description: String { "remote event \"\(subject)\" of \(Payload.self)" }
}
