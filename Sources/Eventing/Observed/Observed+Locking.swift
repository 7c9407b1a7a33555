// What an event does with its handlers, for those who are told of changes.

extension Observed {
  /// Silences a handler until it is unlocked; see ``Event/lock(_:holding:)-(HandlerToken,_)``.
  @discardableResult public func lock(_ token: HandlerToken, holding: Holding = .nothing) -> Bool {
    storage.event.lock(token, holding: holding)
  }
  /// Ends a handler's lock.
  @discardableResult public func unlock(_ token: HandlerToken) -> Bool { storage.event.unlock(token) }
  /// Whether a handler is locked; `nil` if there is no such handler.
  public func isLocked(_ token: HandlerToken) -> Bool { storage.event.isLocked(token) }

  /// Removes all handlers, and returns how many there were.
  @discardableResult public func removeAll() -> Int { storage.event.removeAll() }
  /// Removes all handlers of that very object, and returns how many there were.
  @discardableResult public func remove(ownedBy owner: AnyObject) -> Int { storage.event.remove(ownedBy: owner) }

  /// Whether the handler is there. O(1).
  public func contains(_ token: HandlerToken) -> Bool { storage.event.contains(token) }
  /// How many handlers there are now. O(handlers).
  public var handlerCount: Int { storage.event.handlerCount }
  /// What the handlers are like, between two changes.
  public var handlers: [HandlerSnapshot] { get async { await storage.event.handlers } }
}
