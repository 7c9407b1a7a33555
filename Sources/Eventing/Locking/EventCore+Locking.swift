import Synchronization

// Locks, and the occurrences that they hold.
//
// A lock that holds nothing is a flag of the record. A lock that holds occurrences gives the
// handler a `HoldingBuffer`. From then on, the handler's locks begin under the core's mutex and end
// as items of the mailbox, after everything sent before.
//
// With atomics alone, the thread inside could see a lock that ends right afterwards and put the
// occurrence into the buffer after the end. The next occurrence would then overtake it.
extension EventCore {
  // MARK: From any thread

  package func begin(_ reason: LockReason, of record: HandlerRecord, _ holding: Buffering?) -> Bool {
    let (isAlive, isHolding): (Bool, Bool)
    if holding == nil, let before = record.change(unless: HandlerFlags.hasHoldingBuffer, reason.begun) {
      (isAlive, isHolding) = (before & HandlerFlags.ended == 0, false)
    } else {
      let rareState = rareState
      (isAlive, isHolding) = mutex.withLock { begin(reason, of: record, holding, rareState) }
    }
    // Even if the handler has ended: the thread that ended it may not have called `noteChange()`
    // yet, and no call may begin after the return.
    anchor.noteChange()
    record.details?.delays?.end(givingUp: !isHolding)
    return isAlive
  }

  /// The caller holds `mutex`.
  @inline(never) private func begin(
    _ reason: LockReason, of record: HandlerRecord, _ holding: Buffering?, _ rareState: RareState
  ) -> (isAlive: Bool, isHolding: Bool) {
    guard !record.has(HandlerFlags.ended) else {
      // A spent once handler may be waiting for a second attempt. The lock holds nothing for it but
      // prevents further attempts.
      if record.details?.delays != nil { _ = record.change(unless: HandlerFlags.hasHoldingBuffer, reason.begun) }
      return (false, false)
    }
    let buffer = unsafe rareState.holding.makeBuffer(for: record, type)
    // A thread that unregisters the handler at the same time sees `hasHoldingBuffer` and drops the
    // buffer.
    unsafe buffer.locks.begin(reason, holding)
    let flag = buffer.holdingFlag
    record.change { reason.begun(in: $0) & ~HandlerFlags.isHolding | HandlerFlags.hasHoldingBuffer | flag }
    return (true, flag != 0)
  }

  @discardableResult package func end(_ reason: LockReason, of records: [HandlerRecord]) -> Int {
    var held: [HandlerRecord] = []
    let count = records.count { record in
      if let before = record.change(unless: HandlerFlags.hasHoldingBuffer, reason.ended) {
        return before & HandlerFlags.ended == 0
      }
      held.append(record)
      return !record.has(HandlerFlags.ended)
    }
    if count > 0 { anchor.noteChange() }
    if !held.isEmpty {
      let ends = mutex.withLock {
        held.map { ($0, unsafe rareStateReference.load()?.holding[$0]?.locks.end(reason) ?? 0) }
      }
      if mutant(.unlockIsEarly) { for record in held { record.change(reason.ended) } }
      enqueueEnd(of: reason, ends)
    }
    announceReadiness()
    return count
  }

  package func setEventLock(_ isOn: Bool, _ holding: Buffering? = nil) {
    if holding != nil { _ = rareState }  // created now, not under the mutex
    var held: [(record: HandlerRecord, number: Int)] = []
    var delays: [(delays: HandlerDelays, isHolding: Bool)] = []
    mutex.lock()
    // Read under the mutex so as not to miss a `RareState` that another thread has just created for
    // a holding buffer.
    let rareState = rareStateReference.load()
    unsafe isEventLocked = isOn
    unsafe rareState?.holding.eventLockHolding = holding
    forEachRecord { record in
      if isOn {
        let isHolding = applyEventLock(to: record)
        if let some = record.details?.delays { delays.append((some, isHolding)) }
      } else if record.change(unless: HandlerFlags.hasHoldingBuffer, LockReason.event.ended) == nil {
        held.append((record, unsafe rareState?.holding[record]?.locks.end(.event) ?? 0))
      }
    }
    mutex.unlock()
    anchor.noteChange()
    for (delays, isHolding) in delays { delays.end(givingUp: !isHolding) }
    enqueueEnd(of: .event, held)
    if !isOn { announceReadiness() }
  }

