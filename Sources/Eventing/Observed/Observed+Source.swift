// Without options a handler is told the old and the new value.

extension Observed: EventSource {
  /// Adds handlers as a group: every one of them sees a change, or none.
  @discardableResult public func add(_ handlers: [Handler<Change<Value>>]) -> [HandlerToken] { changes([.old, .new]).add(handlers) }
  /// Adds a handler.
  @discardableResult public func attach(_ handler: Handler<Change<Value>>) -> HandlerToken { changes([.old, .new]).attach(handler) }
  /// Removes a handler; false if it was gone, or is another's.
  @discardableResult public func remove(_ token: HandlerToken) -> Bool { storage.event.remove(token) }

  /// The changes, with what the options ask for. It keeps the value alive.
  public func changes(_ options: ChangeOptions) -> some EventSource<Change<Value>> { ChangeSource(storage: storage, options: options) }

  /// The new value of each change, for those who want nothing else. It keeps the value alive.
  public var values: some EventSource<Value> { changes(.new).compactMap(\.new) }

  /// The same, with the value as it is at once: what a view of it shows.
  public var currentValues: some EventSource<Value> { changes([.initial, .new]).compactMap(\.new) }

  /// Returns when no change that was made before is still being told; see ``Event/quiesce()``.
  public nonisolated(nonsending) func quiesce() async { await storage.event.quiesce() }
}

/// The changes of a value, as options say.
private struct ChangeSource<Value: Sendable>: EventSource {
  let storage: Observed<Value>.Storage
  let options: ChangeOptions

  func add(_ handlers: [Handler<Change<Value>>]) -> [HandlerToken] { storage.event.add(handlers.map(converted)) }
  func attach(_ handler: Handler<Change<Value>>) -> HandlerToken { storage.event.attach(converted(handler)) }
  func remove(_ token: HandlerToken) -> Bool { storage.event.remove(token) }

  private func converted(_ handler: Handler<Change<Value>>) -> Handler<Change<Value>> {
    var handler: Handler<Change<Value>> = handler.converted { [options] change, _ in
      if change.isPrior, !options.contains(.prior) { return nil }
      return Change(
        old: options.contains(.old) ? change.old : nil, new: options.contains(.new) ? change.new : nil, isPrior: change.isPrior)
    }
    handler.options.isGreeted = options.contains(.initial)
    handler.options.wantsPrior = options.contains(.prior)
    return handler
  }
}
