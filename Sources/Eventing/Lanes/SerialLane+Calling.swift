// The methods that claim, make, count and report one call of a serial lane.

extension SerialLane {
  /// Claims a call, like ``claim(_:)``, but faster if ``isPlain`` says that the handler has no
  /// owner. In that case this method does not load the handler's options, in which ``claim(_:)``
  /// looks for the owner.
  @inline(__always) func claimed(_ owner: inout (any AnyObject & Sendable)?) -> Bool {
    isPlain ? record.claim() : claim(&owner)
  }

  /// Calls a synchronous handler. If the completion has task-local values, which are those of the
  /// sender, binds them during the call. If it has observers, tells them of the call.
  @inline(__always) func callNow(
    _ payload: BorrowedPayload, _ body: LaneHandler?, _ completion: Completion?
  )
    -> HandlerOutcome
  {
    if let completion, completion.isBound {
      callBound(payload, body, completion)
    } else {
      callNow(payload, body, nil as ObservedOccurrence?)
    }
  }

  /// Calls an asynchronous handler. If the completion has task-local values, which are those of the
  /// sender, binds them during the call. If it has observers, tells them of the call.
  @inline(__always) func callNow(
    _ payload: BorrowedPayload, _ body: LaneHandler?, _ completion: Completion?, on place: isolated (any Actor)?
  ) async -> HandlerOutcome {
    guard let completion, completion.isBound else {
      return await callNow(payload, body, nil as ObservedOccurrence?, on: place)
    }
    return await callBound(payload, body, completion, on: place)
  }

  @inline(never) func callBound(
    _ payload: BorrowedPayload, _ body: LaneHandler?, _ completion: Completion
  )
    -> HandlerOutcome
  {
    if let traced = unsafe completion.observed?.withNewCell() {
      return CallCell.$current.withValue(traced.cell) {
        guard let context = completion.context else { return callNow(payload, body, traced) }
        return context.run { callNow(payload, body, traced) }
      }
    }
    let observed = unsafe completion.observed
    guard let context = completion.context else { return callNow(payload, body, observed) }
    return context.run { callNow(payload, body, observed) }
  }

  @inline(never) func callBound(
    _ payload: BorrowedPayload, _ body: LaneHandler?, _ completion: Completion, on place: isolated (any Actor)?
  ) async -> HandlerOutcome {
    if let traced = unsafe completion.observed?.withNewCell() {
      return await CallCell.$current.withValue(traced.cell) {
        _ = place
        guard let context = completion.context else { return await callNow(payload, body, traced, on: place) }
        return await context.run(on: place) {
          _ = place
          return await callNow(payload, body, traced, on: place)
        }
      }
    }
    let observed = unsafe completion.observed
    guard let context = completion.context else { return await callNow(payload, body, observed, on: place) }
    return await context.run(on: place) {
      _ = place
      return await callNow(payload, body, observed, on: place)
    }
  }

  /// Calls, for a serial lane, a synchronous closure that takes the payload alone.
  ///
  /// The handler has no owner. The occurrence has no observers and no task-local values.
  @inline(__always) func callDirect(_ payload: BorrowedPayload, _ body: ErasedHandler)
    -> HandlerOutcome
  {
    guard record.claim() else { return .skipped }
    countCallAlone()
    defer { countEnd() }
    do { try body(payload) } catch { return failure(error, payload) }
    return .delivered
  }

  /// Calls, for a serial lane, an asynchronous closure that takes the payload alone.
  ///
  /// The handler has no owner. The occurrence has no observers and no task-local values.
  @inline(__always) func callDirect(
    _ payload: BorrowedPayload, _ body: ErasedAsyncHandler, on place: isolated (any Actor)?
  ) async -> HandlerOutcome {
    guard record.claim() else { return .skipped }
    countCallAlone()
    defer { countEnd() }
    do { try await body(payload, on: place) } catch { return failure(error, payload) }
    return .delivered
  }

  /// Calls a synchronous handler if the claim allows it.
  @inline(__always) func callNow(
    _ payload: BorrowedPayload, _ body: LaneHandler?, _ observed: ObservedOccurrence?
  )
    -> HandlerOutcome
  {
    var owner: (any AnyObject & Sendable)?
    guard claimed(&owner), let body else { return .skipped }
    countCall()
    defer { countEnd() }
    let call = observed?.began(HandlerToken(record, anchor), on: self)
    do {
      if isPlain, body.isDirect { try body.direct(payload) } else { try callDetailed(payload, owner, body) }
      if let call { observed?.ended(call, of: HandlerToken(record, anchor), nil) }
      return .delivered
    } catch {
      if let call { observed?.ended(call, of: HandlerToken(record, anchor), error) }
      return failure(error, payload)
    }
  }

  /// Calls the closure of a synchronous handler. The caller has claimed the call.
  @inline(never) func callDetailed(
    _ payload: BorrowedPayload, _ owner: (any AnyObject & Sendable)?, _ body: LaneHandler
  ) throws {
    switch body.body {
    case .direct(let body): try body(payload)
    case .sync(let body): try body(HandlerArguments(payload, owner))
    default: preconditionFailure("a queue runs synchronous handlers only")
    }
  }

  /// Calls an asynchronous handler if the claim allows it.
  ///
  /// No suspension lies between the claim and the first line of the closure. So a handler that was
  /// removed on its own actor is not called afterwards.
  @inline(never) func callNow(
    _ payload: BorrowedPayload, _ body: LaneHandler?, _ observed: ObservedOccurrence?, on place: isolated (any Actor)?
  ) async -> HandlerOutcome {
    var owner: (any AnyObject & Sendable)?
    guard claimed(&owner), let body else { return .skipped }
    countCall()
    defer { countEnd() }
    let call = observed?.began(HandlerToken(record, anchor), on: self)
    do {
      switch body.body {
      case .directAsync(let body): try await body(payload, on: place)
      case .async(let body): try await body(HandlerArguments(payload, owner))
      case .mainAsync(let body): try await body(HandlerArguments(payload, owner))
      case .isolated(let body):
        guard let actor = record.options.owner?.actor else { preconditionFailure("the owner is the actor") }
        try await body(actor, HandlerArguments(payload, owner))
      default: preconditionFailure("a task runs asynchronous handlers only")
      }
      if let call { observed?.ended(call, of: HandlerToken(record, anchor), nil) }
      return .delivered
    } catch {
      if let call { observed?.ended(call, of: HandlerToken(record, anchor), error) }
      return failure(error, payload)
    }
  }

  /// Ends the lane: no call begins any more. Releases the closure, so never called under a mutex.
  func close() {
    record.set(HandlerFlags.removed)
    over.publish(true)
    unsafe body = nil
  }

  /// Ends the lane when its last item is done, and asks the event to unregister the handler. Called
  /// by the lane itself, if it still had work when the core told it to finish.
  func closeLate() {
    close()
    anchor.core?.requestUnregistration(record)
  }
}
