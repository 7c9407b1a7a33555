// Methods of the event of changes: locking, removing and inspecting its handlers.

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
}
