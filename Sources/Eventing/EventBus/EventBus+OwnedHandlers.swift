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
}
