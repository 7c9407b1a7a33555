import Synchronization

// The slow path for one handler: whether and how to call it. Isolation: core.
extension EventCore {
  @inline(__always) func visit(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ payload: BorrowedPayload, _ delivery: inout Delivery
  ) -> PathNeeded {
    if delivery.observed != nil { return unsafe visitObserved(slot, payload, &delivery) }
    return unsafe visitNow(slot, payload, &delivery)
  }

  @inline(never) func visitObserved(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ payload: BorrowedPayload, _ delivery: inout Delivery
  ) -> PathNeeded {
    let flags = unsafe slot.pointee.flags()
    if flags & HandlerFlags.detailed != 0, let details = unsafe slot.pointee.record.details, details.isHandedOver {
      return unsafe visitHandedOver(slot, details, payload, &delivery)
    }
    if flags & HandlerFlags.slowPathMask == 0, let tracing = delivery.observed?.tracing {
      unsafe callWatched(slot, tracing, payload, &delivery)
      return .fast
    }
    let before = delivery.report.counts
    let path = unsafe visitNow(slot, payload, &delivery)
    if delivery.report.skipped > before.skipped || delivery.report.held > before.held {
      unsafe reportRefusal(of: slot.pointee.record, since: before, &delivery)
    }
    return path
  }

  private func visitHandedOver(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ details: DetailedRecord, _ payload: BorrowedPayload,
    _ delivery: inout Delivery
  ) -> PathNeeded {
    let token = unsafe HandlerToken(slot.pointee.record, anchor)
    let before = delivery.report.counts
    // An inline forward delivers to its target before `visitNow` returns. A trace shows the
    // forward's call as the cause, so the call is reported first.
    let isInlineForward = unsafe details.options.isForward && details.route?.target == nil
    let forwarded = isInlineForward ? delivery.observed?.began(token, isHandOver: true) : nil
    let path = unsafe visitNow(slot, payload, &delivery)
    if delivery.report.delivered > before.delivered {
      if let call = forwarded ?? delivery.observed?.began(token, isHandOver: true) {
        delivery.observed?.ended(call, .returned)
      }
    } else if let forwarded {
      delivery.observed?.withdrew(forwarded)
    }
    reportRefusal(of: token.record, since: before, &delivery)
    return path
  }

  private func reportRefusal(
    of record: HandlerRecord, since before: SendReport.Counts, _ delivery: inout Delivery
  ) {
    if delivery.report.skipped > before.skipped { delivery.observed?.skipped(HandlerToken(record, anchor)) }
    if delivery.report.held > before.held { delivery.observed?.held(HandlerToken(record, anchor)) }
  }

  @inline(__always) func visitNow(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ payload: BorrowedPayload, _ delivery: inout Delivery
  ) -> PathNeeded {
    let flags = unsafe slot.pointee.flags()
    if let path = unsafe slot.pointee.offer(payload, flags, &delivery) { return path }
    if flags == HandlerFlags.needsSlowPath | HandlerFlags.detailed, delivery.observed == nil,
      let view = unsafe Unmanaged<DetailedRecord>.fromOpaque(slot.pointee.held.toOpaque())
        ._withUnsafeGuaranteedRef({ unsafe $0.view })
    {
      do {
        if try view(payload) {
          delivery.report.delivered &+= 1
        } else {
          unsafe slot.pointee.countSkipped()
          delivery.report.skipped &+= 1
          delivery.noteLeftOut()
        }
      } catch {
        unsafe delivery.fail(slot.pointee.record, anchor, error)
      }
      return .slowForSends
    }
    if flags & HandlerFlags.slowPathMask != 0 {
      return unsafe slot.pointee.held._withUnsafeGuaranteedRef { record in
        guard unsafe decide(slot, record, flags, payload, &delivery) else { return .fast }
        let hasPostBody = unsafe record.details?.hasPostBody == true
        return flags == HandlerFlags.needsSlowPath | HandlerFlags.detailed && hasPostBody ? .slowForSends : .slow
      }
    }
    if delivery.observed != nil {
      unsafe delivery.callObserved(slot.pointee.record, anchor) { unsafe try slot.pointee.call(payload) }
      return .fast
    }
    do {
      unsafe try slot.pointee.call(payload)
      delivery.report.delivered &+= 1
    } catch {
      unsafe delivery.fail(slot.pointee.record, anchor, error)
    }
    return .fast
  }

