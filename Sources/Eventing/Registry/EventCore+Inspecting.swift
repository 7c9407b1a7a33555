import Synchronization

// The table changes only under the mutex, so a thread outside the core may walk it while holding
// the mutex. Releasing the last reference to a record could run user code, so the results retain
// each record, and none is released under the mutex.
extension EventCore {
  // Callers of the next two functions are inside the core or hold `mutex`.
  @inline(never) package func forEachSlot(_ body: (UnsafeMutablePointer<HandlerSlot>) -> Void) {
    unsafe table.forEachSlot(body)
    unsafe rareStateReference.load()?.keyIndex?.tables.forEach { unsafe $0.table.forEachSlot(body) }
  }

  @inline(never) func forEachRecord(_ body: (HandlerRecord) -> Void) {
    unsafe forEachSlot { slot in
      let record = unsafe slot.pointee.record
      // The handlers of dead slots may have retiring lanes, which `forEachRetiring` visits.
      if unsafe record.index >= 0 { body(record) }
    }
    forEachRetiring { lane in body(lane.record) }
  }

  @inline(never) private func forEachRetiring(_ body: (DeliveryTarget) -> Void) {
    guard let rareState = rareStateReference.load() else { return }
    for lane in unsafe rareState.retiringTargets { body(lane) }
  }

  // Isolation: core.
  func slot(of record: HandlerRecord) -> UnsafeMutablePointer<HandlerSlot>? {
    guard unsafe record.index >= 0 else { return nil }
    let details = record.details
    let priority = details?.options.priority ?? 0
    let bucket = unsafe details?.keyTable.map { unsafe $0.table.bucket(of: priority) } ?? table.bucket(of: priority)
    guard let bucket = unsafe bucket else { return nil }
    return unsafe bucket.pointee.slots + Int(record.index)
  }

  /// Weak references are read and keys compared after unlocking, by the caller.
  @inline(never) func candidates(orBetweenAttempts: Bool = false) -> [HandlerFilter.Candidate] {
    var found: [HandlerFilter.Candidate] = []
    var isSomeEnded = false
    @inline(never) func include(_ record: HandlerRecord) {
      let isBetweenAttempts =
        orBetweenAttempts && record.details?.delays != nil && !record.has(HandlerFlags.removed)
      guard !record.has(HandlerFlags.ended) || isBetweenAttempts else { return isSomeEnded = true }
      found.append(.init(record: record, key: unsafe record.details?.key))
    }
    mutex.lock()
    forEachRecord(include)
    unsafe rareStateReference.load()?.mailbox.newHandlers.forEach { include($0.record) }
    mutex.unlock()
    // The thread that deactivated an ended handler may not have called `noteChange()` yet.
    if isSomeEnded { withAnchor { $0.noteChange() } }
    return found
  }

  func records(
    orBetweenAttempts: Bool = false, where isIncluded: (HandlerFilter.Candidate) -> Bool
  ) -> [HandlerRecord] {
    let found = candidates(orBetweenAttempts: orBetweenAttempts)
    let records = found.filter(isIncluded).map(\.record)
    // Without keys, they are already in their order.
    return found.contains { $0.key != nil } ? records.sortedUnspecialized(by: HandlerRecord.isCalledBefore) : records
  }

  @inline(never) package func livingRecords(where isIncluded: (HandlerFilter.Candidate) -> Bool) -> [HandlerRecord] {
    records(where: isIncluded).filter(isAlive)
  }

  /// Never called under the mutex, because this briefly retains the owner or key and may end up
  /// running its `deinit`.
  @inline(never) package func isAlive(_ record: HandlerRecord) -> Bool {
    guard !record.has(HandlerFlags.ended) else {
      withAnchor { $0.noteChange() }  // the thread that deactivated the handler may not have called this yet
      return false
    }
    return !record.hasLostOwner && record.details.map(isReachable) ?? true
  }

  /// Never called under the mutex: see ``isAlive(_:)``.
  private func isReachable(_ details: DetailedRecord) -> Bool {
    guard let rareState = rareStateReference.load() else { return true }
    let key = mutex.withLock { unsafe rareState.keyIndex == nil ? nil : details.key }
    return (key as? KeyBox<ObjectKey>)?.key.isAlive ?? true
  }

  /// The caller is inside the core or holds `mutex`.
  package func offered(to keyTable: KeyTable?) -> UInt64 {
    keyTable?.offered.load(ordering: .relaxed) ?? sequence
  }

  // Isolation: core.
  @inline(never) func snapshots(where filter: HandlerFilter = .all) -> [HandlerSnapshot] {
    var found: [HandlerSnapshot] = []
    let anchor = anchorReference.load()
    let failedCounts = anchor?.failureReference.load()?.counts ?? [:]
    let observers = unsafe anchor?.observers
    @inline(never) func include(_ record: HandlerRecord, _ target: DeliveryTarget?, skipped: Int) {
      let lane = target?.counters
      let (options, keyTable) = unsafe (record.details?.options, record.details?.keyTable)
      guard filter.isIncluded(.init(record: record, key: keyTable?.key)), isAlive(record) else { return }
      let flags = record.state.load(ordering: .acquiring)
      let held =
        flags & HandlerFlags.hasHoldingBuffer == 0
        ? 0 : mutex.withLock { unsafe rareState.holding.count(for: record) }
      found.append(
        HandlerSnapshot(
          token: HandlerToken(record, self.anchor), name: options?.name,
          delivery: (record.details?.place ?? .inline).description,
          key: unsafe (record.details?.key as? any HashableKey)?.hashableKey,
          priority: options?.priority ?? 0, tags: options?.tags ?? [],
          isLocked: flags & HandlerFlags.lockedByCaller != 0,
          isOnce: flags & HandlerFlags.once != 0, hasOwner: options?.owner != nil,
          waitingCount: lane?.waitingCount ?? 0,
          runningFor: observers?.oldestCall(of: record.id),
          attempt: lane?.attempt.load(ordering: .relaxed) ?? 1,
          callCount: lane?.calls.load(ordering: .acquiring)
            ?? Int(offered(to: keyTable) &- record.offeredBefore.load(ordering: .relaxed))
            - skipped - held, failedCount: failedCounts[record.id] ?? 0,
          skippedCount: skipped + (lane?.skipped.load(ordering: .acquiring) ?? 0),
          droppedCount: lane?.dropped.load(ordering: .acquiring) ?? 0, heldCount: held))
    }
    unsafe forEachSlot { slot in
      let record = unsafe slot.pointee.record
      unsafe include(
        record, record.details?.route?.target,
        skipped: slot.pointee.skipped.load(ordering: .relaxed)
          + (record.details?.otherSkips.load(ordering: .relaxed) ?? 0)
      )
    }
    forEachRetiring { lane in include(lane.record, lane, skipped: lane.record.otherSkips.load(ordering: .relaxed)) }
    if unsafe rareStateReference.load()?.keyIndex != nil {
      found = found.sortedUnspecialized { ($1.priority, $0.id) < ($0.priority, $1.id) }
    }
    return found
  }
}

extension HandlerRecord {
  static func isCalledBefore(_ a: HandlerRecord, _ b: HandlerRecord) -> Bool {
    let (first, second) = (a.details?.options.priority ?? 0, b.details?.options.priority ?? 0)
    return (second, a.id) < (first, b.id)
  }
}
