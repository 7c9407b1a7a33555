// Locking is effective on return, as removing is: no call is decided after it until the handler is unlocked. What is delivered meanwhile is skipped for that
// handler, on a lane too; its place in the order and its once-flag are kept. Locking twice is locking once. A handler's lock, a `withLocked` and
// the event's own lock are apart: ending one leaves the others.

extension Event {
  // MARK: One handler

  /// Silences a handler until it is unlocked. What is sent meanwhile is skipped for it.
  ///
  /// - Returns: whether the handler is there.
  @discardableResult public nonisolated func lock(_ token: HandlerToken) -> Bool {
    guard mailbox.isHome(of: token) else { return false }
    // Noted whatever comes out: another thread that ended the handler may not have noted that yet.
    defer { token.home.noteChange() }
    return contains(token) && token.record.set(Bit.locked) & Bit.gone == 0
  }

  /// Ends a handler's lock, if there is one; not that of a `withLocked`, nor the event's own.
  ///
  /// - Returns: whether the handler is there.
  @discardableResult public nonisolated func unlock(_ token: HandlerToken) -> Bool {
    guard contains(token) else { return false }
    return token.record.clear(Bit.locked) & Bit.gone == 0
  }

  /// Whether a handler is locked, by `lock` or a running `withLocked`; not whether the event is. `nil` if there is no such handler.
  public nonisolated func isLocked(_ token: HandlerToken) -> Bool? {
    contains(token) ? token.record.has(Bit.lockedOrInScope) : nil
  }

  /// Silences a handler for the length of `body`. Several may overlap: it is silent until the last one ends.
  ///
  /// If there is no such handler, `body` runs all the same.
  @discardableResult public nonisolated(nonsending) func withLocked<Result, Failure: Error>(
    _ token: HandlerToken, _ body: nonisolated(nonsending) () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let isMine = mailbox.isHome(of: token)
    if isMine {
      token.record.enterScope()
      token.home.noteChange()
    }
    defer { if isMine { token.record.leaveScope() } }
    return try await body()
  }

  // MARK: Several; each returns how many handlers it found, O(handlers)

  /// Locks those handlers that are there, and returns how many.
  @discardableResult public nonisolated func lock(_ tokens: [HandlerToken]) -> Int { tokens.count { lock($0) } }
  /// Unlocks those handlers that are there, and returns how many.
  @discardableResult public nonisolated func unlock(_ tokens: [HandlerToken]) -> Int { tokens.count { unlock($0) } }

  /// Locks all handlers of that name, and returns how many there are.
  @discardableResult public nonisolated func lock(named name: String) -> Int { setLocked(true, named(name)) }
  /// Unlocks all handlers of that name, and returns how many there are.
  @discardableResult public nonisolated func unlock(named name: String) -> Int { setLocked(false, named(name)) }

  /// Locks all handlers of these names, and returns how many there are.
  @discardableResult public nonisolated func lock(named names: [String]) -> Int { setLocked(true, named(names)) }
  /// Unlocks all handlers of these names, and returns how many there are.
  @discardableResult public nonisolated func unlock(named names: [String]) -> Int { setLocked(false, named(names)) }

  /// Locks all handlers with that tag, and returns how many there are.
  @discardableResult public nonisolated func lock(tagged tag: String) -> Int { setLocked(true, tagged(tag)) }
  /// Unlocks all handlers with that tag, and returns how many there are.
  @discardableResult public nonisolated func unlock(tagged tag: String) -> Int { setLocked(false, tagged(tag)) }

  /// Locks all handlers of that very object, and returns how many there are.
  @discardableResult public nonisolated func lock(ownedBy owner: AnyObject) -> Int { setLocked(true, owned(owner)) }
  /// Unlocks all handlers of that very object, and returns how many there are.
  @discardableResult public nonisolated func unlock(ownedBy owner: AnyObject) -> Int { setLocked(false, owned(owner)) }

  /// Locks the handlers that are there now, and returns how many; those added later are not locked.
  @discardableResult public nonisolated func lockAll() -> Int { setLocked(true) { _, _ in true } }
  /// Unlocks all handlers, and returns how many there are.
  @discardableResult public nonisolated func unlockAll() -> Int { setLocked(false) { _, _ in true } }

  private nonisolated func setLocked(_ isOn: Bool, _ isIncluded: (Record, HandlerOptions?) -> Bool) -> Int {
    let count = mailbox.livingRecords(where: isIncluded).count { record in
      (isOn ? record.set(Bit.locked) : record.clear(Bit.locked)) & Bit.gone == 0
    }
    mailbox.homeReference.load()?.noteChange()
    return count
  }

  // MARK: The event itself

  /// Silences the event: all its handlers, those added later included. The snapshots of its handlers do not show it; ``isLocked`` does.
  ///
  /// O(handlers), so that a send pays nothing for it.
  public nonisolated func lock() { mailbox.gate(true) }

  /// Ends the event's own lock; those of its handlers stay.
  public nonisolated func unlock() { mailbox.gate(false) }

  /// Whether the event itself is locked.
  public nonisolated var isLocked: Bool { mailbox.lock.withLock { unsafe mailbox.isGated } }
}
