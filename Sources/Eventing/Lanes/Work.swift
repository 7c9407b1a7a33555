/// How a handler runs that needs more than a call with the payload.
@usableFromInline enum Work: Sendable {
  /// Inline, with its owner.
  case call(@Sendable (Call) throws -> Void)
  /// Inline, and says whether those after it see the occurrence.
  case intercept(@Sendable (Loan) throws -> Interception)
  /// Elsewhere, one call at a time.
  case serial(SerialLane)
  /// Elsewhere, calls overlapping.
  case parallel(ParallelLane)
  /// Into the inboxes of a sequence.
  case sequence(SequenceLane)
  /// With something else than the payload, or to another event.
  case relay(Relay)

  init(_ place: Place, _ body: Body, _ type: PayloadType, _ record: DetailedRecord, _ home: Home) {
    switch (place, body) {
    case (_, .relay(let make)), (_, .view(_, let make)): self = .relay(make(record, home))
    case (_, .sequence(let channel)): self = .sequence(SequenceLane(record, home, channel))
    case (_, .intercept(let body)): self = .intercept(body)
    case (.inline, .sync(let body)): self = .call(body)
    case (.inline, .direct(let body)): self = .call { try body($0.payload) }
    case (.concurrent, let body), (.task, let body): self = .parallel(ParallelLane(record, home, body, type))
    case (_, let body): self = .serial(SerialLane(record, home, body, type))
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

  /// What a post may call without a look at the handler, if it runs inline.
  func bodyForPosts(_ owner: Owner?, _ type: PayloadType) -> ErasedHandler? {
    switch self {
    case .call(let body):
      guard let owner else { return nil }
      return .of(
        { payload in
          guard let object = owner.object else { throw RowSignal.decide }
          try body(Call(payload, object))
        }, type)
    case .intercept(let body):
      guard owner == nil else { return nil }
      return .of({ payload in if try body(payload) == .stop { throw RowSignal.stop } }, type)
    case .serial, .parallel, .sequence, .relay: return nil
    }
  }

  /// Inside: takes the handler's part in an occurrence; false if it is skipped, which is left to the caller to count.
  @usableFromInline func take(
    _ payload: Loan, _ owner: (any AnyObject & Sendable)?, _ record: DetailedRecord, _ home: Home, _ tally: inout Tally
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
@usableFromInline struct Relay: Sendable {
  @usableFromInline let lane: AnyLane?
  /// As `Work.take`. What converts to nothing is skipped, and uses no once handler up.
  @usableFromInline let take: @Sendable (Loan, (any AnyObject & Sendable)?, inout Tally) -> Bool
}

extension Handler {
  /// The handler of what comes in that this one is of what is made of it, synchronously, where the event delivers.
  @inlinable func converted<Incoming: Sendable>(
    _ convert: @escaping @Sendable (Incoming, borrowing Tally) -> Payload?
  ) -> Handler<Incoming> {
    Handler<Incoming>(converting: any, nil) { loan, tally, pass in
      guard let payload = convert(loan.payload(Incoming.self), tally) else { return false }
      return unsafe withUnsafePointer(to: payload) { unsafe pass(Loan($0), &tally) }
    }
  }

  /// The same of the payload alone.
  @inlinable func viewed<Incoming: Sendable>(_ convert: @escaping @Sendable (Incoming) -> Payload?) -> Handler<Incoming> {
    var viewer: ErasedView?
    if let inner = any.viewer {
      viewer =
        ViewClosure<Incoming> { incoming in
          guard let payload = convert(incoming) else { return false }
          return try unsafe withUnsafePointer(to: payload) { unsafe try inner(Loan($0)) }
        }.erased
    }
    return Handler<Incoming>(converting: any, viewer) { loan, tally, pass in
      guard let payload = convert(loan.payload(Incoming.self)) else { return false }
      return unsafe withUnsafePointer(to: payload) { unsafe pass(Loan($0), &tally) }
    }
  }

  @usableFromInline typealias Conversion = @Sendable (Loan, inout Tally, (Loan, inout Tally) -> Bool) -> Bool

  @usableFromInline init(converting inner: AnyHandler, _ viewer: ErasedView?, _ conversion: @escaping Conversion) {
    any = AnyHandler(converting: inner, viewer, Payload.self, conversion)
  }
}

extension AnyHandler {
  init(
    converting inner: AnyHandler, _ viewer: ErasedView?, _ outer: PayloadType,
    _ conversion: @escaping @Sendable (Loan, inout Tally, (Loan, inout Tally) -> Bool) -> Bool
  ) {
    let (place, body, type) = (inner.place, inner.body, inner.type)
    let relay: @Sendable (DetailedRecord, Home) -> Relay = { record, home in
      let work = Work(place, body, type, record, home)
      return Relay(lane: work.lane) { incoming, owner, tally in
        conversion(incoming, &tally) { payload, tally in work.take(payload, owner, record, home, &tally) }
      }
    }
    self.init(place, viewer.map { .view($0, relay) } ?? .relay(relay), outer)
    options = inner.options
    isOnce = inner.isOnce
  }
}
