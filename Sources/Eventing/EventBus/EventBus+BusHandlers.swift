// The handlers of all events of a bus: `all(as:)`.
extension EventBus {
  func add(_ handler: BusHandler) {
    let (found, first, second) = mutex.withLock {
      let (first, second) = unsafe (everywhere.nextToSweep(), everywhere.nextToSweep())
      unsafe everywhere.table.insert(handler, ObjectIdentifier(handler.token.anchor))
      return (numbered, first, second)
    }
    let events = Self.inOrder(found)
    if let first { endIfOwnerIsGone(first) }
    if let second { endIfOwnerIsGone(second) }
    for event in events { handler.join(event) }
    // The removal of an event that the handler had not joined yet did not take the handler out.
    let left = Set(events.map { ObjectIdentifier($0) }).subtracting(all.map { ObjectIdentifier($0) })
    for event in events where left.contains(ObjectIdentifier(event)) { handler.leave(event) }
  }

  func forget(_ anchor: ObjectIdentifier) {
    let gone = mutex.withLock { unsafe everywhere.table.take(anchor) }
    withExtendedLifetime(gone) {}  // released outside of the mutex
  }

  /// Never called under a mutex.
  func endIfOwnerIsGone(_ handler: BusHandler) {
    if handler.hasLostOwner { handler.end() }
  }

  var busHandlers: [BusHandler] { mutex.withLock { unsafe everywhere.table.all } }

  /// Runs `insert` under `mutex` once the event has exactly the bus handlers of the bus. Until
  /// then, lets bus handlers join or leave the event, outside of the mutex.
  func publish<Result>(
    _ made: any AnyEvent, _ known: inout [BusHandler], _ insert: () -> Result
  ) -> Result {
    while true {
      var current: [BusHandler] = []
      let result = mutex.withLock { () -> Result? in
        if unsafe everywhere.table.isEmpty && known.isEmpty { return insert() }
        current = unsafe everywhere.table.all
        return current.elementsEqual(known, by: ===) ? insert() : nil
      }
      if let result { return result }
      for handler in current where !known.contains(where: { $0 === handler }) { handler.join(made) }
      for handler in known where !current.contains(where: { $0 === handler }) { handler.leave(made) }
      known = current
    }
  }

  func leave(_ events: [any AnyEvent]) {
    for handler in busHandlers { for event in events { handler.leave(event) } }
  }
}

/// Guarded by: EventBus.mutex.
struct BusHandlers: Sendable {
  var table = OrderedTable<BusHandler>()
  private var swept = 0

  mutating func nextToSweep() -> BusHandler? {
    if table.isEmpty { return nil }
    swept = (swept + 1) % table.placeCount
    return table.element(at: swept)
  }
}
