extension EventBus: HandlerRegistry {
  /// The handlers of the events that the bus has at this moment. A method for all handlers, such as
  /// ``HandlerRegistry/lockAll(where:holding:)``, does not reach an event that is made later.
  ///
  /// The token of a handler of all events (``all(as:)``) can be removed and looked for,
  /// but not locked.
  public var handlerTable: HandlerTable { HandlerTable(content: .bus(self)) }

  func event(of token: HandlerToken, orBusHandler: Bool) -> (any AnyEvent)? {
    if let event = all.first(where: { $0.core.owns(token) }) { return event }
    return orBusHandler ? mutex.withLock { unsafe everywhere.table[ObjectIdentifier(token.anchor)] }?.registration : nil
  }

  func removeHandlers(where filter: HandlerFilter) -> Int {
    var count = 0
    for handler in busHandlers where !handler.isForward {
      count += handler.registration.core.removeAll(where: filter.isIncluded)
    }
    let events = all
    let filter = events.reduce(filter) { $1.isOfProtocol ? $0 && !.forwarding(toObject: $1) : $0 }
    for event in events { count += event.core.removeAll(where: filter.isIncluded) }
    return count
  }
}
