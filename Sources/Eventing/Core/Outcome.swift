@usableFromInline package enum Outcome: Sendable {
  case delivered
  case skipped
  case dropped
  case held
  case failed(HandlerFailure)

  var isOfCall: Bool {
    switch self {
    case .delivered, .failed: true
    case .skipped, .dropped, .held: false
    }
  }
}
