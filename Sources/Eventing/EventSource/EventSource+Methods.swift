// Inlinable, or each call allocates: `method(owner)` makes a closure unless the compiler sees the method.
// The owner comes last, so that no trailing closure is ever taken for a method: with `owner:` first, every mistake inside
// an owner's closure is reported as a wrong number of parameters.

extension EventSource {
  /// Adds a method of an owner, which is held weakly; the handler ends with it.
  ///
  /// The method may take the values of a tuple one by one.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, each Value>(
    named name: String? = nil, on delivery: Delivery = .inline, priority: Int = 0, once: Bool = false,
    _ method: @escaping @Sendable (Owner) -> @Sendable (repeat each Value) throws -> Void,
    of owner: Owner
  ) -> HandlerToken where Payload == (repeat each Value) {
    addHandler(named: name, on: delivery, priority: priority, once: once, owner: owner) { owner, value in
      try method(owner)(repeat each value)
    }
  }

  /// Adds an asynchronous method of an owner.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, each Value>(
    named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0, once: Bool = false,
    _ method: @escaping @Sendable (Owner) -> @Sendable (repeat each Value) async throws -> Void,
    of owner: Owner
  ) -> HandlerToken where Payload == (repeat each Value) {
    addHandler(named: name, on: delivery, priority: priority, once: once, owner: owner) { owner, value in
      try await method(owner)(repeat each value)
    }
  }

  /// Adds a main-actor method of an owner.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, each Value>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    _ method: @escaping @MainActor @Sendable (Owner) -> @MainActor @Sendable (repeat each Value) throws -> Void,
    of owner: Owner
  ) -> HandlerToken where Payload == (repeat each Value) {
    addHandler(named: name, on: delivery, priority: priority, once: once, owner: owner) { owner, value in
      try method(owner)(repeat each value)
    }
  }

  /// Adds an asynchronous main-actor method of an owner.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, each Value>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    _ method: @escaping @MainActor @Sendable (Owner) -> @MainActor @Sendable (repeat each Value) async throws -> Void,
    of owner: Owner
  ) -> HandlerToken where Payload == (repeat each Value) {
    addHandler(named: name, on: delivery, priority: priority, once: once, owner: owner) { owner, value in
      try await method(owner)(repeat each value)
    }
  }
}
