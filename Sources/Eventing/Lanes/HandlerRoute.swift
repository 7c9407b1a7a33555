/// The way in which a handler runs, if the handler needs more than an inline call with the payload.
@usableFromInline enum HandlerRoute: Sendable {
  /// Inline, with the owner if there is one.
  case call(@Sendable (HandlerArguments) throws -> Void)
  /// Inline. The result says what later handlers receive.
  case intercept(@Sendable (HandlerArguments) throws -> InterceptorDecision)
  /// On a lane.
  case lane(HandlerQueue)
  /// Inline. If the closure throws, it may be called again at once: the ``RetryRule`` decides.
  case retried(RetryRule, @Sendable (HandlerArguments) throws -> Void)
  /// The target throttles or debounces occurrences. It passes the occurrences that are left to a
  /// second route, ``Pacer/inner``, which calls the handler.
  case paced(Pacer)
  /// The sink puts the payload into the buffers of a sequence's iterators.
  case sequence(SequenceSink)
  /// Inline: ``TransformedHandler/deliver`` runs on the thread that delivers. For a handler behind
  /// a transform, `deliver` transforms the payload, and then calls the handler or its lane with the
  /// result. For a forward, `deliver` sends the payload through another event.
  case relay(TransformedHandler)

  /// - Parameter modifiers: The modifiers of the handler, if it has any. The route of a handler
  ///   behind a transform ignores them: they apply to the handler itself.
  init(
    _ body: HandlerBody, _ type: PayloadType, _ record: DetailedRecord, _ anchor: EventAnchor,
    _ modifiers: HandlerModifiers?
  ) {
    let made = if case .perRecord(let make) = body { make(record, anchor) } else { body }
    let body = record.options.sharedClaim?.kept(by: made) ?? made
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

  /// Makes the route of a handler as if it had no pace. If the handler has a pace, the caller puts
  /// a ``Pacer`` before this route.
  private init(
    unpaced body: HandlerBody, _ type: PayloadType, _ record: DetailedRecord, _ anchor: EventAnchor,
    _ modifiers: HandlerModifiers
  ) {
    switch (record.place, body, modifiers.retry) {
    case (.inline, .sync(let body), let retry?): self = .retried(retry, body)
    case (.inline, .direct(let body), let retry?): self = .retried(retry) { try body($0.payload) }
    case (.inline, .sync(let body), nil): self = .call(body)
    case (.inline, .direct(let body), nil): self = .call { try body($0.payload) }
    default: self = .lane(HandlerQueue(record, anchor, body, type, modifiers))
    }
  }

  /// The place where occurrences wait; `nil` if the handler runs inline.
  var target: DeliveryTarget? {
    switch self {
    case .call, .intercept, .retried: nil
    case .lane(let member): member
    case .paced(let target): target
    case .sequence(let sink): sink
    case .relay(let transformed): transformed.target
    }
  }

  /// Returns the closure that the fast path calls for a post; `nil` if this method makes none. For
  /// a lane or a sequence, ``HandlerSlot/offer(_:_:_:)`` makes the closure later.
  ///
  /// If the handler has an owner, this method makes a closure only for the case `call`. The closure
  /// retains the owner during the call. If the owner is gone, the closure throws
  /// ``SlotSignal/decide``, and the slow path goes on.
  ///
  /// The closure of a handler with a pace stores the payload until the pace's timer fires. If the
  /// pace cannot store the payload (``Pacer/keepPost(_:_:)``), the closure throws
  /// ``SlotSignal/decide``, too.
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
      // Safe: the core owns the slot that keeps this closure, and only the core calls the closure.
      // So the core exists during the call.
      let core = unsafe Unmanaged.passUnretained(core)
      return .of(
        { payload in
          let sequence = unsafe core._withUnsafeGuaranteedRef { $0.sequence }
          if !target.keepPost(payload, sequence) { throw SlotSignal.decide }
        }, type)
    case .lane, .sequence, .relay, .retried: return nil
    }
  }

  /// Calls the handler, or enqueues the payload on its lane. Isolation: core.
  ///
  /// - Returns: False if the handler must be skipped. The caller counts the skip.
  func deliver(
    _ payload: BorrowedPayload, _ owner: (any AnyObject & Sendable)?, _ record: DetailedRecord,
    _ anchor: EventAnchor,
    _ tally: inout Delivery
  ) -> Bool {
    switch self {
    case .lane(let member): member.deliver(payload, &tally)
    case .paced(let target): return target.deliver(payload, owner, &tally)
    case .retried(let retry, let body):
      guard record.claim() else { return false }
      tally.call(record, anchor, retry) { try body(HandlerArguments(payload, owner)) }
    case .sequence(let sink):
      guard record.claim() else { return false }
      sink.deliver(payload, &tally)
    case .relay(let transformed): return transformed.deliver(payload, owner, &tally)
    case .call(let body):
      guard record.claim() else { return false }
      tally.call(record, anchor) { try body(HandlerArguments(payload, owner)) }
    case .intercept(let body):
      guard record.claim() else { return false }
      var decision = InterceptorDecision.proceed
      tally.call(record, anchor) { decision = try body(HandlerArguments(payload, owner)) }
      tally.apply(decision)
      unsafe tally.completion?.interceptors += 1
      tally.completion?.account?.noteIntercepted(stops: decision.isStop)
    }
    return true
  }
}

