/// The promises of a ``Transport``. Remote events refuse in words what it does not.
public struct TransportPromises: Hashable, Sendable {
  /// Whether messages are stored and delivered until they are handled. Otherwise each is delivered
  /// once or not at all, and nothing is retried.
  public var isAtLeastOnce: Bool
  /// Whether there are groups.
  public var hasGroups = true
  /// Whether the order of one publisher's messages of one subject is kept.
  public var keepsOrder = true
  /// Whether requests have replies.
  public var hasRequests = true
  /// The largest body of a message, in bytes.
  public var largestPayload = 1 << 20

  /// Creates the promises of an engine that does everything else.
  ///
  /// - Parameter isAtLeastOnce: Whether messages are stored and delivered until they are handled.
  public init(isAtLeastOnce: Bool) { self.isAtLeastOnce = isAtLeastOnce }
}
