extension KeyedEvent: HandlerRegistry {
  /// The handlers of all keys, and of ``anyKey``.
  public var handlerTable: HandlerTable { HandlerTable(content: .event(BorrowedCore(event), .keyed)) }
}

// Looking at keys.
extension KeyedEvent {
  /// The keys that have handlers, in no order. Handlers of ``anyKey`` are not among them.
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
}

extension KeyedEvent: CustomStringConvertible {
  /// The name of the event, and the types of its payload and keys.
  public var description: String { "event \(name.map { "\"\($0)\" " } ?? "")of \(Payload.self) to \(Key.self)" }
}