/// A handler behind a transform, or a forward: transforms the payload, and delivers the result.
@usableFromInline struct TransformedHandler: Sendable {
  let target: DeliveryTarget?
  /// Does what ``HandlerRoute/deliver(_:_:_:_:_:)`` does. If the transform has no result, returns
  /// false before the claim, so that a payload that a filter rejects does not use up a once
  /// handler, and notes that decision by ``Delivery/noteLeftOut()``.
  let deliver: @Sendable (BorrowedPayload, (any AnyObject & Sendable)?, inout Delivery) -> Bool
}

extension Handler {
  /// Returns a handler that converts each incoming payload, and passes the result to this handler.
  ///
  /// The conversion runs synchronously, on the thread that delivers, even if this handler has a
  /// lane.
  ///
  /// - Parameter convert: A closure that returns the payload for this handler, or `nil` to skip the
  ///   handler. Its second argument holds the outcomes of the delivery so far, and its sender
  ///   (``Delivery``).
  @inlinable func converted<Incoming: Sendable>(
    _ convert: @escaping @Sendable (Incoming, borrowing Delivery, _ eventName: String?) -> Payload?
  ) -> Handler<Incoming> {
    Handler<Incoming>(converting: any, nil) { incoming, name, tally, pass in
      guard let payload = convert(incoming.payload(Incoming.self), tally, name) else {
        tally.noteLeftOut()
        return false
      }
      return unsafe withUnsafePointer(to: payload) { unsafe pass(BorrowedPayload($0), &tally) }
    }
  }

  /// Returns a handler that converts each incoming payload by a closure that gets only the payload,
  /// and passes the result to this handler.
  ///
  /// The closure does not get the outcomes of the delivery (``Delivery``), which exist only on
  /// the slow path. So posts can reach the returned handler on the fast path. They do if this
  /// handler has a `viewTarget`. For that it must be inline, have no owner and no modifiers, and
  /// not be a once handler.
  ///
  /// - Parameter convert: Returns the payload for this handler; `nil` to skip the handler.
  @inlinable func viewed<Incoming: Sendable>(_ convert: @escaping @Sendable (Incoming) -> Payload?) -> Handler<Incoming>
  {
    // The closure knows its target, so it does not ask for each payload whether the target is a
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
    return Handler<Incoming>(converting: any, view) { incoming, _, tally, pass in
      guard let payload = convert(incoming.payload(Incoming.self)) else {
        tally.noteLeftOut()
        return false
      }
      return unsafe withUnsafePointer(to: payload) { unsafe pass(BorrowedPayload($0), &tally) }
    }
  }

  /// Converts an incoming payload, and passes the result to the closure. Returns false if there is
  /// no result, or the handler must be skipped.
  @usableFromInline typealias Conversion =
    @Sendable (BorrowedPayload, String?, inout Delivery, (BorrowedPayload, inout Delivery) -> Bool) -> Bool

  @usableFromInline init(converting inner: AnyHandler, _ view: ErasedView?, _ conversion: @escaping Conversion) {
    any = AnyHandler(converting: inner, view, Payload.self, conversion)
  }
}

extension AnyHandler {
  init(
    converting inner: AnyHandler, _ view: ErasedView?, _ outer: PayloadType,
    _ conversion:
      @escaping @Sendable (BorrowedPayload, String?, inout Delivery, (BorrowedPayload, inout Delivery) -> Bool) -> Bool
  ) {
    let (body, type, modifiers) = (inner.body, inner.type, inner.options.modifierBox?.modifiers)
    let makeTransformed: @Sendable (DetailedRecord, EventAnchor) -> TransformedHandler = { record, anchor in
      let route = HandlerRoute(body, type, record, anchor, modifiers)
      return TransformedHandler(target: route.target) { incoming, owner, tally in
        conversion(incoming, anchor.name, &tally) { payload, tally in
          route.deliver(payload, owner, record, anchor, &tally)
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
