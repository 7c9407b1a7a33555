import Synchronization

/// The target of a sequence's handler: it hands payloads over to the buffers of the iterators.
///
/// It schedules nothing, and owns no closure.
// Safe: the hub guards its own state, and the sink has no other.
@usableFromInline final class SequenceSink: DeliveryTarget, @unchecked Sendable {
  let hub: SequenceHub

  init(_ record: DetailedRecord, _ anchor: EventAnchor, _ hub: SequenceHub) {
    self.hub = hub
    _ = hub.recordReference.set(record)
    super.init(record, anchor)
  }

  override var waitingCount: Int { hub.waitingCount }

  /// Takes an occurrence. The occurrence counts as delivered when a buffer has it, not when an
  /// iterator takes it. Isolation: core.
  func deliver(_ payload: BorrowedPayload, _ tally: inout Delivery) {
    if hub.isBounded { return deliverBounded(payload, &tally) }
    hub.give(payload, tally.makeMark())
    countCallAlone()
    tally.report.delivered &+= 1
  }

  /// Takes a post on the fast path. Only for a sequence without a bound. Isolation: core.
  @inline(__always) func deliverPost(_ payload: BorrowedPayload) {
    hub.give(payload, nil)
    countCallAlone()
  }

  /// Takes an occurrence for a sequence with a bound. The occurrence counts as dropped if no buffer
  /// took it. Isolation: core.
  func deliverBounded(_ payload: BorrowedPayload, _ tally: inout Delivery) {
    let (taken, missing) = hub.give(payload, &tally)
    dropped.wrappingAdd(missing, ordering: .relaxed)
    for _ in 0..<missing { tally.observed?.dropped(HandlerToken(record, anchor)) }
    if taken > 0 { countCallAlone() }
    if taken > 0 { tally.report.delivered &+= 1 } else { tally.report.dropped &+= 1 }
  }

  /// Ends the sequence. Returns true: nothing is left for the sink to do. Isolation: core.
  override func finish() -> Bool {
    hub.end(isRemoved: record.has(HandlerFlags.removed))
    record.set(HandlerFlags.spent)  // not `removed`: that flag keeps iterators from taking the payloads that wait
    over.publish(true)
    return true
  }

  /// Does nothing: `quiesce` does not wait for loops.
  override func sendBarrier(_ completion: Completion) {}
}
