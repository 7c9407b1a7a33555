// The owner is held weakly, and strongly for the length of a call; its last release, and so its `deinit`, may happen where the handler runs.

extension EventSource {
  /// Adds a handler that is given its owner and ends with it.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: Delivery = .inline, priority: Int = 0, once: Bool = false, owner: Owner,
    _ body: @escaping @Sendable (Owner, Payload) throws -> Void
  ) -> HandlerToken {
    attachOwned(
      Handler(delivery.place, .sync { try body($0.owner(), $0.payload.payload()) }), owner, name, priority, once)
  }

  /// Adds an asynchronous handler that is given its owner and ends with it.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0, once: Bool = false,
    owner: Owner,
    _ body: @escaping @Sendable (Owner, Payload) async throws -> Void
  ) -> HandlerToken {
    attachOwned(
      Handler(delivery.place, .async { try await body($0.owner(), $0.payload.payload()) }), owner, name, priority, once)
  }

  /// Adds a handler on the main actor that is given its owner and ends with it.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false, owner: Owner,
    _ body: @escaping @MainActor @Sendable (Owner, Payload) throws -> Void
  ) -> HandlerToken {
    attachOwned(
      Handler(delivery.place, .sync(onMainActor { try body($0.owner(), $0.payload.payload()) })), owner, name, priority,
      once)
  }

  /// Adds an asynchronous handler on the main actor that is given its owner and ends with it.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false, owner: Owner,
    _ body: @escaping @MainActor @Sendable (Owner, Payload) async throws -> Void
  ) -> HandlerToken {
    attachOwned(
      Handler(delivery.place, .mainAsync { try await body($0.owner(), $0.payload.payload()) }), owner, name, priority,
      once)
  }

  /// Adds a handler that is given its owner and ends with it.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: Delivery = .inline, priority: Int = 0, once: Bool = false, owner: Owner,
    _ body: @escaping @Sendable (Owner) throws -> Void
  ) -> HandlerToken where Payload == Void {
    attachOwned(Handler(delivery.place, .sync { try body($0.owner()) }), owner, name, priority, once)
  }

  /// Adds an asynchronous handler that is given its owner and ends with it.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0, once: Bool = false,
    owner: Owner,
    _ body: @escaping @Sendable (Owner) async throws -> Void
  ) -> HandlerToken where Payload == Void {
    attachOwned(Handler(delivery.place, .async { try await body($0.owner()) }), owner, name, priority, once)
  }

  /// Adds a handler on the main actor that is given its owner and ends with it.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false, owner: Owner,
    _ body: @escaping @MainActor @Sendable (Owner) throws -> Void
  ) -> HandlerToken where Payload == Void {
    attachOwned(Handler(delivery.place, .sync(onMainActor { try body($0.owner()) })), owner, name, priority, once)
  }

  /// Adds an asynchronous handler on the main actor that is given its owner and ends with it.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false, owner: Owner,
    _ body: @escaping @MainActor @Sendable (Owner) async throws -> Void
  ) -> HandlerToken where Payload == Void {
    attachOwned(Handler(delivery.place, .mainAsync { try await body($0.owner()) }), owner, name, priority, once)
  }

  @usableFromInline nonisolated func attachOwned(
    _ handler: Handler<Payload>, _ owner: any AnyObject & Sendable, _ name: String?, _ priority: Int, _ once: Bool
  ) -> HandlerToken {
    attach(handler, name, priority, once, Owner(owner))
  }
}

extension HandlerArguments {
  /// The owner, as what it was when the handler was added.
  @inlinable func owner<Object: AnyObject>(_: Object.Type = Object.self) -> Object {
    guard let owner else { preconditionFailure("a handler with an owner is called with it") }
    // Safe: the owner of a handler is the object that it was made with.
    return unsafe unsafeDowncast(owner, to: Object.self)
  }
}
