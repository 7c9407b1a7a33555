extension EventBus {
  /// Removes a handler of one event of the bus, or a handler of all events: see
  /// ``Event/remove(_:)``.
  ///
  /// - Returns: Whether this call ended the handler: `false` if it had ended before, or does not
  ///   belong to the bus.
  /// - Complexity: O(*n* log *n*) for *n* events of the bus.
  @discardableResult public func remove(_ token: HandlerToken) -> Bool {
    for event in all {
      if let event = event as? any BusEvent, event.core.owns(token) { return event.core.remove(token.record) }
    }
    return mutex.withLock { unsafe everywhere.table[ObjectIdentifier(token.anchor)] }?.end() ?? false
  }
}
