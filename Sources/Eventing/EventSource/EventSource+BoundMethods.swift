extension EventSource {
  // At least one argument, or a call without any is ambiguous with the overload of plain methods.

  /// Adds a method of an owner with arguments that follow the payload; the handler ends with its owner, which is held weakly.
  ///
  ///     orderPlaced.addHandler(Ledger.book, of: ledger, with: account, "web")   // func book(_: Order, _: Account, _: String)
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, First: Sendable, each Bound: Sendable>(
    named name: String? = nil, on delivery: Delivery = .inline, priority: Int = 0, once: Bool = false,
    _ method: @escaping @Sendable (Owner) -> @Sendable (Payload, First, repeat each Bound) throws -> Void,
    of owner: Owner, with first: First, _ bound: repeat each Bound
  ) -> HandlerToken {
    addHandler(named: name, on: delivery, priority: priority, once: once, owner: owner) { owner, payload in
      try method(owner)(payload, first, repeat each bound)
    }
  }

  /// Adds an asynchronous method of an owner with arguments that follow the payload.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, First: Sendable, each Bound: Sendable>(
    named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0, once: Bool = false,
    _ method: @escaping @Sendable (Owner) -> @Sendable (Payload, First, repeat each Bound) async throws -> Void,
    of owner: Owner, with first: First, _ bound: repeat each Bound
  ) -> HandlerToken {
    addHandler(named: name, on: delivery, priority: priority, once: once, owner: owner) { owner, payload in
      try await method(owner)(payload, first, repeat each bound)
    }
  }

  /// Adds a main-actor method of an owner with arguments that follow the payload.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, First: Sendable, each Bound: Sendable>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    _ method:
      @escaping @MainActor @Sendable (Owner) -> @MainActor @Sendable (Payload, First, repeat each Bound) throws -> Void,
    of owner: Owner, with first: First, _ bound: repeat each Bound
  ) -> HandlerToken {
    addHandler(named: name, on: delivery, priority: priority, once: once, owner: owner) { owner, payload in
      try method(owner)(payload, first, repeat each bound)
    }
  }

  /// The same for an asynchronous method on the main actor.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, First: Sendable, each Bound: Sendable>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    _ method:
      @escaping @MainActor @Sendable (Owner) ->
      @MainActor @Sendable (Payload, First, repeat each Bound) async throws -> Void,
    of owner: Owner, with first: First, _ bound: repeat each Bound
  ) -> HandlerToken {
    addHandler(named: name, on: delivery, priority: priority, once: once, owner: owner) { owner, payload in
      try await method(owner)(payload, first, repeat each bound)
    }
  }
}
