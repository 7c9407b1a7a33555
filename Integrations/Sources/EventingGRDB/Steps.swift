/// A step of a relay. After it, a test may end the relay as a crash would.
package enum RelayStep: String, CaseIterable, Sendable {
  /// A message was read, but not published yet.
  case read
  /// The engine acknowledged a message, which is not deleted yet.
  case published
  /// A message was deleted.
  case deleted
}

/// A step of an inbox. After it, a test may end the handling as a crash would.
package enum InboxStep: String, CaseIterable, Sendable {
  /// The transaction has begun.
  case began
  /// The id was written, but not the effects yet.
  case noted
  /// The effects were written, but not committed yet.
  case applied
  /// The transaction was committed, but the message is not acknowledged yet.
  case committed
}
