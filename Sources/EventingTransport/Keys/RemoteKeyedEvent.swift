public import Eventing

/// A remote event with many keys. The subject of a key is the event's subject with one more word.
///
///     let prices = RemoteKeyedEvent<String, Tick>("ticks", over: ticks)   // subject ticks.<key>
///     prices["AAPL"].addHandler { tick in print(tick) }
///     try await prices.publish(tick, to: "AAPL")
///     try await prices.listen()
///
/// If the key of a message has no handler here, the message is acknowledged, because no handler
/// asked for it. In all other respects, the event works like ``RemoteEvent``. The order of a
/// publisher's messages holds for each key separately.
public final class RemoteKeyedEvent<Key: RemoteKey, Payload: Sendable>: Sendable {
  let channel: RemoteChannel<Payload>
  let event: KeyedEvent<Key, Delivered<Payload>>

  /// Creates an event. Nothing is sent or received yet.
  ///
  /// - Parameters:
  ///   - subject: The subject in front of the keys: words that are joined by dots. If it is not
  ///     valid, `publish` and `listen` throw.
  ///   - transport: The engine, or one of its streams.
  ///   - codec: The codec. It must be equal or compatible in all processes.
  public init(_ subject: String, over transport: any Transport, codec: Codec<Payload>) {
    channel = RemoteChannel(subject, transport, codec)
    event = KeyedEvent(subject)
    event.onReadiness(channel.listenings.readinessChanged)
  }

  deinit { channel.listenings.end() }

  /// The subject in front of the keys.
  public var subject: String { channel.subject }

  /// Publishes a payload to a key: see ``RemoteEvent/publish(_:headers:)``.
  ///
  /// - Parameters:
  ///   - payload: The payload.
  ///   - key: The key. The subject with its escaped text must have at most 255 bytes.
  ///   - headers: The headers for the receivers.
  /// - Returns: The receipt. On a stream, the method returns it when the message is stored.
  /// - Throws: ``TransportError``.
  @discardableResult public func publish(
    _ payload: Payload, to key: Key, headers: [String: String] = [:]
  ) async throws -> Receipt {
    try await publish(payload, to: key, id: nil, headers: headers)
  }

  /// Publishes a payload to a key with an id, once: see ``RemoteEvent/publish(_:id:headers:)``.
  ///
  /// - Parameters:
  ///   - payload: The payload.
  ///   - key: The key. The subject with its escaped text must have at most 255 bytes.
  ///   - id: The id of the message; `nil` for a new one.
  ///   - headers: The headers for the receivers.
  /// - Returns: The receipt. Its ``Receipt/isDuplicate`` says that the stream had the id before, so
  ///   that this payload was not stored.
  /// - Throws: ``TransportError``.
  public func publish(
    _ payload: Payload, to key: Key, id: String?, headers: [String: String] = [:]
  ) async throws -> Receipt {
    try await channel.publish(payload, to: SubjectWord.escaped(key.remoteText), id: id, headers: headers)
  }

  /// Listens to the subjects of all keys: see
  /// ``RemoteEvent/listen(as:startingAt:inFlight:retry:deadLetter:deduplicating:)``.
  @discardableResult public func listen(
    as group: String? = nil, startingAt start: StartPosition = .new, inFlight: Int = 256,
    retry: RetryPolicy? = nil, deadLetter: String? = nil, deduplicating deduplication: Deduplication = .none
  ) async throws -> Listening {
    let options = ListenOptions(
      group: group, start: start, inFlight: inFlight, givenRetry: retry, deadLetter: deadLetter,
      deduplication: deduplication, acceptsNoHandler: true)
    let event = event
    let prefix = subject.utf8.count + 1
    let mayDeliver: @Sendable (Bool) -> Bool = { event.mayDeliver(countsLocked: $0) }
    return try await channel.listen(options, isKeyed: true, mayDeliver: mayDeliver) { message in
      let word = Substring(message.subject.utf8.dropFirst(prefix))
      guard let key = SubjectWord.unescaped(word).flatMap(Key.init(remoteText:)) else {
        throw DecodingFailure("expected a key of \(Key.self) in the subject \(shown(message.subject))")
      }
      return { event.begin($0, to: key, accountedIn: $0.account) }
    }
  }