  private func enqueueEnd(of reason: LockReason, _ locks: [(record: HandlerRecord, number: Int)]) {
    if !locks.isEmpty, enqueue(.release(LockEnd(reason, locks), by: Thread.current)) { OverloadControl.slowDown() }
  }

  /// Returns whether the lock holds occurrences. The caller holds `mutex`.
  @discardableResult func applyEventLock(to record: HandlerRecord) -> Bool {
    let rareState = rareStateReference.load()
    let holding = unsafe rareState?.holding.eventLockHolding
    if holding == nil, record.change(unless: HandlerFlags.hasHoldingBuffer, LockReason.event.begun) != nil {
      return false
    }
    return rareState.map { begin(.event, of: record, holding, $0).isHolding } ?? false
  }

  var isLocked: Bool {
    let isLocked = mutex.withLock { unsafe isEventLocked }
    // The thread that locked the event may not have called `noteChange()` yet.
    if isLocked { anchor.noteChange() }
    return isLocked
  }

  func isLocked(_ record: HandlerRecord) -> Bool {
    let isLocked = mutex.withLock {
      let flags = record.state.load(ordering: .acquiring)
      let locks =
        flags & HandlerFlags.hasHoldingBuffer == 0 ? nil : unsafe rareStateReference.load()?.holding[record]?.locks
      return (locks?.flags(flags) ?? flags) & HandlerFlags.lockedByCaller != 0
    }
    // The thread that locked the handler may not have called `noteChange()` yet.
    if isLocked { anchor.noteChange() }
    return isLocked
  }

  // MARK: Inside the core

  /// Returns whether the occurrence is held. If not, the caller skips it. If the occurrence came
  /// from the buffer and stays held, the caller puts it back.
  func hold(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ record: HandlerRecord, _ payload: BorrowedPayload,
    _ delivery: inout Delivery
  ) -> Bool {
    if delivery.isLate {
      delivery.isHeldOn = true
      return true
    }
    syncPoint(.holding)
    guard
      let (buffer, holding) = mutex.withLock({
        unsafe rareState.holding[record].flatMap { buffer in unsafe buffer.locks.holding.map { (buffer, $0) } }
      })
    else { return false }
    let isAnnouncement = unsafe rareState.replayValue.isAnnouncement?(payload) == true
    if isAnnouncement, !record.wantsPrior { return false }
    let held = HeldOccurrence(delivery, holding)
    let (isKept, replaced) = buffer.keep(payload, held, isAnnouncement: isAnnouncement)
    if let replaced {
      unsafe slot.pointee.countSkipped()
      observed(replaced.sequence)?.skipped(HandlerToken(record, anchor))
      // The user asked only for the latest one, so a transport need not redeliver this one.
      if holding == .latest { replaced.completion?.account?.noteLeftOut() }
      replaced.completion?.arrive(buffer, .skipped)
    }
    guard isKept else { return false }
    if let completion = held.completion {
      completion.expect(buffer)
      delivery.enqueued &+= 1
      delivery.observed?.held(HandlerToken(record, anchor))
    } else {
      delivery.report.held &+= 1
    }
    return true
  }

  /// If several locks end together, as the locks of an event do, each occurrence reaches the
  /// handlers in their order, as it would without the lock.
  func release(_ end: LockEnd) {
    var ended = end.locks.compactMap { record, number in
      mutex.withLock { endLock(end.reason, number, of: record) }.map { (record: record, buffer: $0) }
    }
    if ended.count > 1 { ended = ended.sortedUnspecialized { HandlerRecord.isCalledBefore($0.record, $1.record) } }
    deliver(ended)
    for (record, buffer) in ended {
      if !record.has(HandlerFlags.notCallable) { unsafe record.details?.route?.target?.resume() }
      // A pace that resumes may have called a once handler, which is used up by then.
      unregisterDead()
      mutex.lock()
      let isDone =
        unsafe buffer.items.isEmpty && !record.has(HandlerFlags.lockedAtAll) && buffer === rareState.holding[record]
      if isDone {
        _ = unsafe rareState.holding.removeBuffer(of: record)
        record.clear(HandlerFlags.hasHoldingBuffer | HandlerFlags.isHolding)
      }
      mutex.unlock()
    }
    announceReadiness()
  }

