// Removal takes effect before `remove` returns: from then on no call of the handler is claimed, not
// even for an occurrence that waits on a lane. If the handler comes later in the occurrence that is
// being delivered, it is not called for that occurrence. A call that another thread claimed just
// before may still be running; `quiesce()` waits for it. If the caller is on the handler's own
// serial context (the main actor for `on: .main`, its serial queue, its actor), no call runs
// afterwards.

extension Event {
  /// Removes a handler.
  ///
  /// Removal takes effect before this returns: no later call begins, and queued calls are skipped.
  /// A call that another thread began just before may still be running: ``quiesce()`` waits for it.
  /// No call runs afterwards if this is called on the handler's own serial context: the main actor
  /// for ``MainDelivery/main``, its serial queue, or the actor that it is isolated to.
  ///
  /// **Concurrency.** Callable from any thread or task. It never waits for a handler. If two
  /// threads remove one handler, one of them gets `true`. If more than 256 removals are queued, the
  /// caller also sleeps for some microseconds.
  ///
  /// **Inside a handler,** a handler may remove itself or any other. A removed handler that the
  /// current occurrence has not reached yet is not called for that occurrence, whose report does
  /// not count the handler.
  ///
  /// - Parameter token: The token of the handler.
  /// - Returns: Whether the handler was removed by this call: `false` if it had ended before, or
  ///   belongs to another event.
  /// - Complexity: O(1), amortized over removals. With handlers of several priorities O(log
  ///   priorities), and O(priorities) if it is the last handler of its priority.
  @inlinable @discardableResult public nonisolated func remove(_ token: HandlerToken) -> Bool {
    guard core.owns(token) else { return false }
    return core.remove(token.record)
  }

  /// Removes handlers, as ``remove(_:)`` does.
  ///
  /// - Parameter filter: The handlers to remove: by default all, with forwards and sequences.
  /// - Returns: The number of handlers that this call removed.
  /// - Complexity: O(handlers).
  @discardableResult public nonisolated func removeAll(where filter: HandlerFilter = .all) -> Int {
    core.removeAll(where: filter.isIncluded)
  }
}
