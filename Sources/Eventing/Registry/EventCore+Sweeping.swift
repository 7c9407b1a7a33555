// Sweeping. A handler whose owner, or key, is gone must go even if nothing is ever sent. So every add
// looks at two handlers: all are seen after half as many adds, and no add looks at many.
extension EventCore {
  /// Looks at two handlers of all keys, and unregisters those whose owner is gone. Isolation: core.
  @usableFromInline func sweepOwners() {
    Sweep.two {
      mutex.withLock { unsafe table.nextToSweep() }
    } isGone: { record in
      hasLostOwner(record)
    } remove: { record in
      record.set(HandlerFlags.removed)
      unregister(record)
    }
  }

  /// Looks at two handlers of single keys, table by table. Unregisters those whose owner or key is
  /// gone. Isolation: core.
  @usableFromInline func sweepKeys() {
    guard let index = unsafe pendingWork.keyIndex else { return }
    Sweep.two {
      index.nextToSweep(mutex)
    } isGone: { record, keyTable in
      !index.lookup.isReachable(keyTable) || hasLostOwner(record)
    } remove: { record, _ in
      record.set(HandlerFlags.removed)
      unregister(record)
    }
  }

  private func hasLostOwner(_ record: HandlerRecord) -> Bool {
    record.details?.options.owner.map { $0.object == nil } ?? false
  }
}
