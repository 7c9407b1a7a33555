// Overloads with the same labels take closures with the same number of parameters. Otherwise, the
// compiler would misreport a mistake inside such a closure as a wrong number of parameters. The
// only exceptions combine an owner with a signal or a tuple.

extension EventSource {
  /// Adds a handler.
  ///
  /// By default, the handler runs inline, on the thread that delivers, which may be any thread. It
  /// stays until it is removed or its event ends. An error that it throws doesn't stop other
  /// handlers, but appears in the ``SendReport`` and in ``Event/failures``. A ``FailurePolicy`` can
  /// change that.
  ///
  /// This takes effect before it returns and may be called from any thread and inside any handler:
  /// see ``EventSource``.
  ///
  /// - Parameters:
  ///   - options: Options for the calls, in any order, such as a name, a priority, retries or a
  ///     pace.
  ///   - delivery: Where the handler runs.
  ///   - fileID: The file where the handler is created, for snapshots and diagnostics.
  ///   - line: The line where the handler is created.
  ///   - body: The closure to call with each payload.
  /// - Returns: A token that identifies the handler. Dropping it has no effect.
  /// - Complexity: O(1), or O(priorities) for the first handler of a priority.
  @inlinable @discardableResult
  public nonisolated func addHandler(
    _ options: HandlerOption<Payload>..., on delivery: SyncDelivery = .inline,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    addSync(options, delivery, once: false, fileID, line, body)
  }

  /// Adds an asynchronous handler. By default, its calls come one at a time, in order: see
  /// ``addHandler(_:on:fileID:line:perform:)-(_,SyncDelivery,_,_,_)``.
  @discardableResult
  public nonisolated func addHandler(
    _ options: HandlerOption<Payload>..., on delivery: AsyncDelivery = .inOrder,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Payload) async throws -> Void
  ) -> HandlerToken {
    add(Handler(delivery.place, HandlerBody(async: body), options, SourceLine(fileID, line)))
  }

  /// Adds a synchronous handler that runs on the main actor: see
  /// ``addHandler(_:on:fileID:line:perform:)-(_,SyncDelivery,_,_,_)``.
  @discardableResult
  public nonisolated func addHandler(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    add(Handler(delivery.place, HandlerBody(main: body), options, SourceLine(fileID, line)))
  }

  /// Adds an asynchronous handler that runs on the main actor, one call at a time, in order: see
  /// ``addHandler(_:on:fileID:line:perform:)-(_,SyncDelivery,_,_,_)``.
  @discardableResult
  public nonisolated func addHandler(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Payload) async throws -> Void
  ) -> HandlerToken {
    add(Handler(delivery.place, HandlerBody(mainAsync: body), options, SourceLine(fileID, line)))
  }

  /// Adds a handler that runs isolated to an actor, one call at a time, in order.
  ///
  /// The handler ends when the actor is released. The actor is held weakly, and strongly only
  /// during a call. If the handler is removed on that actor, no call runs afterwards. Everything
  /// else is as for ``addHandler(_:on:fileID:line:perform:)-(_,SyncDelivery,_,_,_)``.
  ///
  /// - Parameters:
  ///   - options: How the calls are made.
  ///   - actor: The actor on which the handler runs and which is its owner.
  ///   - fileID: The file where the handler is created, for snapshots and diagnostics.
  ///   - line: The line where the handler is created.
  ///   - body: The closure to call with the actor and each payload.
  /// - Returns: A token that identifies the handler. Dropping it has no effect.
  @discardableResult
  public nonisolated func addHandler<Isolation: Actor>(
    _ options: HandlerOption<Payload>..., isolatedTo actor: Isolation,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (isolated Isolation, Payload) async throws -> Void
  ) -> HandlerToken {
    add(Handler(isolatedTo: actor, options, SourceLine(fileID, line), once: false, body))
  }
}

