// The lock of a handler, each `withLocked` and the lock of the event are independent: ending one
// leaves the others in force.

extension HandlerRegistry {
  // MARK: One handler

  /// Locks a handler: it isn't called until it is unlocked.
  ///
  /// The lock is in force when this returns. Calls that have already begun, or that another thread
  /// has just decided to make, may still run; ``quiesce()`` waits for them. The handler keeps its
  /// place in the order, and a once handler isn't used up.
  ///
  /// While the lock is in force, occurrences are skipped for the handler or, with `holding`, held
  /// until the lock ends. Locking a locked handler again only changes `holding`: a single
  /// ``unlock(_:)`` ends the lock.
  ///
  /// You can call this from any thread and inside any handler, including the locked one. The lock
  /// is independent of ``withLocked(_:holding:_:)`` and of the event's own lock,
  /// ``lock(holding:)``: ending one leaves the others in force.
  ///
  /// **Held occurrences** are delivered when the lock ends, before any newer ones. Reports count
  /// them as held, and no `send` waits for them. Occurrences that don't fit count as skipped. If
  /// the handler is removed, its held occurrences are discarded.
  ///
  /// - If the locks of several handlers end together, as with ``unlock()``, the held occurrences
  ///   are delivered one at a time, each to the handlers in their order, interceptors included. If
  ///   an interceptor stops one, it is skipped for later handlers.
  /// - If several locks of a handler are in force, the `holding` of the one that began last
  ///   applies.
  /// - A lock that begins while held occurrences are being delivered holds the rest of them.
  /// - If the handler has a lane, ending the lock puts all held occurrences onto the lane in one
  ///   go, and they wait there like any others.
  /// - If a lock with `holding` begins while occurrences are waiting on the lane, they stay there
  ///   and don't count toward the number in `holding`.
  ///
  /// - Parameters:
  ///   - token: The token of the handler.
  ///   - holding: Which occurrences the lock holds: all with ``Buffering/unbounded``, the first
  ///     ones with ``Buffering/oldest(_:)``, the last ones with ``Buffering/newest(_:)`` or
  ///     ``Buffering/latest``. ``Buffering/suspendingSender(_:)`` works like `oldest` here: no send
  ///     waits for a lock. With `nil`, none are held.
  /// - Returns: Whether the handler exists.
  /// - Complexity: O(1).
  @discardableResult public nonisolated func lock(_ token: HandlerToken, holding: Buffering? = nil) -> Bool {
    handlerTable.with(token) { $0.begin(.handler, of: token.record, holding) && $0.isAlive(token.record) }
  }

  /// Ends the lock of a handler, if it has one.
  ///
  /// A running ``withLocked(_:holding:_:)`` and the lock of the event stay in force. Held
  /// occurrences are delivered at once if the event is idle. Otherwise they are delivered after
  /// everything that was sent before the call, and before anything sent later.
  ///
  /// - Parameter token: The token of the handler.
  /// - Returns: Whether the handler exists.
  /// - Complexity: O(1), and the delivery of held occurrences.
  @discardableResult public nonisolated func unlock(_ token: HandlerToken) -> Bool {
    handlerTable.with(token) { $0.isAlive(token.record) && $0.end(.handler, of: [token.record]) == 1 }
  }

  /// Returns whether a handler is locked by ``lock(_:holding:)`` or a running
  /// ``withLocked(_:holding:_:)``.
  ///
  /// The lock of the event does not count; ``isLocked`` shows that one.
  ///
  /// - Parameter token: The token of the handler.
  /// - Returns: `false` if the handler is not locked, or does not exist.
  /// - Complexity: O(1).
  public nonisolated func isLocked(_ token: HandlerToken) -> Bool {
    handlerTable.with(token) { $0.isAlive(token.record) && $0.isLocked(token.record) }
  }

