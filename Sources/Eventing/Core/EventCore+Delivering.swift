public import Synchronization

// How one occurrence gets to all handlers. All of it happens inside, so the table does not change meanwhile: changes come after the occurrence.
//
// The quick way calls one closure after the other with the payload alone. It is open as long as no handler's state has changed since a walk that found
// nothing to decide: `changes` in the EventIdentity counts such changes, `fastPathEpoch` beside it is what it was before that walk, and they are compared before every
// call. So the quick way reads neither the records nor anything that those who post write. At the first difference or error `deliverSlowPath` goes on:
// it looks at each record. For a post, handlers on lanes are closures as well (`postFastPathEpoch`); for a send they are not, since it waits for them.

/// Where the quick way ended.
@safe @usableFromInline struct DeliveryCursor {
  @usableFromInline let bucket: PriorityBucket.Pointer
  @usableFromInline let slot: UnsafeMutablePointer<HandlerSlot>
  /// What the handler there threw, if it was called.
  @usableFromInline let error: (any Error)?

  @inlinable init(_ bucket: PriorityBucket.Pointer, _ slot: UnsafeMutablePointer<HandlerSlot>, _ error: (any Error)?) {
    unsafe self.bucket = unsafe bucket
    unsafe self.slot = unsafe slot
    self.error = error
  }

  @usableFromInline var index: Int { unsafe slot - bucket.pointee.slots }
}

extension EventCore {
  /// Inside: delivers one occurrence the quick way, as far as that goes.
  ///
  /// - Returns: where to go on, or nil if every handler has been called: then `table.count` of them.
  @inlinable @inline(__always) func deliver(_ payload: BorrowedPayload, isPost: Bool) -> DeliveryCursor? {
    unsafe deliver(payload, isPost: isPost, nil)
  }

  /// The same, with the identity if that is known.
  @inlinable @inline(__always) func deliver(
    _ payload: BorrowedPayload, isPost: Bool, _ known: Unmanaged<EventIdentity>?
  ) -> DeliveryCursor? {
    unsafe sequence &+= 1
    guard let first = unsafe table.first else { return nil }
    // Safe: there has been a handler, so there is a identity, and the core holds it.
    let identity = unsafe known ?? identityReference.lend().unsafelyUnwrapped
    return unsafe callEach(payload, from: first, identity) { unsafe isPost ? $0.postFastPathEpoch : $0.fastPathEpoch }
  }

  /// Inside: calls one handler after the other, as long as no handler's state has changed since the epoch.
  @inlinable @inline(__always) func callEach(
    _ payload: BorrowedPayload, from first: PriorityBucket.Pointer, _ identity: Unmanaged<EventIdentity>,
    epoch: (EventIdentity) -> UInt64
  ) -> DeliveryCursor? {
    var bucket = unsafe first
    while true {
      // Counted up to the end, so that one addition moves the slot and tells whether there are more.
      let end = unsafe bucket.pointee.slots + Int(bucket.pointee.count)
      var index = unsafe -Int(bucket.pointee.count)
      while index != 0 {
        guard
          unsafe identity._withUnsafeGuaranteedRef({ $0.changes.load(ordering: .acquiring) == epoch($0) })
        else {
          return unsafe DeliveryCursor(bucket, end + index, nil)
        }
        do { unsafe try end[index].call(payload) } catch { return unsafe DeliveryCursor(bucket, end + index, error) }
        index &+= 1
      }
      guard let next = unsafe bucket.pointee.next else { return nil }
      unsafe bucket = unsafe next
    }
  }

  /// The same for a post.
  @usableFromInline @inline(never) func postSlowPath(
    _ payload: BorrowedPayload, from position: DeliveryCursor, sender: (any AnyObject & Sendable)?
  ) {
    _ = unsafe deliverSlowPath(payload, from: position, isAwaited: false, sender: sender)
  }

