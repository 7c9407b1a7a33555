extension EventSource {
  /// Adds a handler for exactly one call.
  ///
  /// The handler is called once if any send reaches it, however many threads send, and even if the
  /// handler sends to its own event. A call that begins uses the handler up, even if it throws. An
  /// occurrence for which the handler is skipped does not use it up. If several occurrences wait on
  /// its lane, the first call uses the handler up, and the other occurrences are skipped. The other
  /// adding methods take `once: true`.
  ///
  /// All else is as for
  /// ``addHandler(named:on:priority:once:fileID:line:_:)-(_,SyncDelivery,_,_,_,_,_)``.
  ///
  /// - Parameters:
  ///   - name: The name in logs and snapshots. Several handlers may share a name.
  ///   - delivery: Where the handler runs.
  ///   - priority: Handlers of higher priority come first.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  ///   - body: The closure that is called with the payload.
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  @inlinable @discardableResult
  public nonisolated func once(
    named name: String? = nil, on delivery: SyncDelivery = .inline, priority: Int = 0,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    attachSync(delivery, name, priority, true, fileID, line, body)
  }

  /// Adds an asynchronous handler for exactly one call: see
  /// ``once(named:on:priority:fileID:line:_:)-(_,SyncDelivery,_,_,_,_)``.
  @discardableResult
  public nonisolated func once(
    named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Payload) async throws -> Void
  ) -> HandlerToken {
    attach(Handler(on: delivery, fileID: fileID, line: line, body), name, priority, true)
  }

  /// Adds a synchronous handler on the main actor for exactly one call: see
  /// ``once(named:on:priority:fileID:line:_:)-(_,SyncDelivery,_,_,_,_)``.
  @discardableResult
  public nonisolated func once(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    attach(Handler(on: delivery, fileID: fileID, line: line, body), name, priority, true)
  }

  /// Adds an asynchronous handler on the main actor for exactly one call: see
  /// ``once(named:on:priority:fileID:line:_:)-(_,SyncDelivery,_,_,_,_)``.
  @discardableResult
  public nonisolated func once(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Payload) async throws -> Void
  ) -> HandlerToken {
    attach(Handler(on: delivery, fileID: fileID, line: line, body), name, priority, true)
  }
}
