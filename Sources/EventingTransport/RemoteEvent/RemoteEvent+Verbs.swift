public import Eventing

// Methods that concern the handlers of an event. Each works like the method of `Event` with its
// name.

extension RemoteEvent {
  // MARK: Removing

  /// Removes several handlers. Returns the number that this call removed.
  @discardableResult public func remove(_ tokens: [HandlerToken]) -> Int { event.remove(tokens) }
  /// Removes all handlers with a name. Returns their number. O(*n*) for *n* handlers.
  @discardableResult public func remove(named name: String) -> Int { event.remove(named: name) }
  /// Removes all handlers with one of several names. Returns their number. O(handlers × names).
  @discardableResult public func remove(named names: [String]) -> Int { event.remove(named: names) }
  /// Removes all handlers with a tag. Returns their number. O(*n*) for *n* handlers.
  @discardableResult public func remove(tagged tag: String) -> Int { event.remove(tagged: tag) }
  /// Removes all handlers of an owner. Returns their number. O(*n*) for *n* handlers.
  @discardableResult public func remove(ownedBy owner: AnyObject) -> Int { event.remove(ownedBy: owner) }
  /// Removes all handlers, forwards and sequences. Returns their number. The listenings continue,
  /// but take no messages until there is a handler again. O(*n*) for *n* handlers.
  @discardableResult public func removeAll() -> Int { event.removeAll() }

  /// Removes all forwards from this event to a local event. Returns their number. O(*n*) for *n*
  /// handlers.
  @discardableResult public func removeForwarding<Other: Sendable>(to target: Event<Other>) -> Int {
    event.removeForwarding(to: target)
  }
  /// Removes all forwards from this event to a remote event. Returns their number. O(*n*) for *n*
  /// handlers.
  @discardableResult public func removeForwarding<Other: Sendable>(to target: RemoteEvent<Other>) -> Int {
    event.removeForwarding(to: target)
  }
  /// Removes all forwards from this event to a remote event with keys. Returns their number. O(*n*)
  /// for *n* handlers.
  @discardableResult public func removeForwarding<Key: RemoteKey, Other: Sendable>(
    to target: RemoteKeyedEvent<Key, Other>
  ) -> Int {
    event.removeForwarding(to: target)
  }

  // MARK: Locking

  /// Locks a handler, as ``Eventing/Event/lock(_:holding:)-(HandlerToken,_)`` does. A message that
  /// the lock keeps from the handler counts as unhandled by it. If no other handler has handled the
  /// message, an engine that stores messages delivers it again.
  ///
  /// - Returns: Whether the handler exists.
  @discardableResult public func lock(_ token: HandlerToken, holding: Holding = .nothing) -> Bool {
    event.lock(token, holding: holding)
  }
  /// Ends the lock of a handler. Returns whether the handler exists.
  @discardableResult public func unlock(_ token: HandlerToken) -> Bool { event.unlock(token) }
  /// Locks several handlers. Returns the number of them that exist.
  @discardableResult public func lock(_ tokens: [HandlerToken], holding: Holding = .nothing) -> Int {
    event.lock(tokens, holding: holding)
  }
  /// Unlocks several handlers. Returns the number of them that exist.
  @discardableResult public func unlock(_ tokens: [HandlerToken]) -> Int { event.unlock(tokens) }
  /// Locks all handlers with a name. Returns their number. O(*n*) for *n* handlers.
  @discardableResult public func lock(named name: String, holding: Holding = .nothing) -> Int {
    event.lock(named: name, holding: holding)
  }
  /// Unlocks all handlers with a name. Returns their number. O(*n*) for *n* handlers.
  @discardableResult public func unlock(named name: String) -> Int { event.unlock(named: name) }
  /// Locks all handlers with one of several names. Returns their number. O(handlers × names).
  @discardableResult public func lock(named names: [String], holding: Holding = .nothing) -> Int {
    event.lock(named: names, holding: holding)
  }
  /// Unlocks all handlers with one of several names. Returns their number. O(handlers × names).
  @discardableResult public func unlock(named names: [String]) -> Int { event.unlock(named: names) }
  /// Locks all handlers with a tag. Returns their number. O(*n*) for *n* handlers.
  @discardableResult public func lock(tagged tag: String, holding: Holding = .nothing) -> Int {
    event.lock(tagged: tag, holding: holding)
  }
  /// Unlocks all handlers with a tag. Returns their number. O(*n*) for *n* handlers.
  @discardableResult public func unlock(tagged tag: String) -> Int { event.unlock(tagged: tag) }
  /// Locks all handlers of an owner. Returns their number. O(*n*) for *n* handlers.
  @discardableResult public func lock(ownedBy owner: AnyObject, holding: Holding = .nothing) -> Int {
    event.lock(ownedBy: owner, holding: holding)
  }
  /// Unlocks all handlers of an owner. Returns their number. O(*n*) for *n* handlers.
  @discardableResult public func unlock(ownedBy owner: AnyObject) -> Int { event.unlock(ownedBy: owner) }
  /// Locks the handlers that are there now. Returns their number. O(*n*) for *n* handlers.
  @discardableResult public func lockAll(holding: Holding = .nothing) -> Int { event.lockAll(holding: holding) }
  /// Unlocks all handlers, and returns their number. The lock of the event stays in force. O(*n*)
  /// for *n* handlers.
  @discardableResult public func unlockAll() -> Int { event.unlockAll() }
  /// Returns whether a handler itself is locked. A lock of the whole event does not count. O(1).
  public func isLocked(_ token: HandlerToken) -> Bool { event.isLocked(token) }

