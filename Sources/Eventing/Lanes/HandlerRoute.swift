@usableFromInline enum HandlerRoute: Sendable {
  case call(@Sendable (HandlerArguments) throws -> Void)
  case intercept(@Sendable (HandlerArguments) throws -> InterceptorDecision<SharedPayload>)
  case lane(LaneQueue)
  case retried(RetryRule, @Sendable (HandlerArguments) throws -> Void)
  case paced(Pacer)
  case sequence(SequenceSink)
  case relay(TransformedHandler)

  init(
    _ body: HandlerBody, _ type: PayloadType, _ record: DetailedRecord, _ anchor: EventAnchor,
    _ modifiers: HandlerModifiers?
  ) {
    let body = if case .perRecord(let make) = body { make(record, anchor) } else { body }
    if let modifiers, !body.isTransformed {
      let route = HandlerRoute(unpaced: body, type, record, anchor, modifiers)
      self = modifiers.pace.map { .paced(Pacer(record, anchor, $0, route, type)) } ?? route
      return
    }
    switch body {
    case .relay(let make), .view(_, let make): self = .relay(make(record, anchor))
    case .sequence(let hub): self = .sequence(SequenceSink(record, anchor, hub))
    case .intercept(let body): self = .intercept(body)
    default: self.init(unpaced: body, type, record, anchor, HandlerModifiers())
    }
  }

  private init(
    unpaced body: HandlerBody, _ type: PayloadType, _ record: DetailedRecord, _ anchor: EventAnchor,
    _ modifiers: HandlerModifiers
  ) {
    if case .inline = record.place, let call = body.inlineCall(keeping: record.options.sharedClaim?.keeper) {
      self = modifiers.retry.map { .retried($0, call) } ?? .call(call)
    } else {
      self = .lane(LaneQueue(record, anchor, body, type, modifiers))
    }
  }

  var target: DeliveryTarget? {
    switch self {
    case .call, .intercept, .retried: nil
    case .lane(let queue): queue
    case .paced(let target): target
    case .sequence(let sink): sink
    case .relay(let transformed): transformed.target
    }
  }

  /// The closure throws ``SlotSignal/decide``, which makes the slow path continue, if the owner is
  /// gone or a pace can't store the payload (``Pacer/keepPost(_:_:)``).
  func postBody(_ owner: Owner?, _ type: PayloadType, in core: EventCore) -> ErasedHandler? {
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
      return .of(
        { payload in
          let decision = try body(HandlerArguments(payload, nil))
          if case .proceed = decision { return }
          throw SlotSignal.intercepted(decision)
        }, type)
    case .paced(let target):
      guard owner == nil else { return nil }
      // Safe: the core owns the slot that keeps this closure, and only the core calls it, so the
      // core exists during the call.
      let core = unsafe Unmanaged.passUnretained(core)
      return .of(
        { payload in
          let sequence = unsafe core._withUnsafeGuaranteedRef { $0.sequence }
          if !target.keepPost(payload, sequence) { throw SlotSignal.decide }
        }, type)
    case .lane, .sequence, .relay, .retried: return nil
    }
  }

  /// Returns whether the payload was dealt with. If not, the caller counts the handler as skipped.
  /// Isolation: core.
  func deliver(
    _ payload: BorrowedPayload, _ owner: (any AnyObject & Sendable)?, _ record: DetailedRecord,
    _ anchor: EventAnchor,
    _ delivery: inout Delivery
  ) -> Bool {
    switch self {
    case .lane(let queue): queue.deliver(payload, &delivery)
    case .paced(let target): return target.deliver(payload, owner, &delivery)
    case .retried(let retry, let body):
      guard record.claim() else { return false }
      delivery.call(record, anchor, retry) { try body(HandlerArguments(payload, owner)) }
    case .sequence(let sink):
      guard record.claim() else { return false }
      sink.deliver(payload, &delivery)
    case .relay(let transformed): return transformed.deliver(payload, owner, &delivery)
    case .call(let body):
      guard record.claim() else { return false }
      delivery.call(record, anchor) { try body(HandlerArguments(payload, owner)) }
    case .intercept(let body):
      guard record.claim() else { return false }
      var decision = InterceptorDecision<SharedPayload>.proceed
      delivery.call(record, anchor) { decision = try body(HandlerArguments(payload, owner)) }
      delivery.apply(decision)
      unsafe delivery.completion?.interceptors += 1
      delivery.completion?.account?.noteIntercepted(stops: decision.isStop)
    }
    return true
  }
}