  /// Inside: delivers the same occurrence to the rest of the handlers.
  @usableFromInline @inline(never) func deliverSlowPath(
    _ payload: BorrowedPayload, from position: DeliveryCursor, isAwaited: Bool, sender: (any AnyObject & Sendable)?,
    first: PriorityBucket.Pointer? = nil
  ) -> DeliveryTally {
    var tally = unsafe DeliveryTally(
      sequence: sequence, isAwaited: isAwaited, sender: sender, completion: nil, path: nil, isClocked: clocked > 0)
    var from = position.index
    var called = from
    var earlier = unsafe first ?? table.first
    while let bucket = unsafe earlier, unsafe bucket != position.bucket {
      unsafe called += Int(bucket.pointee.count)
      unsafe earlier = unsafe bucket.pointee.next
    }
    tally.delivered = called
    switch position.error {
    case nil, SlotSignal.decide?: break
    case SlotSignal.stop?:
      tally.delivered += 1
      tally.isStopped = true
      from += 1
    case let error?:
      unsafe tally.fail(position.bucket.pointee.slots[from].record, identity, error)
      from += 1
    }
    if tally.isStopped {
      unsafe skip(from: position.bucket, from, &tally)
      unregisterDead()
      return tally
    }
    unsafe walk(payload, position.bucket, from, isWhole: called == 0 && from == 0, &tally)
    return tally
  }

  /// Inside: an occurrence that was queued, or is submitted.
  @usableFromInline func deliverQueued(_ payload: BorrowedPayload, _ completion: Completion?) {
    if let context = completion?.context {
      within(context) { deliverNow(payload, completion) }
    } else {
      deliverNow(payload, completion)
    }
  }

  /// With the task-local values of the sender.
  @usableFromInline @inline(never) func within(_ context: CarriedContext, _ deliver: () -> Void) {
    context.run(deliver)
  }

  @usableFromInline func deliverNow(_ payload: BorrowedPayload, _ completion: Completion?) {
    if hasDeliveryHooks, deliverWithHooks(payload, completion) { return }
    if completion == nil, !mustEnqueue, let identity = unsafe identityReference.lend() {
      return unsafe deliverPlainly(payload, identity)
    }
    unsafe sequence &+= 1
    let isAwaited = completion?.isAwaited ?? false
    var tally = unsafe DeliveryTally(
      sequence: sequence, isAwaited: isAwaited, sender: completion?.sender, completion: completion,
      path: completion?.path,
      isClocked: clocked > 0)
    if mustEnqueue { tally.observe(livingObservers()) }
    if let first = unsafe table.first { unsafe walk(payload, first, 0, isWhole: true, &tally) }
    if mustEnqueue { tellIfUnheard(payload, tally) }
    if isAwaited { completion?.finishDelivery(tally.report) }
  }

  /// Inside: the identity, if all there is to do with a post is to call handlers. It is asked before several, since those who queue write beside what tells it.
  @usableFromInline var plainIdentity: Unmanaged<EventIdentity>? {
    unsafe mustEnqueue || hasDeliveryHooks ? nil : identityReference.lend()
  }

  /// Inside: a post that was queued, of which nobody wants to know what becomes.
  @usableFromInline func deliverPlainly(_ payload: BorrowedPayload, _ identity: Unmanaged<EventIdentity>) {
    guard let position = unsafe deliver(payload, isPost: true, identity) else { return }
    _ = unsafe deliverSlowPath(payload, from: position, isAwaited: false, sender: nil)
  }

  /// Inside: whether there is more to do with an occurrence than to call handlers.
  @usableFromInline var hasDeliveryHooks: Bool {
    unsafe pendingWorkReference.lend()?._withUnsafeGuaranteedRef { $0.hasDeliveryHooks } ?? false
  }

