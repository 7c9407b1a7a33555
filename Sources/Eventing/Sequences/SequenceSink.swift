import Synchronization

// Safe: the hub guards its own state, and the sink has no other. Isolation of the functions: core.
@usableFromInline final class SequenceSink: DeliveryTarget, @unchecked Sendable {
  let hub: SequenceHub

  init(_ record: DetailedRecord, _ anchor: EventAnchor, _ hub: SequenceHub) {
    self.hub = hub
    _ = hub.recordReference.set(record)
    super.init(record, anchor)
  }

  override var waitingCount: Int { hub.waitingCount }

  func deliver(_ payload: BorrowedPayload, _ delivery: inout Delivery) {
    if hub.isBounded { return deliverBounded(payload, &delivery) }
    hub.give(payload, delivery.makeMark())
    countCallAlone()
    delivery.report.delivered &+= 1
  }

  @inline(__always) func deliverPost(_ payload: BorrowedPayload) {
    hub.give(payload, nil)
    countCallAlone()
  }

  func deliverBounded(_ payload: BorrowedPayload, _ delivery: inout Delivery) {
    let (taken, missing) = hub.give(payload, &delivery)
    dropped.wrappingAdd(missing, ordering: .relaxed)
    for _ in 0..<missing { delivery.observed?.dropped(HandlerToken(record, anchor)) }
    if taken > 0 { countCallAlone() }
    if taken > 0 { delivery.report.delivered &+= 1 } else { delivery.report.dropped &+= 1 }
  }

  override func finish() -> Bool {
    hub.end(isRemoved: record.has(HandlerFlags.removed))
    record.set(HandlerFlags.spent)  // not `removed`: that flag keeps iterators from taking the payloads that wait
    over.publish(true)
    return true
  }

  /// A `quiesce` does not wait for loops.
  override func sendBarrier(_ completion: Completion) {}
}
