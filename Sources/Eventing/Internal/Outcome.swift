/// What became of one handler's part in an occurrence.
@usableFromInline enum Outcome: Sendable {
  case delivered
  case skipped
  /// There was no room for it on its lane.
  case dropped
  case failed(HandlerFailure)
}
