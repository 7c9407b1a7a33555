public import Eventing

// Methods that concern the handlers of all keys. Each works like the method of `KeyedEvent` with
// its name.

extension RemoteKeyedEvent {
  /// Removes a handler. Returns whether this call removed it.
  @discardableResult public func remove(_ token: HandlerToken) -> Bool { event.remove(token) }

  /// Locks a handler, as ``RemoteEvent/lock(_:holding:)`` does. Returns whether
  /// the handler exists.
  @discardableResult public func lock(_ token: HandlerToken, holding: Holding = .nothing) -> Bool {
    event.lock(token, holding: holding)
  }
  /// Ends the lock of a handler. Returns whether the handler exists.
  @discardableResult public func unlock(_ token: HandlerToken) -> Bool { event.unlock(token) }
  /// Removes handlers, by default all, as ``Eventing/Event/removeAll(where:)`` does. Returns their
  /// number. O(*n*) for *n* handlers of all keys.
  @discardableResult public func removeAll(where filter: HandlerFilter = .all) -> Int {
    event.removeAll(where: filter)
  }
  /// Locks handlers, by default all that are there now, as
  /// ``Eventing/Event/lockAll(where:holding:)`` does. Returns their number. O(*n*) for *n* handlers
  /// of all keys.
  @discardableResult public func lockAll(where filter: HandlerFilter = .all, holding: Holding = .nothing) -> Int {
    event.lockAll(where: filter, holding: holding)
  }
  /// Unlocks handlers, by default all, as ``Eventing/Event/unlockAll(where:)`` does. Returns their
  /// number. O(*n*) for *n* handlers of all keys.
  @discardableResult public func unlockAll(where filter: HandlerFilter = .all) -> Int {
    event.unlockAll(where: filter)
  }
  /// Returns whether a filter selects any handler. O(*n*) for *n* handlers of all keys.
  public func contains(where filter: HandlerFilter) -> Bool { event.contains(where: filter) }
  /// Returns snapshots of the handlers that a filter selects. O(*n*) for *n* handlers of all keys.
  public func handlers(where filter: HandlerFilter) async -> [HandlerSnapshot] { await event.handlers(where: filter) }
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
  /// Adds an observer, which sees the messages of all keys.
  @discardableResult public func observe(with observer: some EventObserver) -> EventRegistration {
    event.observe(with: observer)
  }
  /// Waits until no call for a begun message is running or queued.
  public nonisolated(nonsending) func quiesce() async { await event.quiesce() }
}
