import Synchronization

// Handlers that are gone: their closures go at once, where user code may run, and their slots when that is cheap.
extension EventCore {
  /// Inside: drops a dead handler's closure now, and its slot when that is cheap.
  @usableFromInline func unregister(_ record: HandlerRecord) {
    guard unsafe record.index >= 0 else { return finishRetiring(record) }  // or it is still pendingHandlers, which sees to it
    tellOf(record, isAdded: false)
    let details = record.details
    if let details, unsafe details.work != nil || details.address != nil || details.keyTable != nil {
      return unregisterDetailed(details)
    }
    record.set(HandlerFlags.removed)
    mutex.lock()
    let slot = unsafe table.remove(record, priority: details?.options.priority ?? 0)
    if let details {
      if details.options.isClocked { unsafe clocked -= 1 }
      if details.options.wantsPrior { unsafe pendingWork.wantPrior -= 1 }
    }
    if unsafe table.dead > 0 { withIdentity { $0.invalidateFastPath() } }
    mutex.unlock()
    if record.has(HandlerFlags.hasHoldingBuffer) { forgetHold(of: record) }
    withIdentity { $0.forgetFailures(of: record) }
    _ = consume slot  // user code may run here: outside of the lock. And the record may go
  }

  /// The same for one that may have a lane: as long as that still holds something, those who look, lock or remove find it in `ending`.
  @usableFromInline func unregisterDetailed(_ details: DetailedRecord) {
    let ending = retireRunner(details)
    let pendingWork = ending == nil ? nil : pendingWork
    mutex.lock()
    let list = unsafe details.keyTable
    let slot: HandlerSlot
    if let list {
      slot = unsafe list.table.remove(details, priority: details.options.priority)
      unsafe details.keyTable = nil
    } else {
      slot = unsafe table.remove(details, priority: details.options.priority)
    }
    if details.options.isClocked { unsafe clocked -= 1 }
    if details.options.wantsPrior { unsafe self.pendingWork.wantPrior -= 1 }
    if unsafe table.dead > 0 { withIdentity { $0.invalidateFastPath() } }
    if let ending, let pendingWork {
      unsafe details.retiringIndex = unsafe Int32(pendingWork.retiringLanes.count)
      unsafe pendingWork.retiringLanes.append(ending)
      ending.skipped.wrappingAdd(slot.skipped.load(ordering: .relaxed), ordering: .relaxed)
    }
    mutex.unlock()
    if let list { forgetIfEmpty(list) }
    if details.has(HandlerFlags.hasHoldingBuffer) { forgetHold(of: details, isEnding: ending != nil) }
    withIdentity { $0.forgetFailures(of: details) }
    _ = consume slot
  }

  /// Inside: gives up how a handler runs, which is in no table any more.
  @usableFromInline func retire(_ record: HandlerRecord) {
    if let details = record.details { _ = retireRunner(details) } else { record.set(HandlerFlags.removed) }
  }

  /// Inside, not under the lock: gives up what is the user's, and ends a lane after what it holds; gives it if that is something.
  @usableFromInline func retireRunner(_ details: DetailedRecord) -> AnyLane? {
    let work = unsafe details.work
    unsafe details.work = nil
    unsafe details.plainLane = nil
    unsafe details.plainSequence = nil
    unsafe details.address = nil
    unsafe details.viewer = nil
    guard let lane = work?.lane else {
      details.set(HandlerFlags.removed)
      return nil
    }
    return lane.finish() ? nil : lane
  }

  /// Inside: a lane that says that it is over.
  @usableFromInline func finishRetiring(_ record: HandlerRecord) {
    guard let details = record.details, unsafe details.retiringIndex >= 0, let pendingWork = pendingWorkReference.load()
    else { return }
    let at = unsafe Int(details.retiringIndex)
    guard unsafe pendingWork.retiringLanes[at].isOver else { return }
    mutex.lock()
    unsafe pendingWork.retiringLanes.swapAt(at, pendingWork.retiringLanes.count - 1)
    let ended = unsafe pendingWork.retiringLanes.popLast()
    if unsafe at < pendingWork.retiringLanes.count {
      unsafe pendingWork.retiringLanes[at].record.retiringIndex = Int32(at)
    }
    unsafe details.retiringIndex = -1
    if unsafe pendingWork.retiringLanes.isEmpty { unsafe pendingWork.retiringLanes = [] }
    mutex.unlock()
    if record.has(HandlerFlags.hasHoldingBuffer) { forgetHold(of: record) }
    withExtendedLifetime(ended) {}  // user code may run here: outside of the lock
  }

  /// Inside: what the occurrence that is being delivered met dead.
  @usableFromInline func noteDead(_ record: HandlerRecord) {
    guard unsafe record.index >= 0, !mutant(.usedUpHandlerStays) || !record.has(HandlerFlags.spent) else { return }
    if unsafe firstDead == nil {
      unsafe firstDead = .passUnretained(record)
    } else {
      unsafe pendingWork.deadRecords.append(record)
    }
  }

  /// Inside, after an occurrence: one that met dead slots leaves none.
  @usableFromInline @inline(__always) func unregisterDead() {
    if let record = unsafe firstDead {
      unsafe firstDead = nil
      unsafe record._withUnsafeGuaranteedRef { unregister($0) }
      unregisterOthers()
    }
    if unsafe table.dead > 0 { compact() }
  }

  @usableFromInline @inline(never) func unregisterOthers() {
    guard let pendingWork = pendingWorkReference.load(), unsafe !pendingWork.deadRecords.isEmpty else { return }
    while let record = unsafe pendingWork.deadRecords.popLast() { unregister(record) }
    if unsafe pendingWork.deadRecords.capacity > 2 * OverloadControl.limit { unsafe pendingWork.deadRecords = [] }
  }

  @usableFromInline @inline(never) func compact() {
    mutex.lock()
    unsafe table.compact()
    mutex.unlock()
  }
}
