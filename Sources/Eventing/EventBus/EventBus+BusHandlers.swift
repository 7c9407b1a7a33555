// The handlers of all events of a bus: `all(as:)`.
extension EventBus {
  /// Adds a handler to all events, and to each event that is made later.
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
    // An event may have been removed from the bus before the handler joined it. Then the removal
    // did not take the handler out of the event.
    let left = Set(events.map { ObjectIdentifier($0) }).subtracting(all.map { ObjectIdentifier($0) })
    for event in events where left.contains(ObjectIdentifier(event)) { handler.leave(event) }
  }

  /// Removes from the bus the bus handler whose token has a certain anchor, without ending it.
  /// Complexity: O(1), amortized.
  func forget(_ anchor: ObjectIdentifier) {
    let gone = mutex.withLock { unsafe everywhere.table.take(anchor) }
    withExtendedLifetime(gone) {}  // released outside of the mutex
  }

  /// Ends a bus handler if its owner has been released. Never called under a mutex.
  func endIfOwnerIsGone(_ handler: BusHandler) {
    if handler.hasLostOwner { handler.end() }
  }

  /// The bus handlers, in the order in which they were added.
  var busHandlers: [BusHandler] { mutex.withLock { unsafe everywhere.table.all } }

  /// Adds a new event to the bus once the event has exactly the bus handlers of the bus. Until
  /// then, lets bus handlers join or leave the event, outside of the mutex, and compares again.
  ///
  /// - Parameters:
  ///   - known: The bus handlers that have joined the event; updated here. Empty at the first call
  ///     for an event.
  ///   - insert: A closure that adds the event to the bus, under `mutex`.
  /// - Returns: The result of `insert`.
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

  /// Removes the bus handlers from events that do not belong to the bus any more: removes from each
  /// event the handler that each bus handler has added there.
  func leave(_ events: [any AnyEvent]) {
    for handler in busHandlers { for event in events { handler.leave(event) } }
  }
}

/// The handlers of all events of a bus.
///
/// A value without synchronization. Guarded by: EventBus.mutex.
struct BusHandlers: Sendable {
  /// The handlers, in the order in which they were added, by the anchors of their tokens.
  var table = OrderedTable<BusHandler>()
  /// The place in `table` that ``nextToSweep()`` looked at last.
  private var swept = 0

  /// Returns the bus handler to check next; after the last one, the first again. A bus handler
  /// whose owner is gone has to end: see ``Sweep``. `nil` if the next place is empty.
  mutating func nextToSweep() -> BusHandler? {
    if table.isEmpty { return nil }
    swept = (swept + 1) % table.placeCount
    return table.element(at: swept)
  }
}
