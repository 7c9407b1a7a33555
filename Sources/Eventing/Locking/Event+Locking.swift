// Locking is effective on return, as removing is: no call is decided after it until the handler is unlocked. What is delivered meanwhile is skipped for that
// handler, on a lane too, or held until the lock ends (`Holding`); its place in the order and its once-flag are kept. Locking twice is locking once; the last
// `holding:` wins. A handler's lock, a `withLocked` and the event's own lock are apart: ending one leaves the others.

extension Event {
  // MARK: One handler

  /// Silences a handler until it is unlocked. What is sent meanwhile is skipped for it, or held.
  ///
  /// - Returns: whether the handler is there.
  @discardableResult public nonisolated func lock(_ token: HandlerToken, holding: Holding = .nothing) -> Bool {
    guard core.owns(token) else { return false }
    return core.begin(.lock, of: token.record, holding) && core.isAlive(token.record)
  }

  /// Ends a handler's lock, if there is one; not that of a `withLocked`, nor the event's own.
  ///
  /// What the lock held is delivered now if the event is idle, otherwise when its turn comes: after what was sent before, and before anything sent later.
  ///
  /// - Returns: whether the handler is there.
  @discardableResult public nonisolated func unlock(_ token: HandlerToken) -> Bool {
    contains(token) && core.end(.lock, of: [token.record]) == 1
  }

  /// Whether a handler is locked, by `mutex` or a running `withLocked`; not whether the event is. `nil` if there is no such handler.
  public nonisolated func isLocked(_ token: HandlerToken) -> Bool {
    contains(token) && core.isLocked(token.record)
  }

  /// Silences a handler for the length of `body`. Several may overlap: it is silent until the last one ends.
  ///
  /// If there is no such handler, `body` runs all the same.
  @discardableResult public nonisolated(nonsending) func withLocked<Result, Failure: Error>(
    _ token: HandlerToken, holding: Holding = .nothing,
    _ body: nonisolated(nonsending) () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let scope = LockReason.newScope
    let isMine = core.owns(token) && core.begin(scope, of: token.record, holding)
    defer { if isMine { core.end(scope, of: [token.record]) } }
    return try await body()
  }

  // MARK: Several; each returns how many handlers it found, O(handlers)

  /// Locks those handlers that are there, and returns how many.
  @discardableResult public nonisolated func lock(_ tokens: [HandlerToken], holding: Holding = .nothing) -> Int {
    tokens.count { lock($0, holding: holding) }
  }
  /// Unlocks those handlers that are there, and returns how many.
  @discardableResult public nonisolated func unlock(_ tokens: [HandlerToken]) -> Int {
    core.end(.lock, of: tokens.filter(contains).map(\.record))
  }

  /// Locks all handlers of that name, and returns how many there are.
  @discardableResult public nonisolated func lock(named name: String, holding: Holding = .nothing) -> Int {
    lock(named(name), holding)
  }
  /// Unlocks all handlers of that name, and returns how many there are.
  @discardableResult public nonisolated func unlock(named name: String) -> Int { unlock(named(name)) }

  /// Locks all handlers of these names, and returns how many there are.
  @discardableResult public nonisolated func lock(named names: [String], holding: Holding = .nothing) -> Int {
    lock(named(names), holding)
  }
  /// Unlocks all handlers of these names, and returns how many there are.
  @discardableResult public nonisolated func unlock(named names: [String]) -> Int { unlock(named(names)) }

  /// Locks all handlers with that tag, and returns how many there are.
  @discardableResult public nonisolated func lock(tagged tag: String, holding: Holding = .nothing) -> Int {
    lock(tagged(tag), holding)
  }
  /// Unlocks all handlers with that tag, and returns how many there are.
  @discardableResult public nonisolated func unlock(tagged tag: String) -> Int { unlock(tagged(tag)) }

  /// Locks all handlers of that very object, and returns how many there are.
  @discardableResult public nonisolated func lock(ownedBy owner: AnyObject, holding: Holding = .nothing) -> Int {
    lock(owned(owner), holding)
  }
  /// Unlocks all handlers of that very object, and returns how many there are.
  @discardableResult public nonisolated func unlock(ownedBy owner: AnyObject) -> Int { unlock(owned(owner)) }

  /// Locks the handlers that are there now, and returns how many; those added later are not locked.
  @discardableResult public nonisolated func lockAll(holding: Holding = .nothing) -> Int {
    lock({ _, _ in true }, holding)
  }
  /// Unlocks all handlers, and returns how many there are.
  @discardableResult public nonisolated func unlockAll() -> Int { unlock { _, _ in true } }

  private nonisolated func lock(_ isIncluded: (HandlerRecord, HandlerOptions?) -> Bool, _ holding: Holding) -> Int {
    defer { core.identityReference.load()?.noteChange() }  // even for those that another thread ended: it may not have noted that yet
    return core.livingRecords(where: isIncluded).count { core.begin(.lock, of: $0, holding) }
  }

  private nonisolated func unlock(_ isIncluded: (HandlerRecord, HandlerOptions?) -> Bool) -> Int {
    core.end(.lock, of: core.livingRecords(where: isIncluded))
  }

  // MARK: The event itself

  /// Silences the event: all its handlers, those added later included. The snapshots of its handlers do not show it; ``isLocked`` does.
  ///
  /// O(handlers), so that a send pays nothing for it.
  public nonisolated func lock(holding: Holding = .nothing) { core.eventLock(true, holding) }

  /// Ends the event's own lock; those of its handlers stay.
  public nonisolated func unlock() { core.eventLock(false) }

  /// Whether the event itself is locked.
  public nonisolated var isLocked: Bool { core.mutex.withLock { unsafe core.isEventLocked } }
}
