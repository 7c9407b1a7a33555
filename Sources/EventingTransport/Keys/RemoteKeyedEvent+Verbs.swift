public import Eventing

// Methods that concern the handlers of all keys. Each works like the method of `KeyedEvent` with
// its name.

extension RemoteKeyedEvent {
  /// Removes a handler. Returns whether this call removed it.
  @discardableResult public func remove(_ token: HandlerToken) -> Bool { event.remove(token) }
  /// Removes several handlers. Returns the number that this call removed.
  @discardableResult public func remove(_ tokens: [HandlerToken]) -> Int { event.remove(tokens) }
  /// Removes all handlers with a name. Returns their number.
  @discardableResult public func remove(named name: String) -> Int { event.remove(named: name) }
  /// Removes all handlers of an owner. Returns their number.
  @discardableResult public func remove(ownedBy owner: AnyObject) -> Int { event.remove(ownedBy: owner) }
  /// Removes all handlers of all keys. Returns their number.
  @discardableResult public func removeAll() -> Int { event.removeAll() }

  /// Locks a handler. Messages that the lock keeps from the handler are redelivered. Returns
  /// whether the handler exists.
  @discardableResult public func lock(_ token: HandlerToken, holding: Holding = .nothing) -> Bool {
    event.lock(token, holding: holding)
  }
  /// Ends the lock of a handler. Returns whether the handler exists.
  @discardableResult public func unlock(_ token: HandlerToken) -> Bool { event.unlock(token) }
  /// Returns whether a handler is locked by a lock of its own.
  public func isLocked(_ token: HandlerToken) -> Bool { event.isLocked(token) }
  /// Locks the event: it takes no messages until ``unlock()``.
  public func lock(holding: Holding = .nothing) { event.lock(holding: holding) }
  /// Ends the lock of the event, which takes messages again.
  public func unlock() {
    event.unlock()
    channel.listenings.readinessChanged()
  }
  /// Whether the event itself is locked.
  public var isLocked: Bool { event.isLocked }

  /// The number of handlers of all keys.
  public var handlerCount: Int { event.handlerCount }
  /// Waits until no call for a begun message is running or queued.
  public nonisolated(nonsending) func quiesce() async { await event.quiesce() }

  @available(
    *, unavailable, message: "a remote event is published, which may fail: try await event.publish(payload, to: key)"
  )
  public func post(_ payload: Payload, to key: Key) { fatalError("unavailable") }
  @available(
    *, unavailable,
    message:
      "a remote event is published: try await event.publish(payload, to: key) returns when it is stored; it does not wait for handlers of other processes"
  )
  @discardableResult public func send(_ payload: Payload, to key: Key) async -> SendReport { fatalError("unavailable") }
  @available(*, unavailable, message: "say the key: try await event.publish(payload, to: key)")
  public func publish(_ payload: Payload) async throws { fatalError("unavailable") }
}