  /// Returns `true` if later sends need the slow path for the handler, `false` if it has ended. A
  /// handler that had already ended isn't counted. An ended handler is unregistered after the
  /// delivery.
  func decide(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ record: HandlerRecord, _ flags: UInt32, _ payload: BorrowedPayload,
    _ delivery: inout Delivery
  ) -> Bool {
    let details = flags & HandlerFlags.detailed == 0 ? nil : record.details
    var owner: (any AnyObject & Sendable)?
    if flags & HandlerFlags.ended != 0 {
      noteDead(record)
      return false
    }
    // The owner of a handler on the main actor is checked there, not here.
    if let box = details?.options.owner, !box.isElsewhere {
      owner = box.object  // retained for the call
      guard owner != nil else {
        if mutant(.orphanStays) { return true }
        record.set(HandlerFlags.removed)
        noteDead(record)
        return false
      }
    }
    // A lock applies to occurrences delivered while it is in force, regardless of when a lane would
    // get to them.
    if flags & HandlerFlags.notCallable != 0 {
      unsafe refuse(slot, record, flags, payload, &delivery)
      return true
    }
    let isTaken: Bool
    if let details, let route = unsafe details.route {
      isTaken = route.deliver(payload, owner, details, anchor, &delivery)
    } else if record.claim() {
      isTaken = true
      delivery.call(record, anchor) { unsafe try slot.pointee.call(payload) }
    } else {
      isTaken = false
    }
    if !isTaken { unsafe refuse(slot, record, slot.pointee.flags(), payload, &delivery) }
    guard flags & HandlerFlags.once != 0, record.has(HandlerFlags.spent) else { return true }
    noteDead(record)  // the delivery still uses the slot, so the handler is unregistered after it
    details?.options.sharedClaim?.endIfSpent()
    return false
  }

  @inline(__always) func refuse(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ record: HandlerRecord, _ flags: UInt32, _ payload: BorrowedPayload,
    _ delivery: inout Delivery
  ) {
    closeFastPath(for: record)
    if flags & HandlerFlags.isHolding != 0 || delivery.isLate, flags & HandlerFlags.lockedAtAll != 0,
      unsafe hold(slot, record, payload, &delivery)
    {
      return
    }
    unsafe slot.pointee.countSkipped()
    if !mutant(.skipIsNotCounted) { delivery.report.skipped &+= 1 }
    if flags & HandlerFlags.lockedAtAll != 0 { delivery.completion?.account?.noteLock() }
  }

  private func closeFastPath(for record: HandlerRecord) {
    withAnchor { $0.invalidateFastPath() }
    if let details = record.details { unsafe details.keyTable?.fastPathEpoch = 0 }
  }

  @inline(never) func skip(
    from start: PriorityBucket.Pointer, _ index: Int, _ delivery: inout Delivery
  ) {
    var next: PriorityBucket.Pointer? = unsafe start
    var from = index
    while let bucket = unsafe next {
      for i in unsafe from..<max(from, Int(bucket.pointee.count)) { unsafe skip(bucket.pointee.slots + i, &delivery) }
      from = 0
      unsafe next = unsafe bucket.pointee.next
    }
  }

  @inline(never) func skip(_ slot: UnsafeMutablePointer<HandlerSlot>, _ delivery: inout Delivery) {
    let record = unsafe slot.pointee.record
    guard isAlive(record) else {
      record.set(HandlerFlags.removed)
      return noteDead(record)
    }
    unsafe slot.pointee.countSkipped()
    delivery.report.skipped &+= 1
    delivery.noteLeftOut()
    delivery.observed?.skipped(HandlerToken(record, anchor))
  }
}
