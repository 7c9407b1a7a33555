// A handler whose owner or key is gone must be unregistered even if nothing is ever sent, so each
// addition checks two handlers. All of them have been checked after half as many additions as there
// are handlers. If keys are objects, every eighth search for an object's handlers also checks two.
// `quiesce()` checks the handlers of all keys.
// Isolation: core.
extension EventCore {
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

  func sweepKeys() {
    guard let index = unsafe rareState.keyIndex else { return }
    Sweep.step {
      index.nextToSweep(mutex)
    } isGone: { record, keyTable in
      !index.lookup.isReachable(keyTable) || hasLostOwner(record)
    } remove: { record, _ in
      record.set(HandlerFlags.removed)
      unregister(record)
    }
  }

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

/// `isGone` and `remove` may run a user's `deinit`, so neither is called under a mutex.
enum Sweep {
  static var count: Int { 2 }

  static func step<Element>(_ next: () -> Element?, isGone: (Element) -> Bool, remove: (Element) -> Void) {
    for _ in 0..<count {
      if let element = next(), isGone(element) { remove(element) }
    }
  }
}
