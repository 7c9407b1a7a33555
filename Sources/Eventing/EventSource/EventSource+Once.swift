extension EventSource {
  /// Adds, for one call, a handler.
  ///
  /// It is called exactly once if any send reaches it, however many threads send, its own handler's nested sends included. It is used up by a call that
  /// begins, a throwing one too, and never by one that was skipped. Other ways to add take `once: true`.
  @inlinable @discardableResult
  public nonisolated func once(
    named name: String? = nil, on delivery: Delivery = .inline, priority: Int = 0,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    attachSync(delivery, name, priority, true, body)
  }

  /// Adds, for one call, an asynchronous handler.
  @discardableResult
  public nonisolated func once(
    named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0,
    _ body: @escaping @Sendable (Payload) async throws -> Void
  ) -> HandlerToken {
    attach(Handler(on: delivery, body), name, priority, true)
  }

  /// Adds, for one call, a handler on the main actor.
  @discardableResult
  public nonisolated func once(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0,
    _ body: @escaping @MainActor @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    attach(Handler(on: delivery, body), name, priority, true)
  }

  /// Adds, for one call, an asynchronous handler on the main actor.
  @discardableResult
  public nonisolated func once(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0,
    _ body: @escaping @MainActor @Sendable (Payload) async throws -> Void
  ) -> HandlerToken {
    attach(Handler(on: delivery, body), name, priority, true)
  }
}
