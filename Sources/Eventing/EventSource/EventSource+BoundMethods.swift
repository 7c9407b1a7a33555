extension EventSource {
  // At least one argument is required: without it, a call without arguments would be ambiguous with
  // the overload for plain methods.

  /// Adds a method of an owner as a handler, with arguments that follow the payload.
  ///
  ///     // func book(_: Order, _: Account, _: String)
  ///     orderPlaced.addHandler(Ledger.book, of: ledger, with: account, "web")
  ///
  /// The handler ends with its owner, which is held weakly. All else is as for
  /// ``addHandler(named:on:priority:once:_:of:fileID:line:)-(_,SyncDelivery,_,_,_,_,_,_)``.
  ///
  /// - Parameters:
  ///   - name: The name in logs and snapshots. Several handlers may share a name.
  ///   - delivery: Where the handler runs.
  ///   - priority: Handlers of higher priority come first.
  ///   - once: Whether the handler is called at most once.
  ///   - method: The method, written as `Type.method`.
  ///   - owner: The object whose method is called.
  ///   - first: The argument that follows the payload. The handler retains it.
  ///   - bound: Further arguments. The handler retains them.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, First: Sendable, each Bound: Sendable>(
    named name: String? = nil, on delivery: SyncDelivery = .inline, priority: Int = 0, once: Bool = false,
    _ method: @escaping @Sendable (Owner) -> @Sendable (Payload, First, repeat each Bound) throws -> Void,
    of owner: Owner, with first: First, _ bound: repeat each Bound,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> HandlerToken {
    addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line
    ) { owner, payload in
      try method(owner)(payload, first, repeat each bound)
    }
  }

  /// Adds an asynchronous method of an owner, with arguments that follow the payload: see
  /// ``addHandler(named:on:priority:once:_:of:with:_:fileID:line:)-(_,SyncDelivery,_,_,_,_,_,_,_,_)``.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, First: Sendable, each Bound: Sendable>(
    named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0, once: Bool = false,
    _ method: @escaping @Sendable (Owner) -> @Sendable (Payload, First, repeat each Bound) async throws -> Void,
    of owner: Owner, with first: First, _ bound: repeat each Bound,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> HandlerToken {
    addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line
    ) { owner, payload in
      try await method(owner)(payload, first, repeat each bound)
    }
  }

  /// Adds a main-actor method of an owner, with arguments that follow the payload: see
  /// ``addHandler(named:on:priority:once:_:of:with:_:fileID:line:)-(_,SyncDelivery,_,_,_,_,_,_,_,_)``.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, First: Sendable, each Bound: Sendable>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    _ method:
      @escaping @MainActor @Sendable (Owner) -> @MainActor @Sendable (Payload, First, repeat each Bound) throws -> Void,
    of owner: Owner, with first: First, _ bound: repeat each Bound,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> HandlerToken {
    addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line
    ) { owner, payload in
      try method(owner)(payload, first, repeat each bound)
    }
  }

  /// Adds an asynchronous main-actor method of an owner, with arguments that follow the payload:
  /// see
  /// ``addHandler(named:on:priority:once:_:of:with:_:fileID:line:)-(_,SyncDelivery,_,_,_,_,_,_,_,_)``.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, First: Sendable, each Bound: Sendable>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    _ method:
      @escaping @MainActor @Sendable (Owner) ->
      @MainActor @Sendable (Payload, First, repeat each Bound) async throws -> Void,
    of owner: Owner, with first: First, _ bound: repeat each Bound,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> HandlerToken {
    addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line
    ) { owner, payload in
      try await method(owner)(payload, first, repeat each bound)
    }
  }
}
