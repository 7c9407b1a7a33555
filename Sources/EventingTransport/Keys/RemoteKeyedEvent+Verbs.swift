public import Eventing

// Methods that concern the handlers of all keys. Each works like the method of `KeyedEvent` with
// its name.

extension RemoteKeyedEvent {
  /// Removes a handler. Returns whether this call removed it.
  @discardableResult public func remove(_ token: HandlerToken) -> Bool { event.remove(token) }
  /// Removes several handlers. Returns the number that this call removed.
  @discardableResult public func remove(_ tokens: [HandlerToken]) -> Int { event.remove(tokens) }
  /// Removes all handlers with a name. Returns their number. O(*n*) for *n* handlers of all keys.
  @discardableResult public func remove(named name: String) -> Int { event.remove(named: name) }
  /// Removes all handlers with a tag. Returns their number. O(*n*) for *n* handlers of all keys.
  @discardableResult public func remove(tagged tag: String) -> Int { event.remove(tagged: tag) }
  /// Removes all handlers of an owner. Returns their number. O(*n*) for *n* handlers of all keys.
  @discardableResult public func remove(ownedBy owner: AnyObject) -> Int { event.remove(ownedBy: owner) }
  /// Removes all handlers of all keys. Returns their number. O(*n*) for *n* handlers of all keys.
  @discardableResult public func removeAll() -> Int { event.removeAll() }

  /// Locks a handler, as ``RemoteEvent/lock(_:holding:)-(HandlerToken,_)`` does. Returns whether
  /// the handler exists.
  @discardableResult public func lock(_ token: HandlerToken, holding: Holding = .nothing) -> Bool {
    event.lock(token, holding: holding)
  }
  /// Ends the lock of a handler. Returns whether the handler exists.
  @discardableResult public func unlock(_ token: HandlerToken) -> Bool { event.unlock(token) }
  /// Locks all handlers with a name. Returns their number. O(*n*) for *n* handlers of all keys.
  @discardableResult public func lock(named name: String, holding: Holding = .nothing) -> Int {
    event.lock(named: name, holding: holding)
  }
  /// Unlocks all handlers with a name. Returns their number. O(*n*) for *n* handlers of all keys.
  @discardableResult public func unlock(named name: String) -> Int { event.unlock(named: name) }
  /// Locks all handlers with a tag. Returns their number. O(*n*) for *n* handlers of all keys.
  @discardableResult public func lock(tagged tag: String, holding: Holding = .nothing) -> Int {
    event.lock(tagged: tag, holding: holding)
  }
  /// Unlocks all handlers with a tag. Returns their number. O(*n*) for *n* handlers of all keys.
  @discardableResult public func unlock(tagged tag: String) -> Int { event.unlock(tagged: tag) }
  /// Locks all handlers of an owner. Returns their number. O(*n*) for *n* handlers of all keys.
  @discardableResult public func lock(ownedBy owner: AnyObject, holding: Holding = .nothing) -> Int {
    event.lock(ownedBy: owner, holding: holding)
  }
  /// Unlocks all handlers of an owner. Returns their number. O(*n*) for *n* handlers of all keys.
  @discardableResult public func unlock(ownedBy owner: AnyObject) -> Int { event.unlock(ownedBy: owner) }
  /// Locks the handlers of all keys that are there now, and returns their number. O(*n*) for *n*
  /// handlers of all keys.
  @discardableResult public func lockAll(holding: Holding = .nothing) -> Int { event.lockAll(holding: holding) }
  /// Unlocks all handlers, and returns their number. The lock of the event stays in force. O(*n*)
  /// for *n* handlers of all keys.
  @discardableResult public func unlockAll() -> Int { event.unlockAll() }
  /// Returns whether a handler is locked by a lock of its own. O(1).
  public func isLocked(_ token: HandlerToken) -> Bool { event.isLocked(token) }
  /// Locks the event: it takes no messages until ``unlock()``. O(*n*) for *n* handlers of all keys.
  public func lock(holding: Holding = .nothing) { event.lock(holding: holding) }
  /// Ends the lock of the event, so that the event takes messages again. O(*n*) for *n* handlers of
  /// all keys.
  public func unlock() { event.unlock() }
  /// Whether the event itself is locked. O(1).
  public var isLocked: Bool { event.isLocked }

  /// The number of handlers of all keys. O(*n*) for *n* handlers of all keys.
  public var handlerCount: Int { event.handlerCount }
  /// Returns the number of handlers of one key, without those of ``anyKey``. O(*n*) for *n*
  /// handlers of all keys.
  public func handlerCount(for key: Key) -> Int { event.handlerCount(for: key) }
  /// The keys that have handlers, in no order. Handlers of ``anyKey`` are not among them. O(*n*)
  /// for *n* handlers of all keys.
  public var keys: [Key] { event.keys }
  /// Whether ``finish()`` was called. O(1).
  public var isFinished: Bool { event.isFinished }
  /// Snapshots of the handlers of all keys, in the order in which they are called. O(*n*) for *n*
  /// handlers of all keys.
  public var handlers: [HandlerSnapshot] { get async { await event.handlers } }
  /// Returns snapshots of the handlers of one key, without those of ``anyKey``. O(*n*) for *n*
  /// handlers of all keys.
  public func handlers(of key: Key) async -> [HandlerSnapshot] { await event.handlers(of: key) }
  /// Returns whether a handler is registered with this event. O(1).
  public func contains(_ token: HandlerToken) -> Bool { event.contains(token) }
  /// Returns whether a handler has this name. O(*n*) for *n* handlers of all keys.
  public func contains(named name: String) -> Bool { event.contains(named: name) }
  /// Adds an observer, which sees the messages of all keys.
  @discardableResult public func observe(with observer: some EventObserver) -> EventRegistration {
    event.observe(with: observer)
  }
  /// Waits until no call for a begun message is running or queued.
  public nonisolated(nonsending) func quiesce() async { await event.quiesce() }
}