  /// Locks a handler for the duration of a closure.
  ///
  /// Several such calls may overlap: the handler is locked until the last one ends. Each is
  /// otherwise like ``lock(_:holding:)``. If the handler does not exist, `body`
  /// runs nevertheless.
  ///
  /// - Parameters:
  ///   - token: The token of the handler.
  ///   - holding: The occurrences that the lock holds: see ``lock(_:holding:)``. `nil` holds none.
  ///   - body: The closure to run. It runs where the caller runs.
  /// - Returns: The result of `body`.
  /// - Throws: The error that `body` throws. The lock ends then, too.
  /// - Complexity: O(1), and the delivery of held occurrences.
  @discardableResult public nonisolated(nonsending) func withLocked<Result, Failure: Error>(
    _ token: HandlerToken, holding: Buffering? = nil,
    _ body: nonisolated(nonsending) () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let scope = LockReason.newScope
    var locked: EventCore?  // a bus may lose the event meanwhile
    _ = handlerTable.with(token) { core in
      locked = core.begin(scope, of: token.record, holding) ? core : nil
      return true
    }
    defer { locked?.end(scope, of: [token.record]) }
    return try await body()
  }

  // MARK: Several handlers

  /// Locks handlers, as ``lock(_:holding:)`` does. Handlers that are added later are not locked.
  ///
  /// ``unlockAll(where:)`` and ``unlock(_:)`` end these locks. ``unlock()`` ends only the lock of
  /// the event, ``lock(holding:)``.
  ///
  /// - Parameters:
  ///   - filter: The handlers to lock: by default all that are there now.
  ///   - holding: The occurrences that the lock holds: see ``lock(_:holding:)``. `nil` holds none.
  /// - Returns: The number of handlers that the filter selects.
  /// - Complexity: O(*n*) for *n* handlers.
  @discardableResult public nonisolated func lockAll(
    where filter: HandlerFilter = .all, holding: Buffering? = nil
  ) -> Int {
    var count = 0
    handlerTable.forEach { core in
      count += core.livingRecords(where: filter.isIncluded).count { core.begin(.handler, of: $0, holding) }
      // Closes the fast path even if no handler was locked: a handler that was left out because it
      // is deactivated may not be called after the return, and the thread that deactivated it may
      // not have called `noteChange()` yet.
      core.anchorReference.load()?.noteChange()
    }
    return count
  }

  /// Unlocks handlers, as ``unlock(_:)`` does. The lock of the event stays in force.
  ///
  /// - Parameter filter: The handlers to unlock: by default all.
  /// - Returns: The number of handlers that the filter selects.
  /// - Complexity: O(*n*) for *n* handlers, and the delivery of held occurrences.
  @discardableResult public nonisolated func unlockAll(where filter: HandlerFilter = .all) -> Int {
    var count = 0
    handlerTable.forEach { core in count += core.end(.handler, of: core.livingRecords(where: filter.isIncluded)) }
    return count
  }

  // MARK: The event itself

  /// Locks the event: none of its handlers, including those added later, is called until
  /// ``unlock()``.
  ///
  /// The lock is effective on return. Like ``lock(_:holding:)``, this can be
  /// called from any thread and inside any handler. The locks of single handlers are independent of
  /// the lock of the event. Snapshots of handlers do not show this lock; ``isLocked`` does.
  ///
  /// - Parameter holding: The occurrences that the lock holds: see ``lock(_:holding:)``. `nil`
  ///   holds none. Held occurrences reach all handlers one after the other, as without the lock. If
  ///   the event is locked already, this replaces the `holding` of that lock for the occurrences to
  ///   come. Occurrences that are held already stay held.
  /// - Complexity: O(*n*) for *n* handlers, so that a send pays nothing for the lock.
  public nonisolated func lock(holding: Buffering? = nil) {
    handlerTable.forEach { $0.setEventLock(true, holding) }
  }

  /// Ends the lock of the event. The locks of single handlers stay in force.
  ///
  /// Held occurrences are delivered as ``unlock(_:)`` says.
  ///
  /// - Complexity: O(*n*) for *n* handlers, and the delivery of held occurrences.
  public nonisolated func unlock() { handlerTable.forEach { $0.setEventLock(false) } }

  /// Whether the event itself is locked; for a bus, whether it has events and all are locked.
  ///
  /// - Complexity: O(1), for a bus O(*n* log *n*) for its *n* events.
  public nonisolated var isLocked: Bool { handlerTable.allSatisfy(\.isLocked) }
}