  /// Returns what a group has not handled yet of all keys, whoever its members are: see
  /// ``Transport/backlog(of:in:)``.
  ///
  /// - Parameter group: A group that has listened to this event on this stream.
  /// - Throws: ``TransportError``.
  public func backlog(of group: String) async throws -> Backlog {
    try await channel.backlog(of: group, isKeyed: true)
  }

  /// A source of the payloads of one key. The source retains this event.
  public subscript(key: Key) -> some EventSource<Payload> {
    RemoteKeySource<Key, Payload, Payload>(remote: self) { $0[key].map { $0.payload } }
  }

  /// A source of all payloads, together with their keys. The source retains this event.
  public var anyKey: some EventSource<(key: Key, payload: Payload)> {
    RemoteKeySource<Key, Payload, (key: Key, payload: Payload)>(remote: self) { event in
      event.anyKey.map { (key: $0.key, payload: $0.payload.payload) }
    }
  }

  /// A source of whole occurrences of all keys: the key and the payload with id, attempt, subject,
  /// headers, time and position. The source retains this event.
  public var remoteOccurrences: some EventSource<RemoteOccurrence<(key: Key, payload: Payload)>> {
    RemoteKeySource<Key, Payload, RemoteOccurrence<(key: Key, payload: Payload)>>(remote: self) { event in
      event.anyKey.map { found in found.payload.occurrence.with { (key: found.key, payload: $0) } }
    }
  }
}

extension RemoteKeyedEvent where Payload: Codable {
  /// Creates an event whose payloads are JSON. Nothing is sent or received yet.
  public convenience init(_ subject: String, over transport: any Transport) {
    self.init(subject, over: transport, codec: .json)
  }
}

extension RemoteKeyedEvent where Payload == Void {
  /// Creates an event without payloads. Nothing is sent or received yet.
  public convenience init(_ subject: String, over transport: any Transport) {
    self.init(subject, over: transport, codec: .nothing)
  }
}

extension RemoteKeyedEvent: HandlerRegistry {
  /// The handlers of all keys in this process. See ``RemoteEvent/handlerTable`` about locks.
  public var handlerTable: HandlerTable { event.handlerTable }

  /// Returns the number of handlers of one key, without those of ``anyKey``. O(*n*) for *n*
  /// handlers of all keys.
  public func handlerCount(for key: Key) -> Int { event.handlerCount(for: key) }
  /// The keys that have handlers, in no order. Handlers of ``anyKey`` are not among them. O(*n*)
  /// for *n* handlers of all keys.
  public var keys: [Key] { event.keys }
  /// Returns snapshots of the handlers of one key, without those of ``anyKey``. O(*n*) for *n*
  /// handlers of all keys.
  public func handlers(of key: Key) async -> [HandlerSnapshot] { await event.handlers(where: .key(key)) }
}

extension HandlerFilter {
  /// The handlers of one key of a remote event, without those of `RemoteKeyedEvent.anyKey`.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - event: The event, which only gives the type of the keys.
  public static func key<Key, Payload>(_ key: Key, of event: RemoteKeyedEvent<Key, Payload>) -> HandlerFilter {
    .key(key)
  }
}

extension RemoteKeyedEvent: CustomStringConvertible {
  /// The subject, the key type and the payload type.
  public var description: String { "remote event \"\(subject)\" of \(Payload.self), keyed by \(Key.self)" }
}

struct RemoteKeySource<Key: RemoteKey, Remote: Sendable, Payload: Sendable>: EventSource {
  let remote: RemoteKeyedEvent<Key, Remote>
  /// Makes the source in the local event of ``remote``: that of one key, or of all keys.
  let source: @Sendable (KeyedEvent<Key, Delivered<Remote>>) -> any EventSource<Payload>

  func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken] {
    source(remote.event).add(contentsOf: handlers)
  }

  func add(_ handler: Handler<Payload>) -> HandlerToken {
    source(remote.event).add(handler)
  }

  func remove(_ token: HandlerToken) -> Bool { remote.event.remove(token) }
}
