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
  /// occurrences are delivered at once if the event is idle, and otherwise after everything sent
  /// before the call and before anything sent later.
  ///
  /// - Parameter token: The token of the handler.
  /// - Returns: Whether the handler exists.
  /// - Complexity: O(1), plus the delivery of held occurrences.
  @discardableResult public nonisolated func unlock(_ token: HandlerToken) -> Bool {
    handlerTable.with(token) { $0.isAlive(token.record) && $0.end(.handler, of: [token.record]) == 1 }
  }

  /// Returns whether a handler is locked by ``lock(_:holding:)`` or a running
  /// ``withLocked(_:holding:_:)``.
  ///
  /// The lock of the event doesn't count; see ``isLocked``.
  ///
  /// - Parameter token: The token of the handler.
  /// - Returns: `true` if the handler exists and is locked.
  /// - Complexity: O(1).
  public nonisolated func isLocked(_ token: HandlerToken) -> Bool {
    handlerTable.with(token) { $0.isAlive(token.record) && $0.isLocked(token.record) }
  }

  /// Locks a handler for the duration of a closure.
  ///
  /// Several such calls may overlap: the handler is locked until the last one ends. Otherwise, each
  /// is like ``lock(_:holding:)``. If the handler doesn't exist, `body` still runs.
  ///
  /// - Parameters:
  ///   - token: The token of the handler.
  ///   - holding: The occurrences that the lock holds: see ``lock(_:holding:)``. `nil` holds none.
  ///   - body: The closure to run. It runs where the caller runs.
  /// - Returns: The result of `body`.
  /// - Throws: The error that `body` throws. The lock ends in this case, too.
  /// - Complexity: O(1), plus the delivery of held occurrences.
  @discardableResult public nonisolated(nonsending) func withLocked<Result, Failure: Error>(
    _ token: HandlerToken, holding: Buffering? = nil,
    _ body: nonisolated(nonsending) () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let scope = LockReason.newScope
    var locked: EventCore?  // a bus may lose the event in the meantime
    _ = handlerTable.with(token) { core in
      locked = core.begin(scope, of: token.record, holding) ? core : nil
      return true
    }
    defer { locked?.end(scope, of: [token.record]) }
    return try await body()
  }

  // MARK: Several handlers

  /// Locks the handlers that a filter selects, as ``lock(_:holding:)`` does. Handlers added later
  /// aren't locked.
  ///
  /// ``unlockAll(where:)`` and ``unlock(_:)`` end these locks. ``unlock()`` ends only the lock of
  /// the event, ``lock(holding:)``.
  ///
  /// - Parameters:
  ///   - filter: The handlers to lock; by default, all current ones.
  ///   - holding: The occurrences that the lock holds: see ``lock(_:holding:)``. `nil` holds none.
  /// - Returns: The number of handlers that the filter selects.
  /// - Complexity: O(*n*) for *n* handlers.
  @discardableResult public nonisolated func lockAll(
    where filter: HandlerFilter = .all, holding: Buffering? = nil
  ) -> Int {
    var count = 0
    handlerTable.forEach { core in
      count += core.livingRecords(where: filter.isIncluded).count { core.begin(.handler, of: $0, holding) }
      // Closes the fast path even if no handler was locked: a deactivated handler that was left out
      // may not be called after this returns, and the thread that deactivated it may not have
      // called `noteChange()` yet.
      core.anchorReference.load()?.noteChange()
    }
    return count
  }

  /// Unlocks the handlers that a filter selects, as ``unlock(_:)`` does. The lock of the event
  /// stays in force.
  ///
  /// - Parameter filter: The handlers to unlock; by default all.
  /// - Returns: The number of handlers that the filter selects.
  /// - Complexity: O(*n*) for *n* handlers, plus the delivery of held occurrences.
  @discardableResult public nonisolated func unlockAll(where filter: HandlerFilter = .all) -> Int {
    var count = 0
    handlerTable.forEach { core in count += core.end(.handler, of: core.livingRecords(where: filter.isIncluded)) }
    return count
  }

  // MARK: The event itself

  /// Locks the event: none of its handlers, including those added later, is called until
  /// ``unlock()``.
  ///
  /// The lock takes effect before this returns. Like ``lock(_:holding:)``, this can be called from
  /// any thread and inside any handler. The locks of individual handlers are independent of the
  /// lock of the event. Snapshots of handlers don't show this lock; ``isLocked`` does.
  ///
  /// - Parameter holding: The occurrences that the lock holds: see ``lock(_:holding:)``. `nil`
  ///   holds none. Held occurrences reach all handlers one at a time, as they would without the
  ///   lock. If the event is already locked, this replaces the `holding` of that lock for later
  ///   occurrences; those that are already held stay held.
  /// - Complexity: O(*n*) for *n* handlers, so that a send pays nothing for the lock.
  public nonisolated func lock(holding: Buffering? = nil) {
    handlerTable.forEach { $0.setEventLock(true, holding) }
  }

  /// Ends the lock of the event. The locks of individual handlers stay in force.
  ///
  /// Held occurrences are delivered as with ``unlock(_:)``.
  ///
  /// - Complexity: O(*n*) for *n* handlers, plus the delivery of held occurrences.
  public nonisolated func unlock() { handlerTable.forEach { $0.setEventLock(false) } }

  /// Whether the event itself is locked; for a bus, whether it has events and all are locked.
  ///
  /// - Complexity: O(1). For a bus, O(*n* log *n*) for its *n* events.
  public nonisolated var isLocked: Bool { handlerTable.allSatisfy(\.isLocked) }
}
