import Synchronization

// Locks, and what they hold. A lock that holds nothing is a bit of the handler's record and nothing else. With one that holds, the handler gets a `HoldingBuffer`: from then
// on its locks are made under the core's lock, and end as items of the core, when all that was sent before has been delivered. Atomics alone lose or
// reorder: who delivers finds the lock, it is unlocked, then the occurrence is held, and the next one overtakes it.

extension EventCore {
  // MARK: From any thread

  /// Silences a handler; false if it is gone.
  func begin(_ lockReason: LockReason, of record: HandlerRecord, _ holding: Holding) -> Bool {
    // Noted whatever comes out: another thread that ended the handler may not have noted that yet.
    defer { identity.noteChange() }
    if holding == .nothing, let before = record.changeUnlessHeld(lockReason.begun) {
      return before & HandlerFlags.ended == 0
    }
    let pendingWork = pendingWork
    return mutex.withLock { begin(lockReason, of: record, holding, pendingWork) }
  }

  /// Under the lock: the same with a `HoldingBuffer`.
  private func begin(_ lockReason: LockReason, of record: HandlerRecord, _ holding: Holding, _ pendingWork: PendingWork)
    -> Bool
  {
    guard !record.has(HandlerFlags.ended) else { return false }
    let hold = unsafe pendingWork.holds[record.id] ?? HoldingBuffer(type)
    unsafe pendingWork.holds[record.id] = hold
    // If the handler is removed meanwhile, whoever tidies it away finds the bit.
    unsafe hold.locks.begin(lockReason, holding)
    let holds = hold.holdsBit
    record.change { lockReason.begun(in: $0) & ~HandlerFlags.isHolding | HandlerFlags.hasHoldingBuffer | holds }
    return true
  }

  /// Ends a lock of handlers: at once, or, where something may be held, when the turn of that comes.
  ///
  /// - Returns: how many of the handlers are there.
  @discardableResult func end(_ lockReason: LockReason, of records: [HandlerRecord]) -> Int {
    var held: [HandlerRecord] = []
    let count = records.count { record in
      if let before = record.changeUnlessHeld(lockReason.ended) { return before & HandlerFlags.ended == 0 }
      held.append(record)
      return !record.has(HandlerFlags.ended)
    }
    if !held.isEmpty {
      mutex.withLock {
        for record in held { unsafe pendingWorkReference.load()?.holds[record.id]?.locks.end(lockReason) }
      }
      if mutant(.unlockIsEarly) { for record in held { record.change(lockReason.ended) } }
      if enqueue(.release(held, by: Thread.current)) { OverloadControl.slowDown() }
    }
    return count
  }

  /// The event's own lock: a bit in every record, those that join later included.
  func eventLock(_ isOn: Bool, _ holding: Holding = .nothing) {
    if holding != .nothing { _ = pendingWork }  // made now, not under the lock
    var held: [HandlerRecord] = []
    mutex.lock()
    let pendingWork = pendingWorkReference.load()  // under the lock: another lock may have made it a moment ago
    unsafe isEventLocked = isOn
    unsafe pendingWork?.eventLockHolding = holding
    forEachRecord { record in
      if isOn {
        if holding == .nothing, record.changeUnlessHeld(LockReason.eventLock.begun) != nil { return }
        if let pendingWork { _ = begin(.eventLock, of: record, holding, pendingWork) }
      } else if record.changeUnlessHeld(LockReason.eventLock.ended) == nil {
        unsafe pendingWork?.holds[record.id]?.locks.end(.eventLock)
        held.append(record)
      }
    }
    mutex.unlock()
    identity.noteChange()
    if !held.isEmpty, enqueue(.release(held, by: Thread.current)) { OverloadControl.slowDown() }
  }

  /// Under the lock: a handler joins while the event is locked.
  @usableFromInline func applyEventLock(_ record: HandlerRecord) {
    let pendingWork = pendingWorkReference.load()
    let holding = unsafe pendingWork?.eventLockHolding ?? .nothing
    if holding == .nothing, record.changeUnlessHeld(LockReason.eventLock.begun) != nil { return }
    if let pendingWork { _ = begin(.eventLock, of: record, holding, pendingWork) }
  }

