// The events of types, without naming them: what is posted tells which event it is for.

extension EventBus {
  /// Sends through the event of the payload's type, without waiting.
  public func post<Payload: Sendable>(_ payload: Payload, from sender: (any AnyObject & Sendable)? = nil) {
    event(for: Payload.self).post(payload, from: sender)
  }

  /// Sends through the event of the payload's type, and returns when every handler that was reached has finished.
  @discardableResult public nonisolated(nonsending) func send<Payload: Sendable>(
    _ payload: Payload, from sender: (any AnyObject & Sendable)? = nil
  ) async -> SendReport { await event(for: Payload.self).send(payload, from: sender) }

  /// Sends through the event of the payload's type without waiting; the ticket's report can be awaited later.
  public func submit<Payload: Sendable>(_ payload: Payload, from sender: (any AnyObject & Sendable)? = nil) -> Ticket {
    event(for: Payload.self).submit(payload, from: sender)
  }

  /// Adds a handler to the event of a type.
  @discardableResult public func addHandler<Payload: Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: Delivery = .inline, priority: Int = 0,
    once: Bool = false,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken { event(for: type).addHandler(named: name, on: delivery, priority: priority, once: once, body) }

  /// Adds an asynchronous handler to the event of a type.
  @discardableResult public func addHandler<Payload: Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0,
    once: Bool = false,
    _ body: @escaping @Sendable (Payload) async throws -> Void
  ) -> HandlerToken { event(for: type).addHandler(named: name, on: delivery, priority: priority, once: once, body) }

  /// Adds a handler on the main actor to the event of a type.
  @discardableResult public func addHandler<Payload: Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    _ body: @escaping @MainActor @Sendable (Payload) throws -> Void
  ) -> HandlerToken { event(for: type).addHandler(named: name, on: delivery, priority: priority, once: once, body) }

  /// Adds an asynchronous handler on the main actor to the event of a type.
  @discardableResult public func addHandler<Payload: Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    _ body: @escaping @MainActor @Sendable (Payload) async throws -> Void
  ) -> HandlerToken { event(for: type).addHandler(named: name, on: delivery, priority: priority, once: once, body) }
}
