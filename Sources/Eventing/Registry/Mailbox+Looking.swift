import Synchronization

// Looking from outside: under the lock, which keeps the table as it is.
//
// Nothing is released there that could run user code: what is found is kept until the lock is free again.
extension Mailbox {
  /// Under the lock, or inside: all rows of all tables.
  @usableFromInline func forEachRow(_ body: (UnsafeMutablePointer<Row>) -> Void) {
    unsafe table.forEachRow(body)
    unsafe backlogReference.load()?.addresses?.forEach { unsafe $0.table.forEachRow(body) }
  }

  /// Under the lock, or inside: the records of the handlers that have joined and may still be called, in the order of the table.
  func forEachRecord(_ body: (Record) -> Void) {
    unsafe forEachRow { row in
      let record = unsafe row.pointee.record
      if unsafe record.slot >= 0 { body(record) }  // a dead row's may be among those that are ending
    }
    forEachEnding { lane in body(lane.record) }
  }

  private func forEachEnding(_ body: (AnyLane) -> Void) {
    guard let backlog = backlogReference.load() else { return }
    for lane in unsafe backlog.ending { body(lane) }
  }

  /// The records of all handlers that are there, those on their way in too, in the order of the table.
  func records(where isIncluded: (Record, HandlerOptions?) -> Bool) -> [Record] {
    var found: [Record] = []
    func include(_ record: Record) {
      if !record.has(Bit.gone), isIncluded(record, record.details?.options) { found.append(record) }
    }
    lock.lock()
    forEachRecord(include)
    if let backlog = backlogReference.load() {
      for joiner in unsafe backlog.joining {
        if let joiner { include(joiner.record) }
      }
    }
    lock.unlock()
    return found
  }

  /// The same without those whose owner is gone.
  func livingRecords(where isIncluded: (Record, HandlerOptions?) -> Bool) -> [Record] {
    records(where: isIncluded).filter(isAlive)
  }

  /// Not under the lock: if this held the last reference to an owner, its `deinit` runs here.
  @usableFromInline func isAlive(_ record: Record) -> Bool {
    guard !record.has(Bit.gone) else { return false }
    guard let owner = record.details?.options.owner else { return true }
    return owner.object != nil
  }

  /// Ends all that match. Returns how many there were; those whose owner is gone do not count.
  func removeAll(where isIncluded: (Record, HandlerOptions?) -> Bool) -> Int {
    var count = 0
    let ended = records(where: isIncluded).filter { record in
      let wasAlive = isAlive(record)
      guard record.end() else { return false }
      if wasAlive { count += 1 }
      return true
    }
    homeReference.load()?.noteChange()  // even for those that another thread ended: it may not have noted that yet
    reclaim(ended)
    return count
  }

  /// Inside: how many occurrences there were for those of a table.
  @usableFromInline func offered(to list: AddressTable?) -> UInt64 {
    if let list { return unsafe list.offered }
    return unsafe backlogReference.load()?.addresses?.offeredToAny ?? sequence
  }

  /// Inside: what the handlers are like.
  func snapshots(
    where isIncluded: (HandlerOptions?) -> Bool, in isInTable: (AddressTable?) -> Bool = { _ in true }
  ) -> [HandlerSnapshot] {
    var found: [HandlerSnapshot] = []
    func include(_ record: Record, _ lane: AnyLane?, skipped: Int) {
      let (options, list) = unsafe (record.details?.options, record.details?.addressTable)
      guard isIncluded(options), isInTable(list), isAlive(record) else { return }
      let bits = record.state.load(ordering: .acquiring)
      let held = bits & Bit.held == 0 ? 0 : lock.withLock { unsafe backlog.holds[record.id]?.items.count ?? 0 }
      found.append(
        HandlerSnapshot(
          id: record.id, name: options?.name, delivery: (record.details?.place ?? .inline).description,
          priority: options?.priority ?? 0, tags: options?.tags ?? [], isLocked: bits & Bit.lockedOrInScope != 0,
          isOnce: bits & Bit.once != 0, isOwnerAlive: options?.owner.map { _ in true },
          callCount: unsafe lane?.calls.load(ordering: .acquiring) ?? Int(offered(to: list) &- record.joined) - skipped - held,
          skippedCount: skipped + (lane?.skipped.load(ordering: .acquiring) ?? 0),
          droppedCount: lane?.dropped.load(ordering: .acquiring) ?? 0, heldCount: held))
    }
    unsafe forEachRow { row in
      let record = unsafe row.pointee.record
      unsafe include(
        record, record.details?.work?.lane, skipped: row.pointee.skipped.load(ordering: .relaxed) + (record.details?.unheard ?? 0))
    }
    forEachEnding { lane in include(lane.record, lane, skipped: 0) }
    return found
  }
}
