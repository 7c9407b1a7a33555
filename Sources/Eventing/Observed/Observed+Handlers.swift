// The four kinds of handlers of changes, each with options that select what a handler receives.

extension Observed {
  /// Adds a synchronous handler of changes.
  ///
  /// The handler receives every change that is made after this call returns, in the order in which
  /// the value took them. This can be called from any thread, and inside a handler. A handler that
  /// is added while a change is being delivered receives the next one.
  ///
  /// - Parameters:
  ///   - name: A name for logs and snapshots. Several handlers may have one name.
  ///   - options: Which calls the handler receives, and what they contain.
  ///   - delivery: Where the handler runs.
  ///   - priority: Handlers of higher priority are called first. Among equals, the order of adding
  ///     counts.
  ///   - once: Whether the handler is called at most once. With ``ChangeOptions/initial`` that is
  ///     the call with the current value.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  ///   - body: The closure to call. An error that it throws stops no other handler.
  /// - Returns: The token of the handler. Dropping it changes nothing.
  /// - Complexity: O(1), or O(*p*) for handlers with *p* different priorities.
  @inlinable @discardableResult public func addHandler(
    named name: String? = nil, options: ChangeOptions, on delivery: SyncDelivery = .inline, priority: Int = 0,
    once: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (ValueChange<Value>) throws -> Void
  ) -> HandlerToken {
    changes(options).addHandler(
      named: name, on: delivery, priority: priority, once: once, fileID: fileID, line: line, body)
  }

  /// Adds an asynchronous handler of changes. Otherwise like
  /// ``addHandler(named:options:on:priority:once:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_)``.
  @inlinable @discardableResult public func addHandler(
    named name: String? = nil, options: ChangeOptions, on delivery: AsyncDelivery = .inOrder, priority: Int = 0,
    once: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (ValueChange<Value>) async throws -> Void
  ) -> HandlerToken {
    changes(options).addHandler(
      named: name, on: delivery, priority: priority, once: once, fileID: fileID, line: line, body)
  }

  /// Adds a synchronous handler of changes on the main actor. Otherwise like
  /// ``addHandler(named:options:on:priority:once:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_)``.
  @inlinable @discardableResult public func addHandler(
    named name: String? = nil, options: ChangeOptions, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (ValueChange<Value>) throws -> Void
  ) -> HandlerToken {
    changes(options).addHandler(
      named: name, on: delivery, priority: priority, once: once, fileID: fileID, line: line, body)
  }

  /// Adds an asynchronous handler of changes on the main actor. Otherwise like
  /// ``addHandler(named:options:on:priority:once:fileID:line:_:)-(_,_,SyncDelivery,_,_,_,_,_)``.
  @inlinable @discardableResult public func addHandler(
    named name: String? = nil, options: ChangeOptions, on delivery: MainDelivery, priority: Int = 0, once: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (ValueChange<Value>) async throws -> Void
  ) -> HandlerToken {
    changes(options).addHandler(
      named: name, on: delivery, priority: priority, once: once, fileID: fileID, line: line, body)
  }
}
