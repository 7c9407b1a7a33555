// What an event does with its handlers, for the handlers of all keys.

extension KeyedEvent {
  /// Removes a handler, whatever its key; see ``Event/remove(_:)-(HandlerToken)``.
  @discardableResult public func remove(_ token: HandlerToken) -> Bool { event.remove(token) }
  /// Removes those handlers that are still there, and returns how many.
  @discardableResult public func remove(_ tokens: [HandlerToken]) -> Int { event.remove(tokens) }
  /// Removes all handlers of that name, and returns how many there were. O(handlers of all keys).
  @discardableResult public func remove(named name: String) -> Int { event.remove(named: name) }
  /// Removes all handlers with that tag, and returns how many there were. O(handlers of all keys).
  @discardableResult public func remove(tagged tag: String) -> Int { event.remove(tagged: tag) }
  /// Removes all handlers of that very object, and returns how many there were. O(handlers of all keys).
  @discardableResult public func remove(ownedBy owner: AnyObject) -> Int { event.remove(ownedBy: owner) }
  /// Removes all handlers of all keys, and returns how many there were.
  @discardableResult public func removeAll() -> Int { event.removeAll() }

  /// Silences a handler until it is unlocked; see ``Event/lock(_:holding:)-(HandlerToken,_)``.
  @discardableResult public func lock(_ token: HandlerToken, holding: Holding = .nothing) -> Bool {
    event.lock(token, holding: holding)
  }
  /// Ends a handler's lock.
  @discardableResult public func unlock(_ token: HandlerToken) -> Bool { event.unlock(token) }
  /// Whether a handler is locked; `nil` if there is no such handler.
  public func isLocked(_ token: HandlerToken) -> Bool { event.isLocked(token) }
  /// Locks all handlers of that name, and returns how many there are.
  @discardableResult public func lock(named name: String, holding: Holding = .nothing) -> Int {
    event.lock(named: name, holding: holding)
  }
  /// Unlocks all handlers of that name, and returns how many there are.
  @discardableResult public func unlock(named name: String) -> Int { event.unlock(named: name) }
  /// Locks all handlers with that tag, and returns how many there are.
  @discardableResult public func lock(tagged tag: String, holding: Holding = .nothing) -> Int {
    event.lock(tagged: tag, holding: holding)
  }
  /// Unlocks all handlers with that tag, and returns how many there are.
  @discardableResult public func unlock(tagged tag: String) -> Int { event.unlock(tagged: tag) }
  /// Locks all handlers of that very object, and returns how many there are.
  @discardableResult public func lock(ownedBy owner: AnyObject, holding: Holding = .nothing) -> Int {
    event.lock(ownedBy: owner, holding: holding)
  }
  /// Unlocks all handlers of that very object, and returns how many there are.
  @discardableResult public func unlock(ownedBy owner: AnyObject) -> Int { event.unlock(ownedBy: owner) }
  /// Locks the handlers that are there now, and returns how many.
  @discardableResult public func lockAll(holding: Holding = .nothing) -> Int { event.lockAll(holding: holding) }
  /// Unlocks all handlers, and returns how many there are.
  @discardableResult public func unlockAll() -> Int { event.unlockAll() }
  /// Silences all handlers of all keys, those added later included.
  public func lock(holding: Holding = .nothing) { event.lock(holding: holding) }
  /// Ends that.
  public func unlock() { event.unlock() }
  /// Whether the event itself is locked.
  public var isLocked: Bool { event.isLocked }

  /// How many handlers there are now, of all keys. O(handlers).
  public var handlerCount: Int { event.handlerCount }
  /// Whether the handler is there. O(1).
  public func contains(_ token: HandlerToken) -> Bool { event.contains(token) }
  /// Whether there is a handler of that name. O(handlers of all keys).
  public func contains(named name: String) -> Bool { event.contains(named: name) }
  /// What the handlers of all keys are like, between two occurrences.
  public var handlers: [HandlerSnapshot] { get async { await event.handlers } }

  /// What the handlers of one key are like, without those of any key. O(handlers of all keys).
  public func handlers(of key: Key) async -> [HandlerSnapshot] {
    await event.handlers { ($0 as? TypedKeyTable<Key>)?.key == key }
  }

  /// Returns when nothing that was sent before is still running; see ``Event/quiesce()``.
  public nonisolated(nonsending) func quiesce() async { await event.quiesce() }
  /// Has an observer told of all that is sent from now on, to whatever key; see ``Event/observe(with:)``.
  @discardableResult public func observe(with observer: some EventObserver) -> EventObservation {
    event.observe(with: observer)
  }
  /// Ends the event; see ``Event/finish()``.
  public func finish() { event.finish() }
}

extension KeyedEvent: CustomStringConvertible {
  /// Its name, keys and payload.
  public var description: String { "event \(name.map { "\"\($0)\" " } ?? "")of \(Payload.self) to \(Key.self)" }
}
