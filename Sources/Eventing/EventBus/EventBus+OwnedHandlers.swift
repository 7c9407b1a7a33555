// Handlers with an owner, for the event of a type.
extension EventBus {
  /// Adds a handler that is given its owner, and ends with it, to the event of a type.
  ///
  /// As `event(for: type).addHandler(owner:)` of ``EventSource``: the owner is held weakly, and
  /// strongly for the length of a call.
  @discardableResult public func addHandler<Payload: Sendable, Owner: AnyObject & Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: Delivery = .inline, priority: Int = 0,
    once: Bool = false, owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Owner, Payload) throws -> Void
  ) -> HandlerToken {
    event(for: type).addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line, body)
  }

  /// Adds an asynchronous handler that is given its owner, and ends with it, to the event of a
  /// type.
  @discardableResult public func addHandler<Payload: Sendable, Owner: AnyObject & Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0,
    once: Bool = false, owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Owner, Payload) async throws -> Void
  ) -> HandlerToken {
    event(for: type).addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line, body)
  }

  /// Adds a handler on the main actor that is given its owner, and ends with it, to the event of a
  /// type.
  @discardableResult public func addHandler<Payload: Sendable, Owner: AnyObject & Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: MainDelivery, priority: Int = 0,
    once: Bool = false, owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Owner, Payload) throws -> Void
  ) -> HandlerToken {
    event(for: type).addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line, body)
  }

  /// Adds an asynchronous handler on the main actor that is given its owner, and ends with it, to
  /// the event of a type.
  @discardableResult public func addHandler<Payload: Sendable, Owner: AnyObject & Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: MainDelivery, priority: Int = 0,
    once: Bool = false, owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Owner, Payload) async throws -> Void
  ) -> HandlerToken {
    event(for: type).addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line, body)
  }

  /// Removes a handler of any event of the bus; see ``Event/remove(_:)-(HandlerToken)``.
  ///
  /// - Returns: Whether this call ended the handler: `false` if it had ended, or is none of an
  ///   event of the bus.
  /// - Complexity: O(events of the bus).
  @discardableResult public func remove(_ token: HandlerToken) -> Bool {
    for event in all {
      if let event = event as? any CoreOwner, event.core.owns(token) { return event.core.remove(token.record) }
    }
    return false
  }
}

/// An event of any payload, as its core.
private protocol CoreOwner {
  nonisolated var core: EventCore { get }
}

extension Event: CoreOwner {}
