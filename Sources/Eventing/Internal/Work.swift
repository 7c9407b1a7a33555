/// How a handler runs that needs more than a call with the payload.
@usableFromInline enum Work<Payload: Sendable>: Sendable {
  /// Inline, with its owner or with the whole occurrence.
  case call(@Sendable (Call<Payload>) throws -> Void)
  /// Elsewhere, one call at a time.
  case serial(SerialLane<Payload>)
  /// Elsewhere, calls overlapping.
  case parallel(ParallelLane<Payload>)

  /// The lane, if it runs elsewhere.
  var lane: Lane<Payload>? {
    switch self {
    case .call: nil
    case .serial(let lane): lane
    case .parallel(let lane): lane
    }
  }

  @usableFromInline var isOver: Bool { lane?.isOver ?? true }

  @usableFromInline func sendBarrier(_ flight: Flight) {
    switch self {
    case .call: break
    case .serial(let lane): lane.sendBarrier(flight)
    case .parallel(let lane): lane.sendBarrier(flight)
    }
  }
}