  /// Whether a lock or a `withLocked` of a handler is in force.
  func isLocked(_ record: HandlerRecord) -> Bool {
    mutex.withLock {
      let flags = record.state.load(ordering: .acquiring)
      let locks =
        flags & HandlerFlags.hasHoldingBuffer == 0 ? nil : unsafe pendingWorkReference.load()?.holds[record.id]?.locks
      return (locks?.flags(flags) ?? flags) & HandlerFlags.lockedByCaller != 0
    }
  }

  // MARK: Inside

  /// Holds an occurrence for a handler; false if that is to be skipped.
  @usableFromInline func hold(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ record: HandlerRecord, _ payload: BorrowedPayload,
    _ tally: inout DeliveryTally
  ) -> Bool {
    if tally.isLate {
      tally.isHeldOn = true
      return true
    }
    syncPoint(.holding)
    guard
      let (hold, holding) = mutex.withLock({ unsafe pendingWork.holds[record.id].map { unsafe ($0, $0.locks.holding) } }
      )
    else {
      return false
    }
    let (isKept, replaced) = hold.keep(payload, HeldOccurrence(tally, holding))
    if let replaced {
      unsafe slot.pointee.countSkipped()
      observed(replaced.sequence)?.skipped(HandlerToken(record, identity))
    }
    if isKept { tally.held &+= 1 }
    return isKept
  }

  /// The turn of locks that have ended: what they held is delivered, unless another lock keeps it.
  @usableFromInline func release(_ records: [HandlerRecord]) {
    for record in records {
      guard let hold = mutex.withLock({ takeEnded(of: record) }) else { continue }
      deliver(hold, to: record)
      mutex.lock()
      let isDone =
        unsafe hold.items.isEmpty && !record.has(HandlerFlags.lockedAtAll) && hold === pendingWork.holds[record.id]
      if isDone {
        unsafe pendingWork.holds[record.id] = nil
        unsafe pendingWork.holds.giveBackRoom()
        record.clear(HandlerFlags.hasHoldingBuffer | HandlerFlags.isHolding)
      }
      mutex.unlock()
    }
  }

  /// Under the lock.
  private func takeEnded(of record: HandlerRecord) -> HoldingBuffer? {
    guard let hold = unsafe pendingWork.holds[record.id] else { return nil }
    let locks = unsafe hold.locks
    unsafe hold.locks.forgetEnded()
    let holds = hold.holdsBit
    record.change { locks.flags($0) & ~HandlerFlags.isHolding | holds }
    return hold
  }

  private func deliver(_ hold: HoldingBuffer, to record: HandlerRecord) {
    while !record.has(HandlerFlags.notCallable), let slot = unsafe slot(of: record), unsafe !hold.items.isEmpty {
      let held = unsafe hold.items.takeFirst()
      var tally = DeliveryTally(held)
      tally.observed = observed(held.sequence)
      if mutant(.heldIsLost) {
      } else if let context = held.context {
        within(context) { _ = unsafe visit(slot, hold.items.taken, &tally) }
      } else {
        _ = unsafe visit(slot, hold.items.taken, &tally)
      }
      if tally.isHeldOn { unsafe hold.items.untake(held) } else { unsafe hold.items.destroyTaken() }
      unregisterDead()
    }
    if !record.has(HandlerFlags.notCallable) { unsafe record.details?.work?.lane?.resume() }
  }

  private func slot(of record: HandlerRecord) -> UnsafeMutablePointer<HandlerSlot>? {
    guard unsafe record.index >= 0 else { return nil }
    let priority = record.details?.options.priority ?? 0
    let list = unsafe record.details?.keyTable
    guard let bucket = unsafe list.map({ unsafe $0.table.bucket(of: priority) }) ?? table.bucket(of: priority) else {
      return nil
    }
    return unsafe bucket.pointee.slots + Int(record.index)
  }

  /// Inside: of a handler whose life is over, or that only has what is on its lane any more; then its locks go on.
  @usableFromInline func forgetHold(of record: HandlerRecord, isEnding: Bool = false) {
    mutex.lock()
    let holds = unsafe pendingWorkReference.load()?.holds[record.id]
    if !isEnding, let pendingWork = pendingWorkReference.load() {
      unsafe pendingWork.holds[record.id] = nil
      unsafe pendingWork.holds.giveBackRoom()
    }
    mutex.unlock()
    // User code may run here: outside of the lock.
    while let holds, unsafe !holds.items.isEmpty { _ = unsafe holds.items.removeLast() }
  }
}
