// The four kinds of handlers, with what they are told.

extension Observed {
  /// Adds a handler of changes.
  @inlinable @discardableResult public func addHandler(
    named name: String? = nil, options: ChangeOptions, on delivery: Delivery = .inline, priority: Int = 0,
    once: Bool = false,
    _ body: @escaping @Sendable (Change<Value>) throws -> Void
  ) -> HandlerToken { changes(options).addHandler(named: name, on: delivery, priority: priority, once: once, body) }

  /// Adds an asynchronous handler of changes.
  @inlinable @discardableResult public func addHandler(
    named name: String? = nil, options: ChangeOptions, on delivery: AsyncDelivery = .inOrder, priority: Int = 0,
    once: Bool = false,
    _ body: @escaping @Sendable (Change<Value>) async throws -> Void
  ) -> HandlerToken { changes(options).addHandler(named: name, on: delivery, priority: priority, once: once, body) }

  /// Adds a handler of changes on the main actor.
  @inlinable @discardableResult public func addHandler(
    named name: String? = nil, options: ChangeOptions, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    _ body: @escaping @MainActor @Sendable (Change<Value>) throws -> Void
  ) -> HandlerToken { changes(options).addHandler(named: name, on: delivery, priority: priority, once: once, body) }

  /// Adds an asynchronous handler of changes on the main actor.
  @inlinable @discardableResult public func addHandler(
    named name: String? = nil, options: ChangeOptions, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    _ body: @escaping @MainActor @Sendable (Change<Value>) async throws -> Void
  ) -> HandlerToken { changes(options).addHandler(named: name, on: delivery, priority: priority, once: once, body) }
}
