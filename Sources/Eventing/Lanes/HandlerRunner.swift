/// How a handler runs that needs more than a call with the payload.
@usableFromInline enum HandlerRunner: Sendable {
  /// Inline, with its owner.
  case call(@Sendable (HandlerArguments) throws -> Void)
  /// Inline, and says whether those after it see the occurrence.
  case intercept(@Sendable (BorrowedPayload) throws -> Interception)
  /// Elsewhere, one call at a time.
  case serial(SerialLane)
  /// Elsewhere, calls overlapping up to a limit.
  case concurrent(ConcurrentLane)
  /// Elsewhere, each call in a task of its own.
  case task(TaskLane)
  /// Into the inboxes of a sequence.
  case sequence(SequenceSink)
  /// With something else than the payload, or to another event.
  case relay(TransformedHandler)

  init(
    _ place: ExecutionPlace, _ body: HandlerBody, _ type: PayloadType, _ record: DetailedRecord,
    _ identity: EventIdentity
  ) {
    switch (place, body) {
    case (_, .relay(let make)), (_, .view(_, let make)): self = .relay(make(record, identity))
    case (_, .sequence(let hub)): self = .sequence(SequenceSink(record, identity, hub))
    case (_, .intercept(let body)): self = .intercept(body)
    case (.inline, .sync(let body)): self = .call(body)
    case (.inline, .direct(let body)): self = .call { try body($0.payload) }
    case (.concurrent, let body): self = .concurrent(ConcurrentLane(record, identity, body, type))
    case (.task, let body): self = .task(TaskLane(record, identity, body, type))
    case (_, let body): self = .serial(SerialLane(record, identity, body, type))
    }
  }

  /// The lane, if it runs elsewhere.
  @usableFromInline var lane: DeliveryTarget? {
    switch self {
    case .call, .intercept: nil
    case .serial(let lane): lane
    case .concurrent(let lane): lane
    case .task(let lane): lane
    case .sequence(let lane): lane
    case .relay(let relay): relay.lane
    }
  }

  /// What a post may call without a look at the handler, if it runs inline.
  func postBody(_ owner: Owner?, _ type: PayloadType) -> ErasedHandler? {
    switch self {
    case .call(let body):
      guard let owner else { return nil }
      return .of(
        { payload in
          guard let object = owner.object else { throw SlotSignal.decide }
          try body(HandlerArguments(payload, object))
        }, type)
    case .intercept(let body):
      guard owner == nil else { return nil }
      return .of({ payload in if try body(payload) == .stop { throw SlotSignal.stop } }, type)
    case .serial, .concurrent, .task, .sequence, .relay: return nil
    }
  }

  /// Inside: takes the handler's part in an occurrence; false if it is skipped, which is left to the caller to count.
  @usableFromInline func take(
    _ payload: BorrowedPayload, _ owner: (any AnyObject & Sendable)?, _ record: DetailedRecord,
    _ identity: EventIdentity,
    _ tally: inout DeliveryTally
  ) -> Bool {
    switch self {
    case .serial(let lane): lane.take(payload, &tally)
    case .concurrent(let lane): lane.take(payload, &tally)
    case .task(let lane): lane.take(payload, &tally)
    case .sequence(let lane):
      guard record.claim() else { return false }
      lane.take(payload, &tally)
    case .relay(let relay): return relay.take(payload, owner, &tally)
    case .call(let body):
      guard record.claim() else { return false }
      tally.call(record, identity) { try body(HandlerArguments(payload, owner)) }
    case .intercept(let body):
      guard record.claim() else { return false }
      var stops = false
      tally.call(record, identity) { stops = try body(payload) == .stop }
      if stops { tally.isStopped = true }
    }
    return true
  }
}

/// How a handler of a view takes a payload: it converts it, and passes on what comes out.
@usableFromInline struct TransformedHandler: Sendable {
  @usableFromInline let lane: DeliveryTarget?
  /// As `HandlerRunner.take`. What converts to nothing is skipped, and uses no once handler up.
  @usableFromInline let take: @Sendable (BorrowedPayload, (any AnyObject & Sendable)?, inout DeliveryTally) -> Bool
}

extension Handler {
  /// The handler of what comes in that this one is of what is made of it, synchronously, where the event delivers.
  @inlinable func converted<Incoming: Sendable>(
    _ convert: @escaping @Sendable (Incoming, borrowing DeliveryTally) -> Payload?
  ) -> Handler<Incoming> {
    Handler<Incoming>(converting: any, nil) { loan, tally, pass in
      guard let payload = convert(loan.payload(Incoming.self), tally) else { return false }
      return unsafe withUnsafePointer(to: payload) { unsafe pass(BorrowedPayload($0), &tally) }
    }
  }

  /// The same of the payload alone.
  @inlinable func viewed<Incoming: Sendable>(_ convert: @escaping @Sendable (Incoming) -> Payload?) -> Handler<Incoming>
  {
    var viewer: ErasedView?
    if let inner = any.viewer {
      viewer =
        ViewClosure<Incoming> { incoming in
          guard let payload = convert(incoming) else { return false }
          return try unsafe withUnsafePointer(to: payload) { unsafe try inner(BorrowedPayload($0)) }
        }.erased
    }
    return Handler<Incoming>(converting: any, viewer) { loan, tally, pass in
      guard let payload = convert(loan.payload(Incoming.self)) else { return false }
      return unsafe withUnsafePointer(to: payload) { unsafe pass(BorrowedPayload($0), &tally) }
    }
  }

  @usableFromInline typealias Conversion =
    @Sendable (BorrowedPayload, inout DeliveryTally, (BorrowedPayload, inout DeliveryTally) -> Bool) -> Bool

  @usableFromInline init(converting inner: AnyHandler, _ viewer: ErasedView?, _ conversion: @escaping Conversion) {
    any = AnyHandler(converting: inner, viewer, Payload.self, conversion)
  }
}

extension AnyHandler {
  init(
    converting inner: AnyHandler, _ viewer: ErasedView?, _ outer: PayloadType,
    _ conversion:
      @escaping @Sendable (BorrowedPayload, inout DeliveryTally, (BorrowedPayload, inout DeliveryTally) -> Bool) -> Bool
  ) {
    let (place, body, type) = (inner.place, inner.body, inner.type)
    let relay: @Sendable (DetailedRecord, EventIdentity) -> TransformedHandler = { record, identity in
      let work = HandlerRunner(place, body, type, record, identity)
      return TransformedHandler(lane: work.lane) { incoming, owner, tally in
        conversion(incoming, &tally) { payload, tally in work.take(payload, owner, record, identity, &tally) }
      }
    }
    self.init(place, viewer.map { .view($0, relay) } ?? .relay(relay), outer)
    options = inner.options
    isOnce = inner.isOnce
  }
}
