import Synchronization

// Locks, and what they hold. A lock that holds nothing is a bit of the handler's record and nothing else. With one that holds, the handler gets a `Hold`: from then
// on its locks are made under the mailbox's lock, and end as items of the mailbox, when all that was sent before has been delivered. Atomics alone lose or
// reorder: who delivers finds the lock, it is unlocked, then the occurrence is held, and the next one overtakes it.

extension Mailbox {
  // MARK: From any thread

  /// Silences a handler; false if it is gone.
  func begin(_ silencer: Silencer, of record: Record, _ holding: Holding) -> Bool {
    // Noted whatever comes out: another thread that ended the handler may not have noted that yet.
    defer { home.noteChange() }
    if holding == .nothing, let before = record.changeUnlessHeld(silencer.begun) { return before & Bit.gone == 0 }
    let backlog = backlog
    return lock.withLock { begin(silencer, of: record, holding, backlog) }
  }

  /// Under the lock: the same with a `Hold`.
  private func begin(_ silencer: Silencer, of record: Record, _ holding: Holding, _ backlog: Backlog) -> Bool {
    guard !record.has(Bit.gone) else { return false }
    let hold = unsafe backlog.holds[record.id] ?? Hold(type)
    unsafe backlog.holds[record.id] = hold
    // If the handler is removed meanwhile, whoever tidies it away finds the bit.
    unsafe hold.locks.begin(silencer, holding)
    let holds = hold.holdsBit
    record.change { silencer.begun(in: $0) & ~Bit.holds | Bit.held | holds }
    return true
  }

  /// Ends a lock of handlers: at once, or, where something may be held, when the turn of that comes.
  ///
  /// - Returns: how many of the handlers are there.
  @discardableResult func end(_ silencer: Silencer, of records: [Record]) -> Int {
    var held: [Record] = []
    let count = records.count { record in
      if let before = record.changeUnlessHeld(silencer.ended) { return before & Bit.gone == 0 }
      held.append(record)
      return !record.has(Bit.gone)
    }
    if !held.isEmpty {
      lock.withLock { for record in held { unsafe backlogReference.load()?.holds[record.id]?.locks.end(silencer) } }
      if mutant(.unlockIsEarly) { for record in held { record.change(silencer.ended) } }
      if put(.release(held, by: Thread.current)) { Flood.slowDown() }
    }
    return count
  }

  /// The event's own lock: a bit in every record, those that join later included.
  func gate(_ isOn: Bool, _ holding: Holding = .nothing) {
    if holding != .nothing { _ = backlog }  // made now, not under the lock
    var held: [Record] = []
    lock.lock()
    let backlog = backlogReference.load()  // under the lock: another lock may have made it a moment ago
    unsafe isGated = isOn
    unsafe backlog?.gateHolding = holding
    forEachRecord { record in
      if isOn {
        if holding == .nothing, record.changeUnlessHeld(Silencer.gate.begun) != nil { return }
        if let backlog { _ = begin(.gate, of: record, holding, backlog) }
      } else if record.changeUnlessHeld(Silencer.gate.ended) == nil {
        unsafe backlog?.holds[record.id]?.locks.end(.gate)
        held.append(record)
      }
    }
    lock.unlock()
    home.noteChange()
    if !held.isEmpty, put(.release(held, by: Thread.current)) { Flood.slowDown() }
  }

  /// Under the lock: a handler joins while the event is locked.
  @usableFromInline func gateNewcomer(_ record: Record) {
    let backlog = backlogReference.load()
    let holding = unsafe backlog?.gateHolding ?? .nothing
    if holding == .nothing, record.changeUnlessHeld(Silencer.gate.begun) != nil { return }
    if let backlog { _ = begin(.gate, of: record, holding, backlog) }
  }

