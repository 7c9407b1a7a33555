// Methods for all handlers of the event, whatever their key: removing, locking and inspecting.

extension KeyedEvent {
  /// Removes a handler, whatever its key, as ``Event/remove(_:)`` does.
  ///
  /// - Returns: `false` if the handler was gone, or belongs to another event.
  /// - Complexity: O(1), amortized.
  @discardableResult public func remove(_ token: HandlerToken) -> Bool { event.remove(token) }

  /// Locks a handler until it is unlocked, as ``Event/lock(_:holding:)`` does.
  ///
  /// - Parameters:
  ///   - token: The token of the handler.
  ///   - holding: Whether occurrences are skipped meanwhile, or held until the lock ends.
  /// - Returns: Whether the handler exists.
  /// - Complexity: O(1).
  @discardableResult public func lock(_ token: HandlerToken, holding: Holding = .nothing) -> Bool {
    event.lock(token, holding: holding)
  }
  /// Ends the lock of a handler, as ``Event/unlock(_:)`` does. Returns whether the
  /// handler exists.
  @discardableResult public func unlock(_ token: HandlerToken) -> Bool { event.unlock(token) }
  /// Returns whether a handler is locked, as ``Event/isLocked(_:)`` does; `false` if there is no
  /// such handler. O(1).
  public func isLocked(_ token: HandlerToken) -> Bool { event.isLocked(token) }
  /// Locks a handler while a closure runs, as ``Event/withLocked(_:holding:_:)`` does.
  @discardableResult public nonisolated(nonsending) func withLocked<Result, Failure: Error>(
    _ token: HandlerToken, holding: Holding = .nothing,
    _ body: nonisolated(nonsending) () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    try await event.withLocked(token, holding: holding, body)
  }
  /// Removes handlers, by default all, as ``Event/removeAll(where:)`` does. Returns their number.
  /// O(*n*) for *n* handlers of all keys.
  @discardableResult public func removeAll(where filter: HandlerFilter = .all) -> Int {
    event.removeAll(where: filter)
  }
  /// Locks handlers, by default all that are there now, as ``Event/lockAll(where:holding:)`` does.
  /// Returns their number. O(*n*) for *n* handlers of all keys.
  @discardableResult public func lockAll(where filter: HandlerFilter = .all, holding: Holding = .nothing) -> Int {
    event.lockAll(where: filter, holding: holding)
  }
  /// Unlocks handlers, by default all, as ``Event/unlockAll(where:)`` does. Returns their number.
  /// O(*n*) for *n* handlers of all keys.
  @discardableResult public func unlockAll(where filter: HandlerFilter = .all) -> Int {
    event.unlockAll(where: filter)
  }
  /// Returns whether a filter selects any handler. O(*n*) for *n* handlers of all keys.
  public func contains(where filter: HandlerFilter) -> Bool { event.contains(where: filter) }
  /// Returns snapshots of the handlers that a filter selects. O(*n*) for *n* handlers of all keys.
  public func handlers(where filter: HandlerFilter) async -> [HandlerSnapshot] { await event.handlers(where: filter) }
  /// Locks the event: no handler of any key is called, those added later included. See
  /// ``Event/lock(holding:)``.
  public func lock(holding: Holding = .nothing) { event.lock(holding: holding) }
  /// Ends the lock of the event, as ``Event/unlock()`` does. The locks of its handlers stay.
  public func unlock() { event.unlock() }
  /// Whether the event itself is locked. O(1).
  public var isLocked: Bool { event.isLocked }

  /// The number of handlers of all keys now. O(*n*) for *n* handlers of all keys.
  public var handlerCount: Int { event.handlerCount }
  /// Returns whether a handler exists. O(1).
  public func contains(_ token: HandlerToken) -> Bool { event.contains(token) }
  /// Snapshots of the handlers of all keys, taken between two occurrences; see ``Event/handlers``.
  public var handlers: [HandlerSnapshot] { get async { await event.handlers } }
  /// Whether there are handlers of any key. O(*n*) for *n* handlers of all keys.
  public var hasHandlers: Bool { event.hasHandlers }

  /// Returns snapshots of the handlers of one key, without those of ``anyKey``. The snapshots are
  /// taken between two occurrences.
  ///
  /// - Parameter key: The key to inspect.
  /// - Returns: The snapshots, in the order in which the handlers are called.
  /// - Complexity: O(*n*) for *n* handlers of all keys.
  public func handlers(of key: Key) async -> [HandlerSnapshot] {
    await event.handlers { ($0?.key as? KeyBox<Key>)?.key == key }
  }

  /// Waits until no call for an occurrence that was sent before, to any key or none, is running or
  /// queued; see ``Event/quiesce()``.
  public nonisolated(nonsending) func quiesce() async { await event.quiesce() }
  /// Adds an observer, which is told of every occurrence that is sent from now on, to any key or
  /// none; see ``Event/observe(with:)``.
  @discardableResult public func observe(with observer: some EventObserver) -> EventRegistration {
    event.observe(with: observer)
  }
  /// Ends the event: every occurrence that was sent is delivered, then the event's handlers are
  /// released. See ``Event/finish()``.
  public func finish() { event.finish() }
}

// Looking at keys.
extension KeyedEvent {
  /// The keys that have handlers, in no order. Handlers of ``anyKey`` and ``untargeted`` are not
  /// among them.
  ///
  /// Callable from any thread, and never waits. Sees each handler that was added before the call.
  ///
  /// - Complexity: O(handlers of all keys).
  public var keys: [Key] {
    var seen: Set<Key> = []
    return event.core.livingKeyBoxes().compactMap { box in
      guard let key = (box as? KeyBox<Key>)?.key, seen.insert(key).inserted else { return nil }
      return key
    }
  }

  /// Returns the number of handlers of one key, without those of ``anyKey``.
  ///
  /// Callable from any thread, and never waits. Counts each handler that was added before the call.
  ///
  /// - Complexity: O(handlers of all keys).
  public func handlerCount(for key: Key) -> Int {
    event.core.livingKeyBoxes().count { ($0 as? KeyBox<Key>)?.key == key }
  }

  /// Whether ``finish()`` was called; see ``Event/isFinished``.
  public var isFinished: Bool { event.isFinished }
}

extension KeyedEvent: CustomStringConvertible {
  /// The name of the event, and the types of its payload and keys.
  public var description: String { "event \(name.map { "\"\($0)\" " } ?? "")of \(Payload.self) to \(Key.self)" }
}
