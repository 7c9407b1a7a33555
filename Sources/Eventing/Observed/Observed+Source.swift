// A handler that is added without options receives the old and the new value.

extension Observed: EventSource {
  /// Adds handlers as a group: each change reaches all of them or none. They receive the old and
  /// the new value.
  ///
  /// - Returns: The tokens, in the order of the handlers.
  @inlinable @discardableResult public func add(_ handlers: [Handler<ValueChange<Value>>]) -> [HandlerToken] {
    changes([.old, .new]).add(handlers)
  }
  /// Adds a ``Handler``, which receives the old and the new value of each change.
  ///
  /// The methods that add one handler without options call this.
  ///
  /// - Returns: The token of the handler.
  /// - Complexity: O(1), or O(*p*) for handlers with *p* different priorities.
  @inlinable @discardableResult public func attach(_ handler: Handler<ValueChange<Value>>) -> HandlerToken {
    changes([.old, .new]).attach(handler)
  }

  /// Returns a source of changes. Its handlers receive the parts that the options select.
  ///
  /// The source retains the value. A handler that is added through the source does not retain it.
  ///
  /// - Parameter options: Which calls the handlers receive, and what they contain.
  @inlinable public func changes(_ options: ChangeOptions) -> some EventSource<ValueChange<Value>> {
    ChangeSource(storage: storage, options: options)
  }

  /// A source of the new value of each change. The source retains the value.
  @inlinable public var values: some EventSource<Value> { NewValues(storage: storage, wantsReplayValue: false) }

  /// A source of the current value, at once, and then of the new value of each change.
  ///
  /// Code that shows the value, for instance on a screen, adds its handler here. The source retains
  /// the value. After the call with the current value, no change is missed, and none arrives twice.
  @inlinable public var currentValues: some EventSource<Value> { NewValues(storage: storage, wantsReplayValue: true) }
}

extension Observed: HandlerRegistry {
  /// The handlers of changes. While they are locked, the value changes nevertheless.
  public var handlerTable: HandlerTable { HandlerTable(content: .event(BorrowedCore(storage), .observed)) }

  /// The number and the type of the event of changes: see ``Event/identity``.
  public var identity: EventIdentity { storage.event.identity }
}

/// A source of the changes of a value, reduced to the parts that the options select.
@usableFromInline struct ChangeSource<Value: Sendable>: EventSource {
  @usableFromInline let storage: Observed<Value>.Storage
  @usableFromInline let options: ChangeOptions

  @inlinable init(storage: Observed<Value>.Storage, options: ChangeOptions) {
    self.storage = storage
    self.options = options
  }

  @inlinable func add(_ handlers: [Handler<ValueChange<Value>>]) -> [HandlerToken] {
    storage.event.add(handlers.map(converted))
  }
  @inlinable func attach(_ handler: Handler<ValueChange<Value>>) -> HandlerToken {
    storage.event.attach(converted(handler))
  }
  @inlinable func remove(_ token: HandlerToken) -> Bool { storage.event.core.remove(token) }

  @inlinable func converted(_ handler: Handler<ValueChange<Value>>) -> Handler<ValueChange<Value>> {
    let letter = handler.options.letter  // a dead letter has the change as the handler received it
    let hasPrior = options.contains(.prior) && handler.hasRoomForAnnouncements
    var handler: Handler<ValueChange<Value>> = handler.viewed { [options] change in
      if change.isPrior, !hasPrior { return nil }
      return ValueChange(
        old: options.contains(.old) ? change.old : nil, new: options.contains(.new) ? change.new : nil,
        isPrior: change.isPrior)
    }
    handler.options.letter = letter
    handler.options.wantsReplayValue = options.contains(.initial)
    handler.options.wantsPrior = hasPrior
    return handler
  }
}

/// A source of the new value of each change.
@usableFromInline struct NewValues<Value: Sendable>: EventSource {
  @usableFromInline let storage: Observed<Value>.Storage
  @usableFromInline let wantsReplayValue: Bool

  @inlinable init(storage: Observed<Value>.Storage, wantsReplayValue: Bool) {
    self.storage = storage
    self.wantsReplayValue = wantsReplayValue
  }

  @inlinable func add(_ handlers: [Handler<Value>]) -> [HandlerToken] { storage.event.add(handlers.map(converted)) }
  @inlinable func attach(_ handler: Handler<Value>) -> HandlerToken { storage.event.attach(converted(handler)) }
  @inlinable func remove(_ token: HandlerToken) -> Bool { storage.event.core.remove(token) }
  @inlinable func converted(_ handler: Handler<Value>) -> Handler<ValueChange<Value>> {
    let letter = handler.options.letter.behind(ValueChange<Value>.letterOfNewValue)
    var handler: Handler<ValueChange<Value>> = handler.viewed { change in change.isPrior ? nil : change.new }
    handler.options.letter = letter
    handler.options.wantsReplayValue = wantsReplayValue
    return handler
  }
}

extension Handler {
  /// Whether the announcement of a change can take no room, turn or call away from the change: the
  /// handler has no bound, no pace, and more than one call.
  @usableFromInline var hasRoomForAnnouncements: Bool {
    !isOnce && !any.place.buffering.isBounded && options.modifierBox?.modifiers.pace == nil
  }
}
