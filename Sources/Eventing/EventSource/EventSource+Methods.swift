// Inlinable, because each call would allocate otherwise: `method(owner)` makes a closure unless the
// compiler sees the method. The owner comes last. With `owner:` first, the compiler could take the
// closure of `addHandler(owner: x) { … }` for the parameter `method`. Then it would report every
// mistake inside that closure as a wrong number of parameters.

extension EventSource {
  /// Adds a method of an owner as a handler, which ends with the owner.
  ///
  ///     progress.addHandler(Controller.update, of: controller)
  ///
  /// A method of several parameters takes the values of a tuple one by one. The owner is held
  /// weakly, and strongly for the length of a call.
  ///
  /// - Parameters:
  ///   - name: The name in logs and snapshots. Several handlers may share a name.
  ///   - delivery: Where the handler runs.
  ///   - priority: Handlers of higher priority come first.
  ///   - once: Whether the handler is called at most once.
  ///   - method: The method, written as `Type.method`.
  ///   - owner: The object whose method is called.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, each Value>(
    named name: String? = nil, on delivery: SyncDelivery = .inline, priority: Int = 0, once: Bool = false,
    _ method: @escaping @Sendable (Owner) -> @Sendable (repeat each Value) throws -> Void,
    of owner: Owner, fileID: StaticString = #fileID, line: UInt = #line
  ) -> HandlerToken where Payload == (repeat each Value) {
    addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line
    ) { owner, value in
      try method(owner)(repeat each value)
    }
  }

  /// Adds an asynchronous method of an owner as a handler: see
  /// ``addHandler(named:on:priority:once:_:of:fileID:line:)-(_,SyncDelivery,_,_,_,_,_,_)``.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, each Value>(
    named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0, once: Bool = false,
    _ method: @escaping @Sendable (Owner) -> @Sendable (repeat each Value) async throws -> Void,
    of owner: Owner, fileID: StaticString = #fileID, line: UInt = #line
  ) -> HandlerToken where Payload == (repeat each Value) {
    addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line
    ) { owner, value in
      try await method(owner)(repeat each value)
    }
  }

  /// Adds a main-actor method of an owner as a handler: see
  /// ``addHandler(named:on:priority:once:_:of:fileID:line:)-(_,SyncDelivery,_,_,_,_,_,_)``.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, each Value>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    _ method: @escaping @MainActor @Sendable (Owner) -> @MainActor @Sendable (repeat each Value) throws -> Void,
    of owner: Owner, fileID: StaticString = #fileID, line: UInt = #line
  ) -> HandlerToken where Payload == (repeat each Value) {
    addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line
    ) { owner, value in
      try method(owner)(repeat each value)
    }
  }

  /// Adds an asynchronous main-actor method of an owner as a handler: see
  /// ``addHandler(named:on:priority:once:_:of:fileID:line:)-(_,SyncDelivery,_,_,_,_,_,_)``.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, each Value>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    _ method: @escaping @MainActor @Sendable (Owner) -> @MainActor @Sendable (repeat each Value) async throws -> Void,
    of owner: Owner, fileID: StaticString = #fileID, line: UInt = #line
  ) -> HandlerToken where Payload == (repeat each Value) {
    addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line
    ) { owner, value in
      try await method(owner)(repeat each value)
    }
  }
}
