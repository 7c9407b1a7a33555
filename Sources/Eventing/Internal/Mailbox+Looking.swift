import Synchronization

// Looking from outside: under the lock, which keeps the table as it is.
//
// Nothing is released there that could run user code: what is found is kept until the lock is free again.
extension Mailbox {
  /// The records of all handlers that are there, those on their way in too, in the order of the table.
  func records(where isIncluded: (Record, HandlerOptions?) -> Bool) -> [Record] {
    var found: [Record] = []
    lock.lock()
    unsafe table.forEachRow { row in
      let record = unsafe row.pointee.record
      if !record.has(Bit.gone), isIncluded(record, record.details(Payload.self)?.options) { found.append(record) }
    }
    if let backlog = backlogReference.load() {
      for joiner in unsafe backlog.joining {
        guard let record = joiner?.record, !record.has(Bit.gone) else { continue }
        if isIncluded(record, record.details(Payload.self)?.options) { found.append(record) }
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
  func isAlive(_ record: Record) -> Bool {
    guard !record.has(Bit.gone) else { return false }
    guard let owner = record.details(Payload.self)?.options.owner else { return true }
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
    for record in ended { reclaim(record) }
    return count
  }

  /// The event's own lock: a bit in every record, those that join later included.
  func gate(_ isOn: Bool) {
    lock.lock()
    unsafe isGated = isOn
    unsafe table.forEachRow { row in
      if isOn { unsafe row.pointee.record.set(Bit.gated) } else { unsafe row.pointee.record.clear(Bit.gated) }
    }
    lock.unlock()
    home.noteChange()
  }

  /// Inside: what the handlers are like.
  func snapshots(where isIncluded: (HandlerOptions?) -> Bool) -> [HandlerSnapshot] {
    var found: [HandlerSnapshot] = []
    unsafe table.forEachRow { row in
      let record = unsafe row.pointee.record
      let details = record.details(Payload.self)
      guard isIncluded(details?.options), isAlive(record) else { return }
      let lane = unsafe details?.work?.lane
      let skipped = unsafe row.pointee.skipped.load(ordering: .relaxed)
      let offered = unsafe Int(sequence &- record.joined)
      let bits = record.state.load(ordering: .acquiring)
      found.append(
        HandlerSnapshot(
          id: record.id, name: details?.options.name, delivery: (details?.place ?? .inline).description,
          priority: details?.options.priority ?? 0, tags: details?.options.tags ?? [],
          isLocked: bits & Bit.lockedOrInScope != 0, isOnce: bits & Bit.once != 0,
          isOwnerAlive: details?.options.owner.map { _ in true },
          callCount: lane?.calls.load(ordering: .acquiring) ?? offered - skipped,
          skippedCount: skipped + (lane?.skipped.load(ordering: .acquiring) ?? 0), droppedCount: 0))
    }
    return found
  }
}
