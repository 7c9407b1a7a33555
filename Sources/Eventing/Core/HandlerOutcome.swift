/// What became of one handler's part in an occurrence.
@usableFromInline enum HandlerOutcome: Sendable {
  case delivered
  case skipped
  /// There was no room for it on its lane.
  case dropped
  /// A lock holds it; nobody waits for it any more.
  case held
  case failed(HandlerFailure)
}
