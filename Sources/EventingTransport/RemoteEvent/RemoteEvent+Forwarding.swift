public import Eventing

extension EventSource {
  /// Publishes every payload on a remote event.
  ///
  /// A forward is a handler on a lane, and publishes the payloads in order. It begins to publish a
  /// payload when the engine has decided the place of the previous message in the order. It does
  /// not wait for the `Receipt` of that message: up to 64 messages may be without a receipt at
  /// one time. If the engine sends a message again, for example after a lost connection, later
  /// messages may arrive before that message.
  ///
  /// A `send` waits until the forward has the receipt for the message of this `send`. If the
  /// forward gets an error instead, the report of the `send` has the error.
  ///
  /// A message is not forwarded to a subject that it has already come through over this transport.
  /// So a cycle over any number of processes ends. If a cycle has more subjects than fit into a
  /// header of 4,096 bytes, a message may pass through the cycle several times. If it came through
  /// *n* subjects before it entered a cycle of *m* subjects, it comes through at most 2*n* + *m*
  /// subjects in all.
  ///
  /// - Parameter target: The remote event. The forward does not retain the event, and ends when the
  ///   event is released.
  /// - Returns: The token of the forward.
  @discardableResult public nonisolated func forward(to target: RemoteEvent<Payload>) -> HandlerToken {
    let (subject, identity) = (target.subject, target.channel.transport.identity)
    return forwardAway(ownedBy: target, as: subject) { payload, origin -> Leaving<Payload>? in
      let way = origin as? RemoteWay ?? RemoteWay()
      guard !way.contains(subject, over: identity) else { return nil }
      return Leaving(payload: payload, key: nil, way: way)
    } _: { [weak target] leaving, entered in
      try await target?.channel.publish(leaving, entered)
    }
  }

  /// Publishes, on a remote event with keys, the payloads for which `key` returns a key.
  ///
  ///     placed.forward(to: ordersOfCustomers, by: \.customer)
  ///
  /// A message is not forwarded to a key that it came through. In all other respects, works like
  /// the forward to a `RemoteEvent`.
  ///
  /// - Parameters:
  ///   - target: The remote event. The forward does not retain the event, and ends when the event
  ///     is released.
  ///   - key: A closure that returns the key of a payload. It is called once for each occurrence,
  ///     on the thread that delivers. If it returns `nil`, nothing is published.
  /// - Returns: The token of the forward.
  @discardableResult public nonisolated func forward<Key: RemoteKey>(
    to target: RemoteKeyedEvent<Key, Payload>, by key: @escaping @Sendable (Payload) -> Key?
  ) -> HandlerToken {
    forward(to: target) { payload in key(payload).map { (key: $0, payload: payload) } }
  }

  /// Publishes the result of a closure on a remote event with keys. In all other respects, works
  /// like `forward(to:by:)`.
  ///
  /// - Parameters:
  ///   - target: The remote event. The forward does not retain the event, and ends when the event
  ///     is released.
  ///   - transform: A closure that returns a key and a payload. It is called once for each
  ///     occurrence, on the thread that delivers. If it returns `nil`, nothing is published.
  /// - Returns: The token of the forward.
  @discardableResult public nonisolated func forward<Key: RemoteKey, Other: Sendable>(
    to target: RemoteKeyedEvent<Key, Other>,
    _ transform: @escaping @Sendable (Payload) -> (key: Key, payload: Other)?
  ) -> HandlerToken {
    let (subject, identity) = (target.subject, target.channel.transport.identity)
    return forwardAway(ownedBy: target, as: subject) { payload, origin -> Leaving<Other>? in
      guard let (key, payload) = transform(payload) else { return nil }
      let (way, word) = (origin as? RemoteWay ?? RemoteWay(), SubjectWord.escaped(key.remoteText))
      guard !way.contains("\(subject).\(word)", over: identity) else { return nil }
      return Leaving(payload: payload, key: word, way: way)
    } _: { [weak target] leaving, entered in
      try await target?.channel.publish(leaving, entered)
    }
  }
}

extension HandlerFilter {
  /// The forwards to a remote event.
  public static func forwarding<Other: Sendable>(to target: RemoteEvent<Other>) -> HandlerFilter {
    forwarding(toObject: target)
  }

  /// The forwards to a remote event with keys.
  public static func forwarding<Key: RemoteKey, Other: Sendable>(to target: RemoteKeyedEvent<Key, Other>)
    -> HandlerFilter
  {
    forwarding(toObject: target)
  }
}

/// On its way out by a forward. Without keys, `key` is `nil`.
private struct Leaving<Payload: Sendable>: Sendable {
  let payload: Payload
  let key: String?
  let way: RemoteWay
}

extension RemoteChannel {
  fileprivate func publish(_ leaving: Leaving<Payload>, _ entered: @escaping @Sendable () -> Void) async throws {
    _ = try await publish(leaving.payload, to: leaving.key, along: leaving.way, entered: entered)
  }
}
