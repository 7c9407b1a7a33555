/// The outcome of one occurrence for one handler.
@usableFromInline enum HandlerOutcome: Sendable {
  case delivered
  case skipped
  /// The handler's lane had no room for the occurrence.
  case dropped
  /// A lock holds the occurrence, and nothing waits for it any more.
  case held
  case failed(HandlerFailure)
}
