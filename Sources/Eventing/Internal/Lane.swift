public import Synchronization

/// What the lanes of all kinds share: the handler that they own, and one guarded call of it.
///
/// A lane owns its handler and not its event: what it holds when the event, or the handler, goes is still decided.
/// `SerialLane` runs one call at a time, `ParallelLane` several. They are final and never called through this class: a call through a generic
/// class's table is not specialised, and costs several times as much.
// Safe: `body` is touched only by whoever runs the lane's calls, and dropped when there are no more.
@usableFromInline class Lane<Payload: Sendable>: WaitNode, @unchecked Sendable {
  @usableFromInline final let record: DetailedRecord<Payload>
  @usableFromInline final let home: Home
  @usableFromInline @exclusivity(unchecked) final var body: Handler<Payload>.Body?
  @usableFromInline final let over = Atomic<Bool>(false)
  @usableFromInline final let calls = Atomic<Int>(0)
  @usableFromInline final let skipped = Atomic<Int>(0)

  @inlinable init(_ record: DetailedRecord<Payload>, _ home: Home, _ body: Handler<Payload>.Body) {
    self.record = record
    self.home = home
    unsafe self.body = body
    super.init()
  }

  /// No call will begin any more.
  @inlinable final var isOver: Bool { over.load(ordering: .acquiring) }

  /// The owner, held for the call; `isGone` if there was one and it is no more.
  @inlinable final func loadOwner() -> (owner: (any AnyObject & Sendable)?, isGone: Bool) {
    guard let box = record.options.owner else { return (nil, false) }
    let owner = box.object
    if owner == nil { record.set(Bit.removed) }
    return (owner, owner == nil)
  }

  @inlinable final func call(_ payload: Payload, _ owner: (any AnyObject & Sendable)?, _ flight: Flight?) -> Call<Payload> {
    Call(payload, owner, record.options.wantsStamp ? flight?.stamp() : nil)
  }

  @inlinable final func failure(_ error: any Error) -> Outcome {
    .failed(HandlerFailure(HandlerToken(record, home), error, priority: record.options.priority))
  }

  /// One call of a synchronous handler, if the claim allows it.
  @inlinable final func callNow(_ payload: Payload, _ flight: Flight?) -> Outcome {
    let (owner, isGone) = loadOwner()
    guard !isGone, record.claim() else { return .skipped }
    calls.wrappingAdd(1, ordering: .relaxed)
    do {
      switch unsafe body {
      case .direct(let body): try body(payload)
      case .sync(let body): try body(call(payload, owner, flight))
      default: preconditionFailure("a queue runs synchronous handlers only")
      }
      return .delivered
    } catch {
      return failure(error)
    }
  }

  /// One call of an asynchronous handler, if the claim allows it: no suspension lies between the claim and the body's first line.
  @inlinable final func callNow(
    _ payload: Payload, _ flight: Flight?, seat: Seat, on place: isolated (any Actor)?
  ) async -> Outcome {
    let (owner, isGone) = loadOwner()
    let body = unsafe body
    guard !isGone, record.claim() else { return .skipped }
    calls.wrappingAdd(1, ordering: .relaxed)
    let running = seat.begin()
    defer { seat.end() }
    do {
      try await Context.running.withValue(running) {
        switch body {
        case .async(let body): try await body(call(payload, owner, flight))
        case .mainAsync(let body): try await body(call(payload, owner, flight))
        case .isolated(let body):
          guard let actor = record.options.owner?.actor else { preconditionFailure("the owner is the actor") }
          try await body(actor, call(payload, owner, flight))
        default: preconditionFailure("a task runs asynchronous handlers only")
        }
      }
      return .delivered
    } catch {
      return failure(error)
    }
  }

  /// After a call, or none.
  @inlinable final func conclude(_ outcome: Outcome, _ flight: Flight?, at node: WaitNode) {
    if case .skipped = outcome { skipped.wrappingAdd(1, ordering: .relaxed) }
    if let flight, flight.isAwaited { flight.arrive(node, outcome) }
  }

  /// A used-up once handler needs its event no more: its row goes.
  @inlinable final func leaveIfSpent() {
    if record.has(Bit.spent) { home.mailbox?.reclaim(record) }
  }

  /// No call will begin: gives the closure up.
  @usableFromInline final func close() {
    record.set(Bit.removed)
    over.store(true, ordering: .releasing)
    unsafe body = nil
  }
}

/// What waits on a lane.
@usableFromInline enum LaneItem<Payload: Sendable>: Sendable {
  case call(Payload, Flight?)
  case barrier(Flight)
  case end
  /// Taken out.
  case done
}
