// Methods of the event of changes: locking, removing, inspecting and observing its handlers.

extension Observed {
  /// Locks a handler until it is unlocked: it is not called, as
  /// ``Event/lock(_:holding:)`` says.
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
  /// Ends the lock of a handler, as ``Event/unlock(_:)`` does. Complexity: O(1), and
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
  /// Removes handlers, by default all, as ``Event/removeAll(where:)`` does. Returns their number.
  /// O(*n*) for *n* handlers.
  @discardableResult public func removeAll(where filter: HandlerFilter = .all) -> Int {
    storage.event.removeAll(where: filter)
  }
  /// Locks handlers, by default all that are there now, as ``Event/lockAll(where:holding:)`` does.
  /// Returns their number. O(*n*) for *n* handlers.
  @discardableResult public func lockAll(where filter: HandlerFilter = .all, holding: Holding = .nothing) -> Int {
    storage.event.lockAll(where: filter, holding: holding)
  }
  /// Unlocks handlers, by default all, as ``Event/unlockAll(where:)`` does. Returns their number.
  /// O(*n*) for *n* handlers.
  @discardableResult public func unlockAll(where filter: HandlerFilter = .all) -> Int {
    storage.event.unlockAll(where: filter)
  }
  /// Returns whether a filter selects any handler. O(*n*) for *n* handlers.
  public func contains(where filter: HandlerFilter) -> Bool { storage.event.contains(where: filter) }
  /// Returns snapshots of the handlers that a filter selects. O(*n*) for *n* handlers.
  public func handlers(where filter: HandlerFilter) async -> [HandlerSnapshot] {
    await storage.event.handlers(where: filter)
  }
  /// Locks all handlers, those added later included, as ``Event/lock(holding:)`` does. The value
  /// changes nevertheless.
  public func lock(holding: Holding = .nothing) { storage.event.lock(holding: holding) }
  /// Ends the lock of all handlers, as ``Event/unlock()`` does. The locks of single handlers stay.
  public func unlock() { storage.event.unlock() }
  /// Whether all handlers are locked by ``lock(holding:)``. O(1).
  public var isLocked: Bool { storage.event.isLocked }

  /// Returns whether a handler exists. Complexity: O(1).
  public func contains(_ token: HandlerToken) -> Bool { storage.event.contains(token) }
  /// The number of handlers now. Complexity: O(*n*) for *n* handlers.
  public var handlerCount: Int { storage.event.handlerCount }
  /// Snapshots of the handlers, taken between two changes; see ``Event/handlers``.
  public var handlers: [HandlerSnapshot] { get async { await storage.event.handlers } }
  /// Whether there are handlers. O(*n*) for *n* handlers.
  public var hasHandlers: Bool { storage.event.hasHandlers }
  /// The number and the type of the event of changes: see ``Event/identity``.
  public var identity: EventIdentity { storage.event.identity }

  /// Adds an observer, which is told of every change that is made from now on; see
  /// ``Event/observe(with:)``. Announcements (``Observed/changes(initial:prior:)``) are told as
  /// occurrences.
  @discardableResult public func observe(with observer: some EventObserver) -> EventRegistration {
    storage.event.observe(with: observer)
  }
}