  /// Inside: does it; true if that was the delivery, too.
  @usableFromInline @inline(never) func deliverWithHooks(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool
  {
    let pendingWork = pendingWork
    if let makeReplayValue = unsafe pendingWork.makeReplayValue, let replayValue = makeReplayValue(payload) {
      unsafe pendingWork.replayValue = consume replayValue
    }
    if let history = pendingWork.history { unsafe history.note(payload, sequence &+ 1, from: completion?.sender) }
    guard let keyIndex = unsafe pendingWork.keyIndex else { return false }
    let isAwaited = completion?.isAwaited ?? false
    let tally = unsafe deliver(
      payload, to: keyIndex.table(for: payload), keyIndex, isForAny: keyIndex.isForAny(payload), isAwaited: isAwaited,
      sender: completion?.sender, completion)
    if isAwaited { completion?.finishDelivery(tally.report) }
    return true
  }

  /// Inside: an occurrence for those who observe the event.
  @usableFromInline func observed(_ sequence: UInt64) -> ObservedOccurrence? {
    unsafe identityReference.load()?.observers.map { ObservedOccurrence(observers: $0, sequence: sequence) }
  }

  /// Inside: goes from a slot on, and looks at each.
  @usableFromInline func walk(
    _ payload: BorrowedPayload, _ start: PriorityBucket.Pointer, _ index: Int, isWhole: Bool,
    _ tally: inout DeliveryTally
  ) {
    let before = withIdentity { $0.changes.load(ordering: .acquiring) }
    var due = isWhole ? PathNeeded.never : .always
    var next: PriorityBucket.Pointer? = unsafe start
    var from = index
    while let bucket = unsafe next {
      let count = unsafe Int(bucket.pointee.count)
      for i in from..<max(from, count) {
        let isDue = unsafe visit(bucket.pointee.slots + i, payload, &tally)
        if isDue.rawValue > due.rawValue { due = isDue }
        if tally.isStopped {
          unsafe skip(from: bucket, i + 1, &tally)
          return unregisterDead()
        }
      }
      from = 0
      unsafe next = unsafe bucket.pointee.next
    }
    unregisterDead()
    withIdentity { identity in
      if due != .always { unsafe identity.postFastPathEpoch = before }
      if due == .never { unsafe identity.fastPathEpoch = before }
    }
  }

  /// Inside: one slot, and whether it has to be looked at next time, too.
  @usableFromInline @inline(__always) func visit(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ payload: BorrowedPayload, _ tally: inout DeliveryTally
  ) -> PathNeeded {
    if tally.observed != nil { return unsafe visitObserved(slot, payload, &tally) }
    return unsafe visitNow(slot, payload, &tally)
  }

  /// The same for those who observe the event.
  @usableFromInline @inline(never) func visitObserved(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ payload: BorrowedPayload, _ tally: inout DeliveryTally
  ) -> PathNeeded {
    let token = unsafe HandlerToken(slot.pointee.record, identity)
    let before = (delivered: tally.delivered, skipped: tally.skipped, held: tally.held)
    let isDue = unsafe visitNow(slot, payload, &tally)
    let details = unsafe slot.pointee.record.details
    if tally.delivered > before.delivered, details?.isHandedOver == true { tally.observed?.began(token).ended(nil) }
    if tally.skipped > before.skipped { tally.observed?.skipped(token) }
    if tally.held > before.held { tally.observed?.held(token) }
    return isDue
  }

  @usableFromInline @inline(__always) func visitNow(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ payload: BorrowedPayload, _ tally: inout DeliveryTally
  ) -> PathNeeded {
    let flags = unsafe slot.pointee.flags()
    if let due = unsafe slot.pointee.offer(payload, flags, &tally) { return due }
    if flags == HandlerFlags.needsSlowPath | HandlerFlags.detailed, tally.observed == nil,
      let viewer = unsafe Unmanaged<DetailedRecord>.fromOpaque(slot.pointee.held.toOpaque())._withUnsafeGuaranteedRef({
        unsafe $0.viewer
      })
    {
      do {
        if try viewer(payload) {
          tally.delivered &+= 1
        } else {
          unsafe slot.pointee.countSkipped()
          tally.skipped &+= 1
        }
      } catch {
        unsafe tally.fail(slot.pointee.record, identity, error)
      }
      return .sends
    }
    if flags & HandlerFlags.slowPathMask != 0 {
      return unsafe slot.pointee.held._withUnsafeGuaranteedRef { record in
        guard unsafe decide(slot, record, flags, payload, &tally) else { return .never }
        return unsafe flags == HandlerFlags.needsSlowPath | HandlerFlags.detailed && record.details?.takesPosts == true
          ? .sends : .always
      }
    }
    if tally.observed != nil {
      unsafe tally.watch(slot.pointee.record, identity) { unsafe try slot.pointee.call(payload) }
      return .never
    }
    do {
      unsafe try slot.pointee.call(payload)
      tally.delivered &+= 1
    } catch {
      unsafe tally.fail(slot.pointee.record, identity, error)
    }
    return .never
  }

  /// Inside: a slot at which there is something to decide. A handler that is gone is none: it is not counted.
  ///
  /// - Returns: whether there will be next time, too.
  @usableFromInline func decide(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ record: HandlerRecord, _ flags: UInt32, _ payload: BorrowedPayload,
    _ tally: inout DeliveryTally
  ) -> Bool {
    let details = flags & HandlerFlags.detailed == 0 ? nil : record.details
    var owner: (any AnyObject & Sendable)?
    if flags & HandlerFlags.ended != 0 {
      noteDead(record)
      return false
    }
    if let box = details?.options.owner {
      owner = box.object  // held for the call
      guard owner != nil else {
        if mutant(.orphanStays) { return true }
        record.set(HandlerFlags.removed)
        noteDead(record)
        return false
      }
    }
    // Locked: skipped now, on a lane too, and not only when it would run there.
    if flags & HandlerFlags.notCallable != 0 {
      unsafe refuse(slot, record, flags, payload, &tally)
      return true
    }
    let isTaken: Bool
    if let details, let work = unsafe details.work {
      isTaken = work.take(payload, owner, details, identity, &tally)
    } else if record.claim() {
      isTaken = true
      tally.call(record, identity) { unsafe try slot.pointee.call(payload) }
    } else {
      isTaken = false
    }
    if !isTaken { unsafe refuse(slot, record, slot.pointee.flags(), payload, &tally) }
    guard flags & HandlerFlags.once != 0, record.has(HandlerFlags.spent) else { return true }
    noteDead(record)  // tidied after the occurrence: the slot is in use
    return false
  }

  /// Inside: a handler that is not to be called now.
  @usableFromInline @inline(__always) func refuse(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ record: HandlerRecord, _ flags: UInt32, _ payload: BorrowedPayload,
    _ tally: inout DeliveryTally
  ) {
    if flags & HandlerFlags.isHolding != 0 || tally.isLate, flags & HandlerFlags.lockedAtAll != 0,
      unsafe hold(slot, record, payload, &tally)
    {
      return
    }
    unsafe slot.pointee.countSkipped()
    if !mutant(.skipIsNotCounted) { tally.skipped &+= 1 }
  }

  /// Inside: what an interceptor stopped is skipped for the handlers that follow.
  @usableFromInline @inline(never) func skip(
    from start: PriorityBucket.Pointer, _ index: Int, _ tally: inout DeliveryTally
  ) {
    var next: PriorityBucket.Pointer? = unsafe start
    var from = index
    while let bucket = unsafe next {
      for i in unsafe from..<max(from, Int(bucket.pointee.count)) { unsafe skip(bucket.pointee.slots + i, &tally) }
      from = 0
      unsafe next = unsafe bucket.pointee.next
    }
  }

  @usableFromInline func skip(_ slot: UnsafeMutablePointer<HandlerSlot>, _ tally: inout DeliveryTally) {
    let record = unsafe slot.pointee.record
    guard isAlive(record) else {
      record.set(HandlerFlags.removed)
      return noteDead(record)
    }
    unsafe slot.pointee.countSkipped()
    tally.skipped &+= 1
    tally.observed?.skipped(HandlerToken(record, identity))
  }
}
