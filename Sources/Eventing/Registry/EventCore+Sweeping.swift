// Sweeping. A handler whose owner or key is gone must be unregistered even if nothing is ever sent.
// So each addition checks two handlers. No addition takes long, and all handlers are checked after
// half as many additions as there are handlers.
extension EventCore {
  /// Checks two handlers of the core's own table, and unregisters those whose owner is gone.
  /// Isolation: core.
  @usableFromInline func sweepOwners() {
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
  @usableFromInline func sweepKeys() {
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

  private func hasLostOwner(_ record: HandlerRecord) -> Bool {
    record.details?.options.owner.map { !$0.isAlive } ?? false
  }
}
