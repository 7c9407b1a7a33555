// Adding handlers with an owner to the event of a payload type.
extension EventBus {
  /// Adds, to the event of a type, a handler that is given its owner, and ends with it.
  ///
  /// The owner is held weakly, and strongly for the length of a call.
  ///
  /// - Parameters:
  ///   - type: The type of the payloads.
  ///   - name: The name in logs and snapshots. Several handlers may share a name.
  ///   - delivery: Where the handler runs.
  ///   - priority: Handlers of higher priority come first.
  ///   - once: Whether the handler is called at most once.
  ///   - owner: The object that the handler belongs to.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  ///   - body: The closure that is called with the owner and each payload.
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  @discardableResult public func addHandler<Payload: Sendable, Owner: AnyObject & Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: SyncDelivery = .inline, priority: Int = 0,
    once: Bool = false, owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Owner, Payload) throws -> Void
  ) -> HandlerToken {
    event(for: type).addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line, body)
  }

  /// Adds, to the event of a type, an asynchronous handler that is given its owner, and ends with
  /// it. Otherwise like
  /// ``addHandler(for:named:on:priority:once:owner:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_,_)``.
  @discardableResult public func addHandler<Payload: Sendable, Owner: AnyObject & Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0,
    once: Bool = false, owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Owner, Payload) async throws -> Void
  ) -> HandlerToken {
    event(for: type).addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line, body)
  }

  /// Adds, to the event of a type, a handler on the main actor that is given its owner, and ends
  /// with it. Otherwise like
  /// ``addHandler(for:named:on:priority:once:owner:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_,_)``.
  @discardableResult public func addHandler<Payload: Sendable, Owner: AnyObject & Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: MainDelivery, priority: Int = 0,
    once: Bool = false, owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Owner, Payload) throws -> Void
  ) -> HandlerToken {
    event(for: type).addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line, body)
  }

  /// Adds, to the event of a type, an asynchronous handler on the main actor that is given its
  /// owner, and ends with it. Otherwise like
  /// ``addHandler(for:named:on:priority:once:owner:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_,_)``.
  @discardableResult public func addHandler<Payload: Sendable, Owner: AnyObject & Sendable>(
    for type: Payload.Type, named name: String? = nil, on delivery: MainDelivery, priority: Int = 0,
    once: Bool = false, owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Owner, Payload) async throws -> Void
  ) -> HandlerToken {
    event(for: type).addHandler(
      named: name, on: delivery, priority: priority, once: once, owner: owner, fileID: fileID, line: line, body)
  }
}