@usableFromInline struct TransformedHandler: Sendable {
  let target: DeliveryTarget?
  /// If the transform has no result, calls ``Delivery/noteLeftOut()`` and returns false before the
  /// claim, so that a payload rejected by a filter doesn't use up a once handler.
  let deliver: @Sendable (BorrowedPayload, (any AnyObject & Sendable)?, inout Delivery) -> Bool
}

extension Handler {
  @inlinable func converted<Incoming: Sendable>(
    _ convert: @escaping @Sendable (Incoming, borrowing Delivery, _ eventName: String?) -> Payload?
  ) -> Handler<Incoming> {
    Handler<Incoming>(converting: any, nil) { incoming, name, delivery, pass in
      guard let payload = convert(incoming.payload(Incoming.self), delivery, name) else {
        delivery.noteLeftOut()
        return false
      }
      return unsafe withUnsafePointer(to: payload) { unsafe pass(BorrowedPayload($0), &delivery) }
    }
  }

  /// Through its `viewTarget`, posts can reach the handler on the fast path, without a
  /// ``Delivery``.
  @inlinable func viewed<Incoming: Sendable>(_ convert: @escaping @Sendable (Incoming) -> Payload?) -> Handler<Incoming>
  {
    // The closure knows its target, so it need not check for each payload whether the target is a
    // view.
    let view: ErasedView? =
      switch any.viewTarget {
      case nil: nil
      case .handler(let handler):
        ViewClosure<Incoming> { incoming in
          guard let payload = convert(incoming) else { return false }
          try unsafe withUnsafePointer(to: payload) { unsafe try handler(BorrowedPayload($0)) }
          return true
        }.erased
      case .view(let inner):
        ViewClosure<Incoming> { incoming in
          guard let payload = convert(incoming) else { return false }
          return try unsafe withUnsafePointer(to: payload) { unsafe try inner(BorrowedPayload($0)) }
        }.erased
      }
    return Handler<Incoming>(converting: any, view) { incoming, _, delivery, pass in
      guard let payload = convert(incoming.payload(Incoming.self)) else {
        delivery.noteLeftOut()
        return false
      }
      return unsafe withUnsafePointer(to: payload) { unsafe pass(BorrowedPayload($0), &delivery) }
    }
  }

  @usableFromInline init(
    converting inner: AnyHandler, _ view: ErasedView?, _ conversion: @escaping AnyHandler.Conversion
  ) {
    any = AnyHandler(converting: inner, view, Payload.self, conversion)
  }
}

extension AnyHandler {
  @usableFromInline typealias Conversion =
    @Sendable (BorrowedPayload, String?, inout Delivery, (BorrowedPayload, inout Delivery) -> Bool) -> Bool

  init(
    converting inner: AnyHandler, _ view: ErasedView?, _ outer: PayloadType, _ conversion: @escaping Conversion
  ) {
    let (body, type, modifiers) = (inner.body, inner.type, inner.options.modifierBox?.modifiers)
    let makeTransformed: @Sendable (DetailedRecord, EventAnchor) -> TransformedHandler = { record, anchor in
      let route = HandlerRoute(body, type, record, anchor, modifiers)
      return TransformedHandler(target: route.target) { incoming, owner, delivery in
        conversion(incoming, anchor.name, &delivery) { payload, delivery in
          route.deliver(payload, owner, record, anchor, &delivery)
        }
      }
    }
    self.init(inner.place, view.map { .view($0, makeTransformed) } ?? .relay(makeTransformed), outer)
    options = inner.options
    options.letter = .lost
    isOnce = inner.isOnce
    source = inner.source
  }
}
