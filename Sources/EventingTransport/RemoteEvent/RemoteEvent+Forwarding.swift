public import Eventing

extension EventSource {
  /// Publishes every payload on a remote event.
  ///
  /// A forward is a handler on a lane: it publishes one payload after the other, in order. A `send`
  /// waits until the message is stored, and its report has the error if it is not. A message is not
  /// forwarded to a subject of a transport that it came through. So a cycle over any number of
  /// processes ends. If a cycle has more subjects than fit into a header of 4,096 bytes, a message
  /// may pass through it twice.
  ///
  /// - Parameter target: The remote event. The forward holds it weakly, and ends when it is
  ///   released.
  /// - Returns: The token of the forward.
  @discardableResult public nonisolated func forward(to target: RemoteEvent<Payload>) -> HandlerToken {
    forward(to: target) { $0 }
  }

  /// Publishes the result of a closure on a remote event. In all other respects, works like
  /// `forward(to:)`.
  ///
  /// - Parameters:
  ///   - target: The remote event. The forward holds it weakly, and ends when it is released.
  ///   - transform: A closure that is called once for each occurrence, on the thread that delivers.
  ///     If it returns `nil`, nothing is published.
  /// - Returns: The token of the forward.
  @discardableResult public nonisolated func forward<Other: Sendable>(
    to target: RemoteEvent<Other>, _ transform: @escaping @Sendable (Payload) -> Other?
  ) -> HandlerToken {
    let (subject, identity) = (target.subject, target.channel.transport.identity)
    return forwardAway(ownedBy: target, as: subject) { payload, origin -> Leaving<Other>? in
      let way = origin as? RemoteWay ?? RemoteWay()
      guard !way.contains(subject, over: identity) else { return nil }
      return transform(payload).map { Leaving(payload: $0, way: way) }
    } _: { [weak target] leaving in
      guard let channel = target?.channel else { return }
      _ = try await channel.publish(leaving.payload, along: leaving.way)
    }
  }
}

/// A payload that is forwarded to a remote event, with its forwarding path.
private struct Leaving<Payload: Sendable>: Sendable {
  let payload: Payload
  let way: RemoteWay
}
