public import Synchronization

/// What is known of a lane whatever its payload: the handler that it owns, and when it is over.
///
/// A lane owns its handler and not its event: what it holds when the event, or the handler, goes is still decided.
// Safe: what changes is atomic.
@usableFromInline class DeliveryTarget: WaitNode, @unchecked Sendable {
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
    _ = identity.report(failure)  // too late to stop anything
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
  final func reportHeld(_ completion: Completion, at node: WaitNode) {
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
