/// The promises of a ``Transport``.
///
/// A remote event or question throws an error if a call needs groups, replies or retries that
/// aren't promised, or a body that is larger than promised.
public struct TransportPromises: Hashable, Sendable {
  /// Whether messages are stored and redelivered until they're handled. Otherwise, each message is
  /// delivered at most once, and nothing is retried.
  public var isAtLeastOnce: Bool
  /// Whether the engine has groups.
  public var hasGroups = true
  /// Whether messages from one publisher to one subject are delivered in order.
  public var keepsOrder = true
  /// Whether requests have replies.
  public var hasRequests = true
  /// The largest body of a message, in bytes.
  public var largestPayload = 1 << 20

  /// Creates the promises of an engine. All except `isAtLeastOnce` have their default values.
  ///
  /// - Parameter isAtLeastOnce: Whether messages are stored and redelivered until they're handled.
  public init(isAtLeastOnce: Bool) { self.isAtLeastOnce = isAtLeastOnce }
}
