public import Synchronization

/// What is known of a lane whatever its payload: the handler that it owns, and when it is over.
///
/// A lane owns its handler and not its event: what it holds when the event, or the handler, goes is still decided.
// Safe: what changes is atomic.
@usableFromInline class AnyLane: WaitNode, @unchecked Sendable {
  @usableFromInline final let record: DetailedRecord
  @usableFromInline final let identity: EventIdentity
  private let line = CacheLine()
  // What changes with each call, and so has no place beside what those who send read.
  @usableFromInline final let over = Atomic<Bool>(false)
  @usableFromInline final let calls = Atomic<Int>(0)
  @usableFromInline final let skipped = Atomic<Int>(0)
  @usableFromInline final let dropped = Atomic<Int>(0)

  #if DEBUG
    let isReported = Atomic<Bool>(false)
    override var title: String { record.options.name.map { "handler \"\($0)\"" } ?? "handler \(record.id)" }
  #endif

  @usableFromInline init(_ record: DetailedRecord, _ identity: EventIdentity) {
    self.record = record
    self.identity = identity
    super.init()
  }

  /// From inside the event: ends the lane after what it holds; true if that is nothing.
  @usableFromInline func finish() -> Bool { preconditionFailure("a lane is serial or parallel") }
  /// From inside the event: sends a completion through the lane, behind what it holds.
  @usableFromInline func sendBarrier(_ completion: Completion) { preconditionFailure("a lane is serial or parallel") }

  /// From inside the event: the locks of the handler have ended. Goes on if it paused for one that holds.
  func resume() {}

  /// What becomes of a call that the claim did not allow. Under the lane's own lock: `resume` comes after the flags have changed.
  final func refusal(isEnding: Bool) -> ClaimRefusal {
    let flags = record.state.load(ordering: .acquiring)
    if flags & HandlerFlags.ended != 0 { return .skip }
    if flags & HandlerFlags.lockedAtAll == 0 { return .retry }
    return flags & HandlerFlags.isHolding != 0 && !isEnding ? .pause : .skip
  }

  /// No call will begin any more.
  @usableFromInline final var isOver: Bool { over.load(ordering: .acquiring) }

  /// Whether a call may begin: the owner is there, which is then held for the call, and the claim allows it.
  @usableFromInline @inline(__always) final func claim(_ owner: inout (any AnyObject & Sendable)?) -> Bool {
    if let box = record.options.owner {
      owner = box.object
      if owner == nil { record.set(HandlerFlags.removed) }
    }
    return record.claim()
  }

  @usableFromInline @inline(never) final func failure(_ error: any Error) -> HandlerOutcome {
    let failure = HandlerFailure(HandlerToken(record, identity), error, record.options)
    _ = identity.note(failure)  // too late to stop anything
    return .failed(failure)
  }

  @usableFromInline @inline(__always) final func countCall() { calls.wrappingAdd(1, ordering: .relaxed) }
  /// The same where nobody else counts calls at the same time.
  @usableFromInline @inline(__always) final func countCallAlone() {
    calls.store(calls.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
  }

  @usableFromInline final func countSkipped(_ completion: Completion?) {
    skipped.wrappingAdd(1, ordering: .relaxed)
    unsafe completion?.observed?.skipped(HandlerToken(record, identity))
  }

  @usableFromInline final func countDropped(_ completion: Completion?) {
    dropped.wrappingAdd(1, ordering: .relaxed)
    unsafe completion?.observed?.dropped(HandlerToken(record, identity))
  }

  /// A lock holds it.
  final func tellHeld(_ completion: Completion, at node: WaitNode) {
    unsafe completion.observed?.held(HandlerToken(record, identity))
    if completion.isAwaited { completion.arrive(node, .held) }
  }

  /// After a call, or none.
  @usableFromInline @inline(__always) final func conclude(
    _ outcome: HandlerOutcome, _ completion: Completion?, at node: WaitNode
  ) {
    if case .skipped = outcome { countSkipped(completion) }
    if case .dropped = outcome { countDropped(completion) }
    if let completion, completion.isAwaited { completion.arrive(node, outcome) }
    // A used-up once handler needs its event no more: its slot goes.
    if record.has(HandlerFlags.spent), !mutant(.usedUpHandlerStays) { identity.core?.requestUnregistration(record) }
  }
}

/// A lane with its handler's closure, and one guarded call of it.
///
/// `SerialLane` runs one call at a time, `ParallelLane` several. For each occurrence they are called as what they are, which is final: a call through a
/// generic class's table is not specialised, and costs several times as much.
// Safe: `body` is touched only by whoever runs the lane's calls, and dropped when there are no more.
@usableFromInline class Lane: AnyLane, @unchecked Sendable {
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

/// What becomes of a call that the claim did not allow.
@usableFromInline enum ClaimRefusal {
  /// It is skipped.
  case skip
  /// The lock that was in the way is gone.
  case retry
  /// A lock holds it, and all that waits behind it.
  case pause
}

/// What waits on a lane. The payload of a call is beside it.
enum LaneItem: PayloadHeader, Sendable {
  case call(Completion?)
  case barrier(Completion)
  /// The lane ends here.
  case end
  /// Nothing: a barrier that has passed.
  case done

  var hasPayload: Bool { if case .call = self { true } else { false } }
}
