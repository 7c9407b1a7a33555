import Synchronization

/// What a sequence's handler does with an occurrence.
@usableFromInline final class SequenceSink: DeliveryTarget, @unchecked Sendable {
  @usableFromInline let hub: SequenceHub

  init(_ record: DetailedRecord, _ identity: EventIdentity, _ hub: SequenceHub) {
    self.hub = hub
    super.init(record, identity)
  }

  /// Delivered is what an iterator will find, or would, if it comes in time: loops are not waited for.
  @usableFromInline func take(_ payload: BorrowedPayload, _ tally: inout DeliveryTally) {
    if hub.isBounded { return takeBounded(payload, &tally) }
    hub.give(payload)
    countCallAlone()
    tally.report.delivered &+= 1
  }

  /// Its part in a post for which there was nothing to decide, if it is unbounded.
  @usableFromInline @inline(__always) func takePost(_ payload: BorrowedPayload) {
    hub.give(payload)
    countCallAlone()
  }

  @usableFromInline func takeBounded(_ payload: BorrowedPayload, _ tally: inout DeliveryTally) {
    let (taken, missing) = hub.give(payload, &tally)
    dropped.wrappingAdd(missing, ordering: .relaxed)
    for _ in 0..<missing { tally.observed?.dropped(HandlerToken(record, identity)) }
    if taken > 0 { countCallAlone() }
    if taken > 0 { tally.report.delivered &+= 1 } else { tally.report.dropped &+= 1 }
  }

  @usableFromInline override func finish() -> Bool {
    hub.end(isRemoved: record.has(HandlerFlags.removed))
    record.set(HandlerFlags.spent)  // not removed: what waits can still be taken
    over.publish(true)
    return true
  }

  /// `quiesce` does not wait for loops.
  @usableFromInline override func sendBarrier(_ completion: Completion) {}
}
