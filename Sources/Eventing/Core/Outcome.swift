/// The outcome of one occurrence for one handler.
@usableFromInline package enum Outcome: Sendable {
  case delivered
  case skipped
  /// The handler's lane had no room for the occurrence.
  case dropped
  /// A lock holds the occurrence for the handler. The sender no longer waits for this handler, and
  /// its report counts the handler as held.
  case held
  case failed(HandlerFailure)

  /// Whether a call has led to the outcome.
  var isOfCall: Bool {
    switch self {
    case .delivered, .failed: true
    case .skipped, .dropped, .held: false
    }
  }
}
