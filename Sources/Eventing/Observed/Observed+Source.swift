// Without options a handler is told the old and the new value.

extension Observed: EventSource {
  /// Adds handlers as a group: every one of them sees a change, or none.
  @inlinable @discardableResult public func add(_ handlers: [Handler<Change<Value>>]) -> [HandlerToken] {
    changes([.old, .new]).add(handlers)
  }
  /// Adds a handler.
  @inlinable @discardableResult public func attach(_ handler: Handler<Change<Value>>) -> HandlerToken {
    changes([.old, .new]).attach(handler)
  }
  /// Removes a handler; false if it was gone, or is another's.
  @discardableResult public func remove(_ token: HandlerToken) -> Bool { storage.event.remove(token) }

  /// The changes, with what the options ask for. It keeps the value alive.
  @inlinable public func changes(_ options: ChangeOptions) -> some EventSource<Change<Value>> {
    ChangeSource(storage: storage, options: options)
  }

  /// The new value of each change, for those who want nothing else. It keeps the value alive.
  @inlinable public var values: some EventSource<Value> { NewValues(storage: storage, wantsReplayValue: false) }

  /// The same, with the value as it is at once: what a view of it shows.
  @inlinable public var currentValues: some EventSource<Value> { NewValues(storage: storage, wantsReplayValue: true) }

  /// Returns when no change that was made before is still being told; see ``Event/quiesce()``.
  public nonisolated(nonsending) func quiesce() async { await storage.event.quiesce() }
}

/// The changes of a value, as options say.
@usableFromInline struct ChangeSource<Value: Sendable>: EventSource {
  @usableFromInline let storage: Observed<Value>.Storage
  @usableFromInline let options: ChangeOptions

  @inlinable init(storage: Observed<Value>.Storage, options: ChangeOptions) {
    self.storage = storage
    self.options = options
  }

  @inlinable func add(_ handlers: [Handler<Change<Value>>]) -> [HandlerToken] {
    storage.event.add(handlers.map(converted))
  }
  @inlinable func attach(_ handler: Handler<Change<Value>>) -> HandlerToken { storage.event.attach(converted(handler)) }
  @inlinable func remove(_ token: HandlerToken) -> Bool { storage.event.remove(token) }

  @inlinable func converted(_ handler: Handler<Change<Value>>) -> Handler<Change<Value>> {
    var handler: Handler<Change<Value>> = handler.viewed { [options] change in
      if change.isPrior, !options.contains(.prior) { return nil }
      return Change(
        old: options.contains(.old) ? change.old : nil, new: options.contains(.new) ? change.new : nil,
        isPrior: change.isPrior)
    }
    handler.options.wantsReplayValue = options.contains(.initial)
    handler.options.wantsPrior = options.contains(.prior)
    return handler
  }
}

/// The new value of each change.
@usableFromInline struct NewValues<Value: Sendable>: EventSource {
  @usableFromInline let storage: Observed<Value>.Storage
  @usableFromInline let wantsReplayValue: Bool

  @inlinable init(storage: Observed<Value>.Storage, wantsReplayValue: Bool) {
    self.storage = storage
    self.wantsReplayValue = wantsReplayValue
  }

  @inlinable func add(_ handlers: [Handler<Value>]) -> [HandlerToken] { storage.event.add(handlers.map(converted)) }
  @inlinable func attach(_ handler: Handler<Value>) -> HandlerToken { storage.event.attach(converted(handler)) }
  @inlinable func remove(_ token: HandlerToken) -> Bool { storage.event.remove(token) }
  @inlinable func converted(_ handler: Handler<Value>) -> Handler<Change<Value>> {
    var handler: Handler<Change<Value>> = handler.viewed { change in change.isPrior ? nil : change.new }
    handler.options.wantsReplayValue = wantsReplayValue
    return handler
  }
}