extension EventSource {
  /// Adds a handler for a single call.
  ///
  /// The handler is called once if any send reaches it, no matter how many threads send, even if
  /// the handler sends to its own event. A call uses the handler up as soon as it begins, even if
  /// it throws. An occurrence for which the handler is skipped doesn't use it up. If several
  /// occurrences are waiting on its lane, the first call uses the handler up, and the other
  /// occurrences are skipped.
  ///
  /// To create such a ``Handler``, use the option ``HandlerOption/once``. Everything else is as for
  /// ``addHandler(_:on:fileID:line:perform:)-(_,SyncDelivery,_,_,_)``.
  ///
  /// - Parameters:
  ///   - options: How the call is made.
  ///   - delivery: Where the handler runs.
  ///   - fileID: The file where the handler is created, for snapshots and diagnostics.
  ///   - line: The line where the handler is created.
  ///   - body: The closure to call with the payload.
  /// - Returns: A token that identifies the handler. Dropping it has no effect.
  @inlinable @discardableResult
  public nonisolated func once(
    _ options: HandlerOption<Payload>..., on delivery: SyncDelivery = .inline,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    addSync(options, delivery, once: true, fileID, line, body)
  }

  /// Adds an asynchronous handler for a single call: see
  /// ``once(_:on:fileID:line:perform:)-(_,SyncDelivery,_,_,_)``.
  @discardableResult
  public nonisolated func once(
    _ options: HandlerOption<Payload>..., on delivery: AsyncDelivery = .inOrder,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Payload) async throws -> Void
  ) -> HandlerToken {
    add(Handler(delivery.place, HandlerBody(async: body), options, SourceLine(fileID, line), once: true))
  }

  /// Adds a synchronous handler on the main actor for a single call: see
  /// ``once(_:on:fileID:line:perform:)-(_,SyncDelivery,_,_,_)``.
  @discardableResult
  public nonisolated func once(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    add(Handler(delivery.place, HandlerBody(main: body), options, SourceLine(fileID, line), once: true))
  }

  /// Adds an asynchronous handler on the main actor for a single call: see
  /// ``once(_:on:fileID:line:perform:)-(_,SyncDelivery,_,_,_)``.
  @discardableResult
  public nonisolated func once(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Payload) async throws -> Void
  ) -> HandlerToken {
    add(Handler(delivery.place, HandlerBody(mainAsync: body), options, SourceLine(fileID, line), once: true))
  }

  /// Adds a synchronous handler for a single call. It receives its owner and ends with it.
  @inlinable @discardableResult
  public nonisolated func once<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: SyncDelivery = .inline, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Owner, Payload) throws -> Void
  ) -> HandlerToken {
    add(Handler(delivery.place, HandlerBody(sync: body), options, SourceLine(fileID, line), owner: owner, once: true))
  }

  /// Adds an asynchronous handler for a single call. It receives its owner and ends with it.
  @inlinable @discardableResult
  public nonisolated func once<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: AsyncDelivery = .inOrder, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Owner, Payload) async throws -> Void
  ) -> HandlerToken {
    add(Handler(delivery.place, HandlerBody(async: body), options, SourceLine(fileID, line), owner: owner, once: true))
  }

  /// Adds a synchronous handler on the main actor for a single call. It receives its owner and ends
  /// with it.
  @inlinable @discardableResult
  public nonisolated func once<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Owner, Payload) throws -> Void
  ) -> HandlerToken {
    add(Handler(delivery.place, HandlerBody(main: body), options, SourceLine(fileID, line), owner: owner, once: true))
  }

  /// Adds an asynchronous handler on the main actor for a single call. It receives its owner and
  /// ends with it.
  @inlinable @discardableResult
  public nonisolated func once<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Owner, Payload) async throws -> Void
  ) -> HandlerToken {
    add(
      Handler(delivery.place, HandlerBody(mainAsync: body), options, SourceLine(fileID, line), owner: owner, once: true)
    )
  }

  /// Adds a handler that runs isolated to an actor, for a single call: see
  /// ``addHandler(_:isolatedTo:fileID:line:perform:)``.
  @discardableResult
  public nonisolated func once<Isolation: Actor>(
    _ options: HandlerOption<Payload>..., isolatedTo actor: Isolation,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (isolated Isolation, Payload) async throws -> Void
  ) -> HandlerToken {
    add(Handler(isolatedTo: actor, options, SourceLine(fileID, line), once: true, body))
  }
}
