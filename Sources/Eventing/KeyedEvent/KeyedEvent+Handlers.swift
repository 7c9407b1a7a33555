extension KeyedEvent: HandlerRegistry {
  /// The handlers of all keys, of ``anyKey`` and of ``untargeted``.
  public var handlerTable: HandlerTable { HandlerTable(content: .event(BorrowedCore(event), .keyed)) }
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

  /// Returns snapshots of the handlers of one key, without those of ``anyKey``. The snapshots are
  /// taken between two occurrences.
  ///
  /// - Parameter key: The key to inspect.
  /// - Returns: The snapshots, in the order in which the handlers are called.
  /// - Complexity: O(*n*) for *n* handlers of all keys.
  public func handlers(of key: Key) async -> [HandlerSnapshot] {
    await event.handlers() { ($0?.key as? KeyBox<Key>)?.key == key }
  }
}

extension Event {
  /// Returns snapshots of some handlers of a keyed event: those in the tables that a closure
  /// accepts.
  ///
  /// - Parameter isIncluded: A closure that returns whether a table is accepted. Its argument is
  ///   the table of one key or of `untargeted`. For the core's own table, which has the handlers
  ///   of `anyKey`, the argument is `nil`.
  func handlers(in isIncluded: (KeyTable?) -> Bool) -> [HandlerSnapshot] {
    core.snapshots(in: isIncluded)
  }
}

extension KeyedEvent: CustomStringConvertible {
  /// The name of the event, and the types of its payload and keys.
  public var description: String { "event \(name.map { "\"\($0)\" " } ?? "")of \(Payload.self) to \(Key.self)" }
}
