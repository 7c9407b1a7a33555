// Sweeping. A handler whose owner or key is gone must be unregistered even if nothing is ever sent.
// So each addition checks two handlers. No addition takes long, and all handlers are checked after
// half as many additions as there are handlers. If keys are objects, sends check handlers, too:
// every eighth search for the handlers of an object. A `quiesce()` checks the handlers of all keys.
extension EventCore {
  /// Checks two handlers of the core's own table, and unregisters those whose owner is gone.
  /// Isolation: core.
  func sweepOwners() {
    Sweep.step {
      mutex.withLock { unsafe table.nextToSweep() }
    } isGone: { record in
      hasLostOwner(record)
    } remove: { record in
      record.set(HandlerFlags.removed)
      unregister(record)
    }
  }

  /// Checks two handlers that listen to one key each, and unregisters those whose owner or key is
  /// gone. Each key has a table of handlers. The checks go through one table, over several calls,
  /// and then through the next. Isolation: core.
  func sweepKeys() {
    guard let index = unsafe pendingWork.keyIndex else { return }
    Sweep.step {
      index.nextToSweep(mutex)
    } isGone: { record, keyTable in
      !index.lookup.isReachable(keyTable) || hasLostOwner(record)
    } remove: { record, _ in
      record.set(HandlerFlags.removed)
      unregister(record)
    }
  }

  /// Unregisters all handlers that listen to one key each and whose owner or key is gone, so that
  /// nothing waits for them. Isolation: core.
  ///
  /// - Complexity: O(handlers of all keys).
  func sweepAllKeys() {
    guard let index = unsafe pendingWorkReference.load()?.keyIndex else { return }
    var found: [(record: HandlerRecord, keyTable: KeyTable)] = []
    index.forEach { keyTable in
      unsafe keyTable.table.forEachSlot { slot in
        if unsafe slot.pointee.record.index >= 0 { unsafe found.append((slot.pointee.record, keyTable)) }
      }
    }
    for (record, keyTable) in found where !index.lookup.isReachable(keyTable) || hasLostOwner(record) {
      record.set(HandlerFlags.removed)
      unregister(record)
    }
  }

  private func hasLostOwner(_ record: HandlerRecord) -> Bool {
    record.details?.options.owner.map { !$0.isAlive } ?? false
  }
}
