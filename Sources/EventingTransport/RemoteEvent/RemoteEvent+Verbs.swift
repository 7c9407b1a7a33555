public import Eventing

// Methods that concern the handlers of an event. Each works like the method of `Event` with its
// name.

extension RemoteEvent {
  // MARK: Removing

  // MARK: Locking

  /// Locks a handler, as ``Eventing/Event/lock(_:holding:)`` does. A message that
  /// the lock keeps from the handler counts as unhandled by it. If no other handler has handled the
  /// message, an engine that stores messages delivers it again.
  ///
  /// - Returns: Whether the handler exists.
  @discardableResult public func lock(_ token: HandlerToken, holding: Holding = .nothing) -> Bool {
    event.lock(token, holding: holding)
  }
  /// Ends the lock of a handler. Returns whether the handler exists.
  @discardableResult public func unlock(_ token: HandlerToken) -> Bool { event.unlock(token) }
  /// Removes handlers, by default all, as ``Eventing/Event/removeAll(where:)`` does. Returns their
  /// number. O(*n*) for *n* handlers.
  @discardableResult public func removeAll(where filter: HandlerFilter = .all) -> Int {
    event.removeAll(where: filter)
  }
  /// Locks handlers, by default all that are there now, as
  /// ``Eventing/Event/lockAll(where:holding:)`` does. Returns their number. O(*n*) for *n*
  /// handlers.
  @discardableResult public func lockAll(where filter: HandlerFilter = .all, holding: Holding = .nothing) -> Int {
    event.lockAll(where: filter, holding: holding)
  }
  /// Unlocks handlers, by default all, as ``Eventing/Event/unlockAll(where:)`` does. Returns their
  /// number. O(*n*) for *n* handlers.
  @discardableResult public func unlockAll(where filter: HandlerFilter = .all) -> Int {
    event.unlockAll(where: filter)
  }
  /// Returns whether a filter selects any handler. O(*n*) for *n* handlers.
  public func contains(where filter: HandlerFilter) -> Bool { event.contains(where: filter) }
  /// Returns snapshots of the handlers that a filter selects. O(*n*) for *n* handlers.
  public func handlers(where filter: HandlerFilter) async -> [HandlerSnapshot] { await event.handlers(where: filter) }
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
  /// Returns whether a handler is registered with this event. O(1).
  public func contains(_ token: HandlerToken) -> Bool { event.contains(token) }
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