  /// Locks a handler for the duration of a closure, as
  /// ``Eventing/Event/withLocked(_:holding:_:)`` does.
  @discardableResult public nonisolated(nonsending) func withLocked<Result, Failure: Error>(
    _ token: HandlerToken, holding: Holding = .nothing,
    _ body: nonisolated(nonsending) () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    try await event.withLocked(token, holding: holding, body)
  }

  /// Locks the event. It takes no messages until ``unlock()``, so other members of its group
  /// receive them. A message that the engine has passed to this event already is redelivered if the
  /// lock keeps it from a handler. O(*n*) for *n* handlers.
  public func lock(holding: Holding = .nothing) { event.lock(holding: holding) }
  /// Ends the lock of the event, so that the event takes messages again. O(*n*) for *n* handlers.
  public func unlock() { event.unlock() }
  /// Whether the event itself is locked. O(1).
  public var isLocked: Bool { event.isLocked }

  // MARK: Inspecting

  /// The number of handlers, forwards and sequences. O(*n*) for *n* handlers.
  public var handlerCount: Int { event.handlerCount }
  /// Whether there is at least one handler. O(*n*) for *n* handlers.
  public var hasHandlers: Bool { event.hasHandlers }
  /// Whether ``finish()`` was called. O(1).
  public var isFinished: Bool { event.isFinished }
  /// Snapshots of all handlers, in the order in which they are called. O(*n*) for *n* handlers.
  public var handlers: [HandlerSnapshot] { get async { await event.handlers } }
  /// Snapshots of the handlers that are locked themselves. A lock of the whole event does not
  /// count. O(*n*) for *n* handlers.
  public var lockedHandlers: [HandlerSnapshot] { get async { await event.lockedHandlers } }
  /// Snapshots of the handlers that are not locked themselves. A lock of the whole event does not
  /// count. O(*n*) for *n* handlers.
  public var unlockedHandlers: [HandlerSnapshot] { get async { await event.unlockedHandlers } }
  /// Returns snapshots of the handlers of an owner, without forwards. O(*n*) for *n* handlers.
  public func handlers(ownedBy owner: any AnyObject & Sendable) async -> [HandlerSnapshot] {
    await event.handlers(ownedBy: owner)
  }
  /// Returns whether a handler is registered with this event. O(1).
  public func contains(_ token: HandlerToken) -> Bool { event.contains(token) }
  /// Returns whether a handler has this name. O(*n*) for *n* handlers.
  public func contains(named name: String) -> Bool { event.contains(named: name) }
  /// A source of the errors that the handlers throw: see ``Eventing/Event/failures``.
  public var failures: some EventSource<HandlerFailure> { event.failures }
  /// Adds an observer: see ``Eventing/Event/observe(with:)``.
  @discardableResult public func observe(with observer: some EventObserver) -> EventRegistration {
    event.observe(with: observer)
  }
  /// Waits until no handler call is running or queued for the messages that the engine passed to
  /// this event before, as ``Eventing/Event/quiesce()`` does. More messages may arrive meanwhile.
  public nonisolated(nonsending) func quiesce() async { await event.quiesce() }
}
