import Synchronization

// Handlers that are gone: their closures go at once, where user code may run, and their rows when that is cheap.
extension Mailbox {
  /// Inside: drops a dead handler's closure now, and its row when that is cheap.
  @usableFromInline func tidy(_ record: Record) {
    guard unsafe record.slot >= 0 else { return forgetEnding(record) }  // or it is still joining, which sees to it
    tellOf(record, isAdded: false)
    let details = record.details
    if let details, unsafe details.work != nil || details.address != nil || details.addressTable != nil { return tidyWork(details) }
    record.set(Bit.removed)
    lock.lock()
    let row = unsafe table.remove(record, priority: details?.options.priority ?? 0)
    if let details {
      if details.options.isClocked { unsafe clocked -= 1 }
      if details.options.wantsPrior { unsafe backlog.wantPrior -= 1 }
    }
    if unsafe table.dead > 0 { withHome { $0.unsettle() } }
    lock.unlock()
    if record.has(Bit.held) { forgetHold(of: record) }
    withHome { $0.forgetFailures(of: record) }
    _ = consume row  // user code may run here: outside of the lock. And the record may go
  }

  /// The same for one that may have a lane: as long as that still holds something, those who look, lock or remove find it in `ending`.
  @usableFromInline func tidyWork(_ details: DetailedRecord) {
    let ending = endWork(details)
    let backlog = ending == nil ? nil : backlog
    lock.lock()
    let list = unsafe details.addressTable
    let row: Row
    if let list {
      row = unsafe list.table.remove(details, priority: details.options.priority)
      unsafe details.addressTable = nil
    } else {
      row = unsafe table.remove(details, priority: details.options.priority)
    }
    if details.options.isClocked { unsafe clocked -= 1 }
    if details.options.wantsPrior { unsafe self.backlog.wantPrior -= 1 }
    if unsafe table.dead > 0 { withHome { $0.unsettle() } }
    if let ending, let backlog {
      unsafe details.endingSlot = unsafe Int32(backlog.ending.count)
      unsafe backlog.ending.append(ending)
      ending.skipped.wrappingAdd(row.skipped.load(ordering: .relaxed), ordering: .relaxed)
    }
    lock.unlock()
    if let list { forgetIfEmpty(list) }
    if details.has(Bit.held) { forgetHold(of: details, isEnding: ending != nil) }
    withHome { $0.forgetFailures(of: details) }
    _ = consume row
  }

  /// Inside: gives up how a handler runs, which is in no table any more.
  @usableFromInline func retire(_ record: Record) {
    if let details = record.details { _ = endWork(details) } else { record.set(Bit.removed) }
  }

  /// Inside, not under the lock: gives up what is the user's, and ends a lane after what it holds; gives it if that is something.
  @usableFromInline func endWork(_ details: DetailedRecord) -> AnyLane? {
    let work = unsafe details.work
    unsafe details.work = nil
    unsafe details.plainLane = nil
    unsafe details.plainSequence = nil
    unsafe details.address = nil
    unsafe details.viewer = nil
    guard let lane = work?.lane else {
      details.set(Bit.removed)
      return nil
    }
    return lane.finish() ? nil : lane
  }

  /// Inside: a lane that says that it is over.
  @usableFromInline func forgetEnding(_ record: Record) {
    guard let details = record.details, unsafe details.endingSlot >= 0, let backlog = backlogReference.load() else { return }
    let at = unsafe Int(details.endingSlot)
    guard unsafe backlog.ending[at].isOver else { return }
    lock.lock()
    unsafe backlog.ending.swapAt(at, backlog.ending.count - 1)
    let ended = unsafe backlog.ending.popLast()
    if unsafe at < backlog.ending.count { unsafe backlog.ending[at].record.endingSlot = Int32(at) }
    unsafe details.endingSlot = -1
    if unsafe backlog.ending.isEmpty { unsafe backlog.ending = [] }
    lock.unlock()
    if record.has(Bit.held) { forgetHold(of: record) }
    withExtendedLifetime(ended) {}  // user code may run here: outside of the lock
  }

  /// Inside: what the occurrence that is being delivered met dead.
  @usableFromInline func noteRetired(_ record: Record) {
    guard unsafe record.slot >= 0, !mutant(.usedUpHandlerStays) || !record.has(Bit.spent) else { return }
    if unsafe firstRetired == nil { unsafe firstRetired = .passUnretained(record) } else { unsafe backlog.retired.append(record) }
  }

  /// Inside, after an occurrence: one that met dead rows leaves none.
  @usableFromInline @inline(__always) func tidyRetired() {
    if let record = unsafe firstRetired {
      unsafe firstRetired = nil
      unsafe record._withUnsafeGuaranteedRef { tidy($0) }
      tidyOthers()
    }
    if unsafe table.dead > 0 { compact() }
  }

  @usableFromInline @inline(never) func tidyOthers() {
    guard let backlog = backlogReference.load(), unsafe !backlog.retired.isEmpty else { return }
    while let record = unsafe backlog.retired.popLast() { tidy(record) }
    if unsafe backlog.retired.capacity > 2 * Flood.limit { unsafe backlog.retired = [] }
  }

  @usableFromInline @inline(never) func compact() {
    lock.lock()
    unsafe table.compact()
    lock.unlock()
  }
}
