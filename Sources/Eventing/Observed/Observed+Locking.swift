// Methods of the event of changes: locking, removing, inspecting and observing its handlers.

extension Observed {
  /// Locks a handler until it is unlocked: it is not called, as
  /// ``Event/lock(_:holding:)-(HandlerToken,_)`` says.
  ///
  /// The value changes nevertheless.
  ///
  /// - Parameters:
  ///   - token: The token of the handler.
  ///   - holding: Whether changes made meanwhile are skipped, or held until the lock ends.
  /// - Returns: Whether the handler exists.
  /// - Complexity: O(1).
  @discardableResult public func lock(_ token: HandlerToken, holding: Holding = .nothing) -> Bool {
    storage.event.lock(token, holding: holding)
  }
  /// Ends the lock of a handler, as ``Event/unlock(_:)-(HandlerToken)`` does. Complexity: O(1), and
  /// the delivery of held changes.
  ///
  /// - Returns: Whether the handler exists.
  @discardableResult public func unlock(_ token: HandlerToken) -> Bool { storage.event.unlock(token) }
  /// Returns whether a handler is locked; `false` if there is no such handler. Complexity: O(1).
  public func isLocked(_ token: HandlerToken) -> Bool { storage.event.isLocked(token) }

  /// Locks a handler while a closure runs, as ``Event/withLocked(_:holding:_:)`` does.
  @discardableResult public nonisolated(nonsending) func withLocked<Result, Failure: Error>(
    _ token: HandlerToken, holding: Holding = .nothing,
    _ body: nonisolated(nonsending) () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    try await storage.event.withLocked(token, holding: holding, body)
  }
  /// Locks all handlers with a name, as ``lock(_:holding:)`` does. Returns their number. O(*n*) for
  /// *n* handlers.
  @discardableResult public func lock(named name: String, holding: Holding = .nothing) -> Int {
    storage.event.lock(named: name, holding: holding)
  }
  /// Unlocks all handlers with a name. Returns their number. O(*n*) for *n* handlers.
  @discardableResult public func unlock(named name: String) -> Int { storage.event.unlock(named: name) }
  /// Locks all handlers with a tag, as ``lock(_:holding:)`` does. Returns their number. O(*n*) for
  /// *n* handlers.
  @discardableResult public func lock(tagged tag: String, holding: Holding = .nothing) -> Int {
    storage.event.lock(tagged: tag, holding: holding)
  }
  /// Unlocks all handlers with a tag. Returns their number. O(*n*) for *n* handlers.
  @discardableResult public func unlock(tagged tag: String) -> Int { storage.event.unlock(tagged: tag) }
  /// Locks all handlers of an owner, as ``lock(_:holding:)`` does. Returns their number. O(*n*) for
  /// *n* handlers.
  @discardableResult public func lock(ownedBy owner: AnyObject, holding: Holding = .nothing) -> Int {
    storage.event.lock(ownedBy: owner, holding: holding)
  }
  /// Unlocks all handlers of an owner. Returns their number. O(*n*) for *n* handlers.
  @discardableResult public func unlock(ownedBy owner: AnyObject) -> Int { storage.event.unlock(ownedBy: owner) }
  /// Locks the handlers that are there now, as ``Event/lockAll(holding:)`` does. Returns their
  /// number. O(*n*) for *n* handlers.
  @discardableResult public func lockAll(holding: Holding = .nothing) -> Int { storage.event.lockAll(holding: holding) }
  /// Unlocks all handlers, as ``Event/unlockAll()`` does. Returns their number. O(*n*) for *n*
  /// handlers.
  @discardableResult public func unlockAll() -> Int { storage.event.unlockAll() }
  /// Locks all handlers, those added later included, as ``Event/lock(holding:)`` does. The value
  /// changes nevertheless.
  public func lock(holding: Holding = .nothing) { storage.event.lock(holding: holding) }
  /// Ends the lock of all handlers, as ``Event/unlock()`` does. The locks of single handlers stay.
  public func unlock() { storage.event.unlock() }
  /// Whether all handlers are locked by ``lock(holding:)``. O(1).
  public var isLocked: Bool { storage.event.isLocked }

  /// Removes several handlers. Returns the number of handlers that this call removed.
  @discardableResult public func remove(_ tokens: [HandlerToken]) -> Int { storage.event.remove(tokens) }
  /// Removes all handlers with a name, as ``Event/remove(named:)-(String)`` does. Returns their
  /// number. O(*n*) for *n* handlers.
  @discardableResult public func remove(named name: String) -> Int { storage.event.remove(named: name) }
  /// Removes all handlers with a tag, as ``Event/remove(tagged:)`` does. Returns their number.
  /// O(*n*) for *n* handlers.
  @discardableResult public func remove(tagged tag: String) -> Int { storage.event.remove(tagged: tag) }
  /// Removes all handlers, as ``Event/removeAll()`` does.
  ///
  /// - Returns: The number of handlers that this call removed.
  /// - Complexity: O(*n*) for *n* handlers.
  @discardableResult public func removeAll() -> Int { storage.event.removeAll() }
  /// Removes all handlers of an owner, as ``Event/remove(ownedBy:)`` does.
  ///
  /// - Parameter owner: The owner, compared by identity.
  /// - Returns: The number of handlers that this call removed.
  /// - Complexity: O(*n*) for *n* handlers.
  @discardableResult public func remove(ownedBy owner: AnyObject) -> Int { storage.event.remove(ownedBy: owner) }

  /// Returns whether a handler exists. Complexity: O(1).
  public func contains(_ token: HandlerToken) -> Bool { storage.event.contains(token) }
  /// The number of handlers now. Complexity: O(*n*) for *n* handlers.
  public var handlerCount: Int { storage.event.handlerCount }
  /// Snapshots of the handlers, taken between two changes; see ``Event/handlers``.
  public var handlers: [HandlerSnapshot] { get async { await storage.event.handlers } }
  /// Returns whether a handler with a name exists. O(*n*) for *n* handlers.
  public func contains(named name: String) -> Bool { storage.event.contains(named: name) }
  /// Whether there are handlers. O(*n*) for *n* handlers.
  public var hasHandlers: Bool { storage.event.hasHandlers }
  /// The number and the type of the event of changes: see ``Event/identity``.
  public var identity: EventIdentity { storage.event.identity }

  /// Adds an observer, which is told of every change that is made from now on; see
  /// ``Event/observe(with:)``. Announcements (``ChangeOptions/prior``) are told as occurrences.
  @discardableResult public func observe(with observer: some EventObserver) -> EventRegistration {
    storage.event.observe(with: observer)
  }
}
