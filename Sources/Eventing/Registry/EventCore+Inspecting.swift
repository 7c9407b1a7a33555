import Synchronization

// Looking from outside: under the lock, which keeps the table as it is.
//
// Nothing is released there that could run user code: what is found is kept until the lock is free again.
extension EventCore {
  /// Under the lock, or inside: all slots of all tables.
  @usableFromInline func forEachSlot(_ body: (UnsafeMutablePointer<HandlerSlot>) -> Void) {
    unsafe table.forEachSlot(body)
    unsafe pendingWorkReference.load()?.keyIndex?.forEach { unsafe $0.table.forEachSlot(body) }
  }

  /// Under the lock, or inside: the records of the handlers that have joined and may still be called, in the order of the table.
  func forEachRecord(_ body: (HandlerRecord) -> Void) {
    unsafe forEachSlot { slot in
      let record = unsafe slot.pointee.record
      if unsafe record.index >= 0 { body(record) }  // a dead slot's may be among those that are ending
    }
    forEachRetiring { lane in body(lane.record) }
  }

  private func forEachRetiring(_ body: (AnyLane) -> Void) {
    guard let pendingWork = pendingWorkReference.load() else { return }
    for lane in unsafe pendingWork.retiringLanes { body(lane) }
  }

  /// The records of all handlers that are there, those on their way in too, in the order of the table.
  func records(where isIncluded: (HandlerRecord, HandlerOptions?) -> Bool) -> [HandlerRecord] {
    var found: [HandlerRecord] = []
    func include(_ record: HandlerRecord) {
      if !record.has(HandlerFlags.ended), isIncluded(record, record.details?.options) { found.append(record) }
    }
    mutex.lock()
    forEachRecord(include)
    if let pendingWork = pendingWorkReference.load() {
      for newHandler in unsafe pendingWork.pendingHandlers {
        if let newHandler { include(newHandler.record) }
      }
    }
    mutex.unlock()
    return found
  }

  /// The same without those whose owner is gone.
  func livingRecords(where isIncluded: (HandlerRecord, HandlerOptions?) -> Bool) -> [HandlerRecord] {
    records(where: isIncluded).filter(isAlive)
  }

  /// Not under the lock: if this held the last reference to an owner, its `deinit` runs here.
  @usableFromInline func isAlive(_ record: HandlerRecord) -> Bool {
    guard !record.has(HandlerFlags.ended) else { return false }
    guard let owner = record.details?.options.owner else { return true }
    return owner.object != nil
  }

  /// Ends all that match. Returns how many there were; those whose owner is gone do not count.
  func removeAll(where isIncluded: (HandlerRecord, HandlerOptions?) -> Bool) -> Int {
    var count = 0
    let ended = records(where: isIncluded).filter { record in
      let wasAlive = isAlive(record)
      guard record.deactivate() else { return false }
      if wasAlive { count += 1 }
      return true
    }
    identityReference.load()?.noteChange()  // even for those that another thread ended: it may not have noted that yet
    requestUnregistration(ended)
    return count
  }

  /// Inside: how many occurrences there were for those of a table.
  @usableFromInline func offered(to list: KeyTable?) -> UInt64 {
    if let list { return unsafe list.offered }
    return unsafe pendingWorkReference.load()?.keyIndex?.offeredToAny ?? sequence
  }

  /// Inside: what the handlers are like.
  func snapshots(
    where isIncluded: (HandlerOptions?) -> Bool, in isInTable: (KeyTable?) -> Bool = { _ in true }
  ) -> [HandlerSnapshot] {
    var found: [HandlerSnapshot] = []
    func include(_ record: HandlerRecord, _ lane: AnyLane?, skipped: Int) {
      let (options, list) = unsafe (record.details?.options, record.details?.keyTable)
      guard isIncluded(options), isInTable(list), isAlive(record) else { return }
      let flags = record.state.load(ordering: .acquiring)
      let held =
        flags & HandlerFlags.hasHoldingBuffer == 0
        ? 0 : mutex.withLock { unsafe pendingWork.holds[record.id]?.items.count ?? 0 }
      found.append(
        HandlerSnapshot(
          id: record.id, name: options?.name, delivery: (record.details?.place ?? .inline).description,
          priority: options?.priority ?? 0, tags: options?.tags ?? [],
          isLocked: flags & HandlerFlags.lockedByCaller != 0,
          isOnce: flags & HandlerFlags.once != 0, hasOwner: options?.owner != nil,
          callCount: unsafe lane?.calls.load(ordering: .acquiring) ?? Int(offered(to: list) &- record.offeredBefore)
            - skipped - held,
          skippedCount: skipped + (lane?.skipped.load(ordering: .acquiring) ?? 0),
          droppedCount: lane?.dropped.load(ordering: .acquiring) ?? 0, heldCount: held))
    }
    unsafe forEachSlot { slot in
      let record = unsafe slot.pointee.record
      unsafe include(
        record, record.details?.work?.lane,
        skipped: slot.pointee.skipped.load(ordering: .relaxed) + (record.details?.unheard ?? 0))
    }
    forEachRetiring { lane in include(lane.record, lane, skipped: 0) }
    return found
  }
}
