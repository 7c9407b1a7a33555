/// A step of a relay after which a test may end it, as a crash would.
package enum RelayStep: String, CaseIterable, Sendable {
  /// A message was read, and not yet published.
  case read
  /// A message was acknowledged by the engine, and not yet deleted.
  case published
  /// A message was deleted.
  case deleted
}

/// A step of an inbox after which a test may end it, as a crash would.
package enum InboxStep: String, CaseIterable, Sendable {
  /// The transaction has begun.
  case began
  /// The id was written, and not yet the effects.
  case noted
  /// The effects were written, and not yet committed.
  case applied
  /// The transaction was committed, and the message not yet acknowledged.
  case committed
}
