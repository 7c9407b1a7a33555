/// How a handler runs that needs more than a call with the payload.
@usableFromInline enum Work<Payload: Sendable>: Sendable {
  /// Inline, with its owner.
  case call(@Sendable (Call<Payload>) throws -> Void)
  /// Inline, and says whether those after it see the occurrence.
  case intercept(@Sendable (Payload) throws -> Interception)
  /// Elsewhere, one call at a time.
  case serial(SerialLane<Payload>)
  /// Elsewhere, calls overlapping.
  case parallel(ParallelLane<Payload>)
  /// Into the inboxes of a sequence.
  case sequence(SequenceLane<Payload>)
  /// With something else than the payload, or to another event.
  case relay(Relay<Payload>)

  init(_ place: Place, _ body: Handler<Payload>.Body, _ record: DetailedRecord, _ home: Home) {
    switch (place, body) {
    case (_, .relay(let make)): self = .relay(make(record, home))
    case (_, .sequence(let channel)): self = .sequence(SequenceLane(record, home, channel))
    case (_, .intercept(let body)): self = .intercept(body)
    case (.inline, .sync(let body)): self = .call(body)
    case (.inline, .direct(let body)): self = .call { try body($0.payload) }
    case (.concurrent, let body), (.task, let body): self = .parallel(ParallelLane(record, home, body))
    case (_, let body): self = .serial(SerialLane(record, home, body))
    }
  }

  /// The lane, if it runs elsewhere.
  @usableFromInline var lane: AnyLane? {
    switch self {
    case .call, .intercept: nil
    case .serial(let lane): lane
    case .parallel(let lane): lane
    case .sequence(let lane): lane
    case .relay(let relay): relay.lane
    }
  }

  /// Inside: takes the handler's part in an occurrence; false if it is skipped, which is left to the caller to count.
  @inlinable func take(
    _ payload: Payload, _ owner: (any AnyObject & Sendable)?, _ record: DetailedRecord, _ home: Home, _ tally: inout Tally
  ) -> Bool {
    switch self {
    case .serial(let lane): lane.take(payload, &tally)
    case .parallel(let lane): lane.take(payload, &tally)
    case .sequence(let lane):
      guard record.claim() else { return false }
      lane.take(payload, &tally)
    case .relay(let relay): return relay.take(payload, owner, &tally)
    case .call(let body):
      guard record.claim() else { return false }
      tally.call(record, home) { try body(Call(payload, owner)) }
    case .intercept(let body):
      guard record.claim() else { return false }
      var stops = false
      tally.call(record, home) { stops = try body(payload) == .stop }
      if stops { tally.isStopped = true }
    }
    return true
  }
}

/// How a handler of a view takes a payload: it converts it, and passes on what comes out.
@usableFromInline struct Relay<Payload: Sendable>: Sendable {
  @usableFromInline let lane: AnyLane?
  /// As `Work.take`. What converts to nothing is skipped, and uses no once handler up.
  @usableFromInline let take: @Sendable (Payload, (any AnyObject & Sendable)?, inout Tally) -> Bool
}

extension Handler {
  /// The handler of what comes in that this one is of what is made of it, synchronously, where the event delivers.
  func converted<Incoming: Sendable>(
    _ convert: @escaping @Sendable (Incoming, borrowing Tally) -> Payload?
  ) -> Handler<Incoming> {
    let (place, body) = (place, body)
    var handler = Handler<Incoming>(
      place,
      .relay { record, home in
        let work = Work(place, body, record, home)
        return Relay(lane: work.lane) { incoming, owner, tally in
          guard let payload = convert(incoming, tally) else { return false }
          return work.take(payload, owner, record, home, &tally)
        }
      })
    handler.options = options
    handler.isOnce = isOnce
    return handler
  }
}
