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

  /// Removes several handlers one by one, as ``remove(_:)-(HandlerToken)`` does.
  ///
  /// - Parameter tokens: The tokens of the handlers. Tokens of other events are ignored.
  /// - Returns: The number of handlers that this call removed.
  @discardableResult public nonisolated func remove(_ tokens: [HandlerToken]) -> Int { tokens.count { remove($0) } }

  /// Removes all handlers with a name, as ``remove(_:)-(HandlerToken)`` does.
  ///
  /// - Returns: The number of handlers that this call removed.
  /// - Complexity: O(handlers).
  @discardableResult public nonisolated func remove(named name: String) -> Int { core.removeAll(where: named(name)) }

  /// Removes all handlers with one of several names, as ``remove(_:)-(HandlerToken)`` does.
  ///
  /// - Returns: The number of handlers that this call removed.
  /// - Complexity: O(handlers × names).
  @discardableResult public nonisolated func remove(named names: [String]) -> Int {
    core.removeAll(where: named(names))
  }

  /// Removes all handlers with a tag, as ``remove(_:)-(HandlerToken)`` does.
  ///
  /// - Returns: The number of handlers that this call removed.
  /// - Complexity: O(handlers).
  @discardableResult public nonisolated func remove(tagged tag: String) -> Int { core.removeAll(where: tagged(tag)) }

  /// Removes all handlers of an owner, as ``remove(_:)-(HandlerToken)`` does.
  ///
  /// Forwards do not count as handlers of their target: see `removeForwarding(to:)`.
  ///
  /// - Parameter owner: The owner, compared by identity.
  /// - Returns: The number of handlers that this call removed. In the owner's own `deinit` that is
  ///   0, because its handlers have ended already.
  /// - Complexity: O(handlers).
  @discardableResult public nonisolated func remove(ownedBy owner: AnyObject) -> Int {
    core.removeAll { $1?.isForward != true && $1?.owner?.mayBe(owner) == true }
  }

  /// Removes all handlers, forwards and sequences, as ``remove(_:)-(HandlerToken)`` does.
  ///
  /// - Returns: The number of handlers that this call removed.
  /// - Complexity: O(handlers).
  @discardableResult public nonisolated func removeAll() -> Int { core.removeAll { _, _ in true } }
}

// Predicates that select the handlers of a bulk operation.
extension Event {
  nonisolated func named(_ name: String) -> (HandlerRecord, HandlerOptions?) -> Bool { { $1?.name == name } }
  nonisolated func named(_ names: [String]) -> (HandlerRecord, HandlerOptions?) -> Bool {
    { $1?.name.map(names.contains) ?? false }
  }
  nonisolated func tagged(_ tag: String) -> (HandlerRecord, HandlerOptions?) -> Bool {
    { $1?.tags?.contains(tag) ?? false }
  }
  nonisolated func owned(_ owner: AnyObject) -> (HandlerRecord, HandlerOptions?) -> Bool {
    // Compares addresses alone, because the caller holds `core.mutex`. `livingRecords` checks
    // afterwards that the owner is alive.
    { $1?.isForward != true && $1?.owner?.mayBe(owner) == true }
  }
}
