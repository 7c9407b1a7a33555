import Eventing

/// Publishes and listens, without the handlers of the event.
final class RemoteChannel<Payload: Sendable>: Sendable {
  let subject: String
  let transport: any Transport
  let codec: Codec<Payload>
  let listenings: Listenings
  /// Thrown by `publish` and `listen` if the subject is invalid.
  private let fault: (any Error)?

  init(_ subject: String, _ transport: any Transport, _ codec: Codec<Payload>) {
    self.subject = subject
    self.transport = transport
    self.codec = codec
    listenings = Listenings(subject)
    do {
      try checkSubject(subject)
      fault = nil
    } catch {
      fault = error
    }
  }

  /// - Parameters:
  ///   - key: Escaped; becomes the last word of the subject.
  ///   - way: Set for a forwarded payload.
  ///   - entered: Called by the transport when the message has its place in the order.
  func publish(
    _ payload: Payload, to key: String? = nil, id: String? = nil, headers: [String: String] = [:],
    along way: RemoteWay? = nil, entered: (@Sendable () -> Void)? = nil
  ) async throws -> Receipt {
    if let fault { throw fault }
    try listenings.checkOpen()
    var subject = subject
    if let key {
      subject += ".\(key)"
      try checkSubject(subject)
    }
    if let id { try checkID(id) }
    if !headers.isEmpty { try checkHeaders(headers) }
    var headers = headers
    try RemoteContext.inject(into: &headers)
    var message = RemoteMessage(id: id, subject: subject, headers: headers)
    do { try codec.encode(payload, &message) } catch {
      throw TransportError(
        .notEncodable,
        "expected a \(Payload.self) that can be encoded for \(subject); the encoder says: \(withoutContent(error))")
    }
    let most = transport.promises.largestPayload
    if message.body.count > most {
      throw TransportError(
        .tooLarge, "expected at most \(most) bytes for \(subject), got \(message.body.count)")
    }
    try way?.write(to: &message.headers)
    guard let entered else { return try await transport.publish(message, to: subject) }
    return try await transport.publish(message, to: subject, entered: entered)
  }

  func backlog(of group: String, isKeyed: Bool = false) async throws -> Backlog {
    if let fault { throw fault }
    try checkGroup(group)
    return try await transport.backlog(of: isKeyed ? "\(subject).*" : subject, in: group)
  }

  typealias Send = @Sendable (Delivered<Payload>) -> Completion

  /// - Parameters:
  ///   - mayDeliver: Whether a message could reach a handler now. Its argument says whether plainly
  ///     locked handlers count, as they do without a stream: there a lock skips what comes.
  ///   - prepare: Throws if the subject has no valid key.
  func listen(
    _ options: ListenOptions, isKeyed: Bool = false, mayDeliver: @escaping @Sendable (_ countsLocked: Bool) -> Bool,
    _ prepare: @escaping @Sendable (RemoteMessage) throws -> Send
  ) async throws -> Listening {
    if let fault { throw fault }
    let filter = isKeyed ? "\(subject).*" : subject
    try options.check(filter, transport.promises)
    var subscribing = SubscribeOptions()
    subscribing.group = options.group
    subscribing.start = options.start
    subscribing.inFlight = options.inFlight
    subscribing.deadLetter = options.deadLetter
    let countsLocked = !transport.promises.isAtLeastOnce
    subscribing.isReady = { mayDeliver(countsLocked) }
    let listener = Listener(options, filter, transport)
    let (codec, transport, chosen) = (codec, transport, subscribing)
    return try await listenings.add(options.group) {
      try await transport.subscribe(filter, chosen) { message in
        if listener.isForOthers(message) { return DecidedMessage(decision: .done) }
        let (payload, send): (Payload, Send)
        if let damage = message.damage {
          return HopelessMessage(listener: listener, message: message, reason: headerValue(damage))
        }
        do {
          send = try prepare(message)
          payload = try codec.decode(message)
        } catch {
          return HopelessMessage(listener: listener, message: message, reason: headerValue(withoutContent(error)))
        }
        return listener.begin(message) { account in
          let delivered = Delivered(payload: payload, account: account)
          var begun: Completion?
          RemoteContext.extract(message.headers) { begun = send(delivered) }
          guard let begun else { preconditionFailure("a task-local value is bound around one call") }
          return begun
        }
      }
    }
  }
}