  /// `nil` if the lock is gone or has begun again. The caller holds `mutex`.
  private func endLock(_ reason: LockReason, _ number: Int, of record: HandlerRecord) -> HoldingBuffer? {
    guard let buffer = unsafe rareState.holding[record], unsafe buffer.locks.forget(reason, number) else {
      return nil
    }
    let flag = buffer.holdingFlag
    record.change { reason.ended(in: $0) & ~HandlerFlags.isHolding | flag }
    return buffer
  }

  private func deliver(_ held: [(record: HandlerRecord, buffer: HoldingBuffer)]) {
    var order: [(sequence: UInt64, handler: Int)] = []
    for (handler, (_, buffer)) in held.enumerated() {
      for i in unsafe 0..<buffer.items.count { unsafe order.append((buffer.items[i].sequence, handler)) }
    }
    if held.count > 1, !mutant(.heldComesByHandler) {
      order.sort { $0.sequence != $1.sequence ? $0.sequence < $1.sequence : $0.handler < $1.handler }
    }
    var stopped: UInt64?
    var substituted: (sequence: UInt64, payload: SharedPayload)?
    for (sequence, handler) in order {
      let (record, buffer) = held[handler]
      if let (number, substitute) = substituted, number == sequence {
        buffer.replace(sequence, with: substitute.borrowed)
      }
      guard !record.has(HandlerFlags.ended), let slot = unsafe slot(of: record), unsafe !buffer.items.isEmpty,
        unsafe buffer.items.first.sequence == sequence
      else { continue }
      let isReplayed = unsafe buffer.items.first.isReplayed
      if stopped == sequence, !isReplayed {
        unsafe skipHeld(buffer, slot)
      } else if !record.has(HandlerFlags.notCallable) {
        let delivery = unsafe deliverHeld(buffer, slot)
        // An interceptor that was added later doesn't decide about occurrences that others had
        // before it.
        if isReplayed { continue }
        if delivery.isStopped { stopped = sequence }
        if let substitute = delivery.substitute { substituted = (sequence, substitute) }
      }
      unregisterDead()
    }
  }

  private func deliverHeld(_ buffer: HoldingBuffer, _ slot: UnsafeMutablePointer<HandlerSlot>) -> Delivery {
    let held = unsafe buffer.items.takeFirst()
    var delivery = unsafe Delivery(buffer.items.taken, held)
    delivery.observed = observed(held.sequence)
    if mutant(.heldIsLost) {
    } else if let context = held.context {
      within(context) { unsafe visitAlone(slot, buffer.items.taken, &delivery) }
    } else {
      unsafe visitAlone(slot, buffer.items.taken, &delivery)
    }
    if delivery.isHeldOn {
      unsafe buffer.items.untake(held)
    } else {
      unsafe buffer.items.destroyTaken()
      held.completion?.arrive(buffer, delivery.outcomeOfOneHandler)
    }
    buffer.noteCount()
    delivery.payload = nil  // it is gone
    return delivery
  }

  private func skipHeld(_ buffer: HoldingBuffer, _ slot: UnsafeMutablePointer<HandlerSlot>) {
    let held = unsafe buffer.items.takeFirst()
    unsafe buffer.items.destroyTaken()
    buffer.noteCount()
    unsafe slot.pointee.countSkipped()
    observed(held.sequence)?.skipped(unsafe HandlerToken(slot.pointee.record, anchor))
    held.completion?.account?.noteLeftOut()  // an earlier handler decided about this occurrence
    held.completion?.arrive(buffer, .skipped)
  }

  /// - Parameter isRetiring: Whether calls are still waiting on the lane. If so, the buffer stays,
  ///   because its locks apply to those calls.
  func dropHoldingBuffer(of record: HandlerRecord, isRetiring: Bool = false) {
    mutex.lock()
    let rareState = rareStateReference.load()
    let buffer = unsafe isRetiring ? rareState?.holding[record] : rareState?.holding.removeBuffer(of: record)
    mutex.unlock()
    // After unlocking, because destroying a payload may run user code.
    while let buffer, unsafe !buffer.items.isEmpty {
      unsafe buffer.items.remove(at: buffer.items.count - 1).completion?.arrive(buffer, .skipped)
    }
    buffer?.noteCount()
  }
}
