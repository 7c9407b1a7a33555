// Overloads with equal labels take closures with equal numbers of parameters. Otherwise the
// compiler would report a mistake inside such a closure as a wrong number of parameters. The only
// exceptions are overloads for signals (`Payload == Void`), whose closures take no payload.

extension EventSource {
  /// Adds a handler.
  ///
  /// By default the handler runs inline: on the thread that delivers, which may be any thread. It
  /// stays until it is removed, or until its event ends. An error that it throws stops no other
  /// handler: it appears in the ``SendReport`` and in ``Event/failures``, and ``FailurePolicy`` can
  /// change that.
  ///
  /// This takes effect before it returns, and may be called from any thread and inside any handler:
  /// see ``EventSource``.
  ///
  /// - Parameters:
  ///   - name: The name in logs and snapshots, by which methods such as
  ///     ``HandlerRegistry/removeAll(where:)`` select handlers. Several handlers may share a name.
  ///   - delivery: Where the handler runs.
  ///   - priority: Handlers of higher priority come first; handlers of equal priority, in the order
  ///     in which they were added.
  ///   - once: Whether the handler is called at most once: see
  ///     ``once(named:on:priority:fileID:line:_:)-(_,SyncDelivery,_,_,_,_)``.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  ///   - body: The closure that is called with each payload.
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  /// - Complexity: O(1), or O(priorities) for the first handler of a priority.
  @inlinable @discardableResult
  public nonisolated func addHandler(
    named name: String? = nil, on delivery: SyncDelivery = .inline, priority: Int = 0, once: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    attachSync(delivery, name, priority, once, fileID, line, body)
  }

  /// Adds an asynchronous handler, whose calls by default come one at a time, in order: see
  /// ``addHandler(named:on:priority:once:fileID:line:_:)-(_,SyncDelivery,_,_,_,_,_)``.
  @discardableResult
  public nonisolated func addHandler(
    named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0, once: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Payload) async throws -> Void
  ) -> HandlerToken {
    attach(Handler(on: delivery, fileID: fileID, line: line, body), name, priority, once)
  }

  /// Adds a synchronous handler that runs on the main actor: see
  /// ``addHandler(named:on:priority:once:fileID:line:_:)-(_,SyncDelivery,_,_,_,_,_)``.
  @discardableResult
  public nonisolated func addHandler(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    attach(Handler(on: delivery, fileID: fileID, line: line, body), name, priority, once)
  }

  /// Adds an asynchronous handler that runs on the main actor, one call at a time, in order: see
  /// ``addHandler(named:on:priority:once:fileID:line:_:)-(_,SyncDelivery,_,_,_,_,_)``.
  @discardableResult
  public nonisolated func addHandler(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Payload) async throws -> Void
  ) -> HandlerToken {
    attach(Handler(on: delivery, fileID: fileID, line: line, body), name, priority, once)
  }

  /// Adds a handler that runs isolated to an actor, one call at a time, in order.
  ///
  /// The handler ends when the actor is released. The actor is held weakly, and strongly for the
  /// length of a call. If the handler is removed on that actor, no call runs afterwards. All else
  /// is as for ``addHandler(named:on:priority:once:fileID:line:_:)-(_,SyncDelivery,_,_,_,_,_)``.
  ///
  /// - Parameters:
  ///   - name: The name in logs and snapshots. Several handlers may share a name.
  ///   - priority: Handlers of higher priority come first.
  ///   - once: Whether the handler is called at most once.
  ///   - actor: The actor that the handler runs on, and that is its owner.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  ///   - body: The closure that is called with the actor and each payload.
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  @discardableResult
  public nonisolated func addHandler<Isolation: Actor>(
    named name: String? = nil, priority: Int = 0, once: Bool = false, isolatedTo actor: Isolation,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (isolated Isolation, Payload) async throws -> Void
  ) -> HandlerToken {
    attachIsolated(Handler(isolatedTo: actor, fileID: fileID, line: line, body), name, priority, once)
  }

  /// Adds a handler of a signal that runs isolated to an actor. Otherwise like the overload whose
  /// closure takes a payload.
  @discardableResult
  public nonisolated func addHandler<Isolation: Actor>(
    named name: String? = nil, priority: Int = 0, once: Bool = false, isolatedTo actor: Isolation,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (isolated Isolation) async throws -> Void
  ) -> HandlerToken where Payload == Void {
    attachIsolated(
      Handler(isolatedTo: actor, fileID: fileID, line: line) { actor, _ in try await body(actor) }, name, priority, once
    )
  }

  private nonisolated func attachIsolated(
    _ handler: Handler<Payload>, _ name: String?, _ priority: Int, _ once: Bool
  ) -> HandlerToken {
    attach(handler, name, priority, once, handler.options.owner)
  }
}
