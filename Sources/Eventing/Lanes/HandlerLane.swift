import Synchronization

/// A lane with its handler's closure, and one guarded call of it.
///
/// `SerialLane` runs one call at a time, `ParallelLane` several. For each occurrence they are called as what they are, which is final: a call through a
/// generic class's table is not specialised, and costs several times as much.
// Safe: `body` is touched only by whoever runs the lane's calls, and dropped when there are no more.
@usableFromInline class HandlerLane: DeliveryTarget, @unchecked Sendable {
  @usableFromInline @exclusivity(unchecked) final var body: LaneHandler?
  /// It has no owner.
  @usableFromInline final let isPlain: Bool
  @usableFromInline final let type: PayloadType

  @usableFromInline init(_ record: DetailedRecord, _ identity: EventIdentity, _ body: HandlerBody, _ type: PayloadType)
  {
    unsafe self.body = LaneHandler(body, type)
    self.type = type
    isPlain = record.options.owner == nil
    super.init(record, identity)
  }

  /// The same as `claim`, in one look where there is no owner.
  @usableFromInline @inline(__always) final func claimed(_ owner: inout (any AnyObject & Sendable)?) -> Bool {
    isPlain ? record.claim() : claim(&owner)
  }

  // MARK: One call

  /// One call, with what the sender has sent along.
  @usableFromInline @inline(__always) final func callNow(
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

  @usableFromInline @inline(__always) final func callNow(
    _ payload: BorrowedPayload, _ body: LaneHandler?, _ completion: Completion?, on place: isolated (any Actor)?
  ) async -> HandlerOutcome {
    guard let completion, completion.isBound else {
      return await callNow(payload, body, nil as ObservedOccurrence?, on: place)
    }
    return await callBound(payload, body, completion, on: place)
  }

  @usableFromInline @inline(never) final func callBound(
    _ payload: BorrowedPayload, _ body: LaneHandler?, _ completion: Completion
  )
    -> HandlerOutcome
  {
    let observed = unsafe completion.observed
    guard let context = completion.context else { return callNow(payload, body, observed) }
    return context.run { callNow(payload, body, observed) }
  }

  @usableFromInline @inline(never) final func callBound(
    _ payload: BorrowedPayload, _ body: LaneHandler?, _ completion: Completion, on place: isolated (any Actor)?
  ) async -> HandlerOutcome {
    let observed = unsafe completion.observed
    guard let context = completion.context else { return await callNow(payload, body, observed, on: place) }
    return await context.run(on: place) {
      _ = place
      return await callNow(payload, body, observed, on: place)
    }
  }

  /// One call of a handler that has no owner and is a closure of the payload, for which nobody looks and nothing is carried.
  @usableFromInline @inline(__always) final func callDirect(_ payload: BorrowedPayload, _ body: ErasedHandler)
    -> HandlerOutcome
  {
    guard record.claim() else { return .skipped }
    countCallAlone()
    do { try body(payload) } catch { return failure(error) }
    return .delivered
  }

  @usableFromInline @inline(__always) final func callDirect(
    _ payload: BorrowedPayload, _ body: ErasedAsyncHandler, on place: isolated (any Actor)?
  ) async -> HandlerOutcome {
    guard record.claim() else { return .skipped }
    countCallAlone()
    do { try await body(payload, on: place) } catch { return failure(error) }
    return .delivered
  }

  /// One call of a synchronous handler, if the claim allows it.
  @usableFromInline @inline(__always) final func callNow(
    _ payload: BorrowedPayload, _ body: LaneHandler?, _ observed: ObservedOccurrence?
  )
    -> HandlerOutcome
  {
    var owner: (any AnyObject & Sendable)?
    guard claimed(&owner), let body else { return .skipped }
    countCall()
    let call = observed?.began(HandlerToken(record, identity))
    do {
      if isPlain, body.isDirect { try body.direct(payload) } else { try callDetailed(payload, owner, body) }
      call?.ended(nil)
      return .delivered
    } catch {
      call?.ended(error)
      return failure(error)
    }
  }

  @usableFromInline @inline(never) final func callDetailed(
    _ payload: BorrowedPayload, _ owner: (any AnyObject & Sendable)?, _ body: LaneHandler
  ) throws {
    switch body.body {
    case .direct(let body): try body(payload)
    case .sync(let body): try body(HandlerArguments(payload, owner))
    default: preconditionFailure("a queue runs synchronous handlers only")
    }
  }

  /// One call of an asynchronous handler, if the claim allows it: no suspension lies between the claim and the body's first line.
  ///
  /// Compiled once, not for each type of a payload: of the code that a client gets for one, it was a quarter.
  @usableFromInline @inline(never) final func callNow(
    _ payload: BorrowedPayload, _ body: LaneHandler?, _ observed: ObservedOccurrence?, on place: isolated (any Actor)?
  ) async -> HandlerOutcome {
    var owner: (any AnyObject & Sendable)?
    guard claimed(&owner), let body else { return .skipped }
    countCall()
    let call = observed?.began(HandlerToken(record, identity))
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
      call?.ended(nil)
      return .delivered
    } catch {
      call?.ended(error)
      return failure(error)
    }
  }

  /// No call will begin: gives the closure up.
  @usableFromInline final func close() {
    record.set(HandlerFlags.removed)
    over.publish(true)
    unsafe body = nil
  }

  /// The same at the end of what it held: its event need not remember the lane any more.
  @usableFromInline final func closeLate() {
    close()
    identity.core?.requestUnregistration(record)
  }
}