  /// Whether a lock or a `withLocked` of a handler is in force.
  func isLocked(_ record: Record) -> Bool {
    lock.withLock {
      let bits = record.state.load(ordering: .acquiring)
      let locks = bits & Bit.held == 0 ? nil : unsafe backlogReference.load()?.holds[record.id]?.locks
      return (locks?.bits(bits) ?? bits) & Bit.lockedOrInScope != 0
    }
  }

  // MARK: Inside

  /// Holds an occurrence for a handler; false if that is to be skipped.
  @usableFromInline func hold(
    _ row: UnsafeMutablePointer<Row>, _ record: Record, _ payload: Loan, _ tally: inout Tally
  ) -> Bool {
    if tally.isLate {
      tally.isHeldOn = true
      return true
    }
    edge(.holding)
    guard let (hold, holding) = lock.withLock({ unsafe backlog.holds[record.id].map { unsafe ($0, $0.locks.holding) } }) else {
      return false
    }
    let (isKept, replaced) = hold.keep(payload, Held(tally, holding))
    if let replaced {
      unsafe row.pointee.countSkipped()
      watched(replaced.sequence)?.skipped(HandlerToken(record, home))
    }
    if isKept { tally.held &+= 1 }
    return isKept
  }

  /// The turn of locks that have ended: what they held is delivered, unless another lock keeps it.
  @usableFromInline func release(_ records: [Record]) {
    for record in records {
      guard let hold = lock.withLock({ takeEnded(of: record) }) else { continue }
      deliver(hold, to: record)
      lock.lock()
      let isDone = unsafe hold.items.isEmpty && !record.has(Bit.silent) && hold === backlog.holds[record.id]
      if isDone {
        unsafe backlog.holds[record.id] = nil
        unsafe backlog.holds.giveBackRoom()
        record.clear(Bit.held | Bit.holds)
      }
      lock.unlock()
    }
  }

  /// Under the lock.
  private func takeEnded(of record: Record) -> Hold? {
    guard let hold = unsafe backlog.holds[record.id] else { return nil }
    let locks = unsafe hold.locks
    unsafe hold.locks.forgetEnded()
    let holds = hold.holdsBit
    record.change { locks.bits($0) & ~Bit.holds | holds }
    return hold
  }

  private func deliver(_ hold: Hold, to record: Record) {
    while !record.has(Bit.mute), let row = unsafe row(of: record), unsafe !hold.items.isEmpty {
      let held = unsafe hold.items.takeFirst()
      var tally = Tally(held)
      tally.watched = watched(held.sequence)
      if mutant(.heldIsLost) {
      } else if let context = held.context {
        within(context) { _ = unsafe visit(row, hold.items.taken, &tally) }
      } else {
        _ = unsafe visit(row, hold.items.taken, &tally)
      }
      if tally.isHeldOn { unsafe hold.items.untake(held) } else { unsafe hold.items.destroyTaken() }
      tidyRetired()
    }
    if !record.has(Bit.mute) { unsafe record.details?.work?.lane?.resume() }
  }

  private func row(of record: Record) -> UnsafeMutablePointer<Row>? {
    guard unsafe record.slot >= 0 else { return nil }
    let priority = record.details?.options.priority ?? 0
    let list = unsafe record.details?.addressTable
    guard let band = unsafe list.map({ unsafe $0.table.band(of: priority) }) ?? table.band(of: priority) else { return nil }
    return unsafe band.pointee.rows + Int(record.slot)
  }

  /// Inside: of a handler whose life is over, or that only has what is on its lane any more; then its locks go on.
  @usableFromInline func forgetHold(of record: Record, isEnding: Bool = false) {
    lock.lock()
    let holds = unsafe backlogReference.load()?.holds[record.id]
    if !isEnding, let backlog = backlogReference.load() {
      unsafe backlog.holds[record.id] = nil
      unsafe backlog.holds.giveBackRoom()
    }
    lock.unlock()
    // User code may run here: outside of the lock.
    while let holds, unsafe !holds.items.isEmpty { _ = unsafe holds.items.removeLast() }
  }
}
