// No two of these may fit the same labels with closures of different numbers of parameters: the compiler then reports
// that number instead of the mistake inside the closure.

extension EventSource {
  /// Adds a handler.
  ///
  /// It ends when it is removed, or the event goes. An inline handler may run on any thread. An error that it throws stops no other handler; it is in the
  /// report of the send.
  ///
  /// - Parameters:
  ///   - name: For logs, snapshots, and the verbs that take a name. Several handlers may have the same.
  ///   - delivery: Where it runs.
  ///   - priority: Handlers of higher priority come first; among equals, those that were added first.
  ///   - once: Whether it is called once at most: used up by a call that begins, never by one that was skipped.
  ///   - body: What is called with each payload.
  @inlinable @discardableResult
  public nonisolated func addHandler(
    named name: String? = nil, on delivery: Delivery = .inline, priority: Int = 0, once: Bool = false,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    attachSync(delivery, name, priority, once, body)
  }

  /// Adds an asynchronous handler: unless `on:` says otherwise, its calls come one at a time, in order.
  @discardableResult
  public nonisolated func addHandler(
    named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0, once: Bool = false,
    _ body: @escaping @Sendable (Payload) async throws -> Void
  ) -> HandlerToken {
    attach(Handler(on: delivery, body), name, priority, once)
  }

  /// Adds a handler on the main actor.
  @discardableResult
  public nonisolated func addHandler(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    _ body: @escaping @MainActor @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    attach(Handler(on: delivery, body), name, priority, once)
  }

  /// Adds an asynchronous handler on the main actor: its calls come one at a time, in order.
  @discardableResult
  public nonisolated func addHandler(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    _ body: @escaping @MainActor @Sendable (Payload) async throws -> Void
  ) -> HandlerToken {
    attach(Handler(on: delivery, body), name, priority, once)
  }

  /// Adds a handler that runs on an actor, one call at a time, in order, and ends with it.
  ///
  /// The actor is held weakly, and strongly for the length of a call.
  @discardableResult
  public nonisolated func addHandler<Isolation: Actor>(
    named name: String? = nil, priority: Int = 0, once: Bool = false, isolatedTo actor: Isolation,
    _ body: @escaping @Sendable (isolated Isolation, Payload) async throws -> Void
  ) -> HandlerToken {
    attachIsolated(actor, name, priority, once) { actor, call in try await body(actor, call.payload.payload()) }
  }

  /// Adds a handler of nothing that runs on an actor, one call at a time, in order, and ends with it.
  @discardableResult
  public nonisolated func addHandler<Isolation: Actor>(
    named name: String? = nil, priority: Int = 0, once: Bool = false, isolatedTo actor: Isolation,
    _ body: @escaping @Sendable (isolated Isolation) async throws -> Void
  ) -> HandlerToken where Payload == Void {
    attachIsolated(actor, name, priority, once) { actor, _ in try await body(actor) }
  }

  private nonisolated func attachIsolated<Isolation: Actor>(
    _ actor: Isolation, _ name: String?, _ priority: Int, _ once: Bool,
    _ body: @escaping @Sendable (isolated Isolation, HandlerArguments) async throws -> Void
  ) -> HandlerToken {
    let handler = Handler<Payload>(
      .actor,
      .isolated { actor, call in
        // Safe: the owner of this handler is the actor that it was made with.
        try await body(unsafe unsafeDowncast(actor, to: Isolation.self), call)
      })
    return attach(handler, name, priority, once, Owner(isolating: actor))
  }
}
