// The owner is held weakly, and strongly for the length of a call. So the owner's last release, and
// its `deinit`, may happen on the thread that runs the handler, or that looks whether the owner is
// gone. Only the main queue loads the owner of a handler on the main actor (`Owner.isElsewhere`).

extension EventSource {
  /// Adds a handler that receives its owner, and ends with it.
  ///
  /// The owner is held weakly, and strongly for the length of a call. After the owner has been
  /// released, the handler is never called again, not even for another object at the owner's
  /// address. Calls that wait on a lane are skipped then. ``HandlerRegistry/removeAll(where:)``
  /// removes all handlers of an owner.
  ///
  /// The last release of the owner, and its `deinit`, may happen on the thread that runs the
  /// handler, or on one that delivers or adds handlers. If the handler is on
  /// ``MainDelivery/main``, the event releases the owner on the main actor only.
  ///
  /// At the next send, or as handlers are added, the event reclaims the memory of handlers whose
  /// owner is gone.
  ///
  /// All else is as for
  /// ``addHandler(named:on:priority:once:fileID:line:_:)-(_,SyncDelivery,_,_,_,_,_)``.
  ///
  /// - Parameters:
  ///   - name: The name in logs and snapshots. Several handlers may share a name.
  ///   - delivery: Where the handler runs.
  ///   - priority: Handlers of higher priority come first.
  ///   - once: Whether the handler is called at most once.
  ///   - owner: The object that the handler belongs to.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  ///   - body: The closure that is called with the owner and each payload.
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: SyncDelivery = .inline, priority: Int = 0, once: Bool = false, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Owner, Payload) throws -> Void
  ) -> HandlerToken {
    attachOwned(
      Handler(delivery.place, .sync { try body($0.owner(), $0.payload.payload()) }, SourceLine(fileID, line)), owner,
      name, priority, once)
  }

  /// Adds an asynchronous handler that receives its owner. Otherwise like
  /// `addHandler(named:on:priority:once:owner:_:)` with a `SyncDelivery`.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0, once: Bool = false,
    owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Owner, Payload) async throws -> Void
  ) -> HandlerToken {
    attachOwned(
      Handler(delivery.place, .async { try await body($0.owner(), $0.payload.payload()) }, SourceLine(fileID, line)),
      owner, name, priority, once)
  }

  /// Adds a synchronous handler on the main actor that receives its owner. Otherwise like
  /// `addHandler(named:on:priority:once:owner:_:)` with a `SyncDelivery`.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Owner, Payload) throws -> Void
  ) -> HandlerToken {
    attachOwned(
      Handler(
        delivery.place, .sync(RuntimeSPI.withoutMainActor { try body($0.owner(), $0.payload.payload()) }),
        SourceLine(fileID, line)), owner, name, priority, once)
  }

  /// Adds an asynchronous handler on the main actor that receives its owner. Otherwise like
  /// `addHandler(named:on:priority:once:owner:_:)` with a `SyncDelivery`.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Owner, Payload) async throws -> Void
  ) -> HandlerToken {
    attachOwned(
      Handler(
        delivery.place, .mainAsync { try await body($0.owner(), $0.payload.payload()) }, SourceLine(fileID, line)),
      owner, name, priority, once)
  }

  /// Adds a handler of a signal that receives its owner. Otherwise like
  /// `addHandler(named:on:priority:once:owner:_:)` with a `SyncDelivery`.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: SyncDelivery = .inline, priority: Int = 0, once: Bool = false, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Owner) throws -> Void
  ) -> HandlerToken where Payload == Void {
    attachOwned(
      Handler(delivery.place, .sync { try body($0.owner()) }, SourceLine(fileID, line)), owner, name, priority, once)
  }

  /// Adds an asynchronous handler of a signal that receives its owner. Otherwise like
  /// `addHandler(named:on:priority:once:owner:_:)` with a `SyncDelivery`.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: AsyncDelivery = .inOrder, priority: Int = 0, once: Bool = false,
    owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Owner) async throws -> Void
  ) -> HandlerToken where Payload == Void {
    attachOwned(
      Handler(delivery.place, .async { try await body($0.owner()) }, SourceLine(fileID, line)), owner, name, priority,
      once)
  }

  /// Adds a synchronous handler of a signal on the main actor that receives its owner. Otherwise
  /// like `addHandler(named:on:priority:once:owner:_:)` with a `SyncDelivery`.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Owner) throws -> Void
  ) -> HandlerToken where Payload == Void {
    attachOwned(
      Handler(delivery.place, .sync(RuntimeSPI.withoutMainActor { try body($0.owner()) }), SourceLine(fileID, line)),
      owner, name, priority, once)
  }

  /// Adds an asynchronous handler of a signal on the main actor that receives its owner. Otherwise
  /// like `addHandler(named:on:priority:once:owner:_:)` with a `SyncDelivery`.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    named name: String? = nil, on delivery: MainDelivery, priority: Int = 0, once: Bool = false, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Owner) async throws -> Void
  ) -> HandlerToken where Payload == Void {
    attachOwned(
      Handler(delivery.place, .mainAsync { try await body($0.owner()) }, SourceLine(fileID, line)), owner, name,
      priority, once)
  }

  @usableFromInline nonisolated func attachOwned(
    _ handler: Handler<Payload>, _ owner: any AnyObject & Sendable, _ name: String?, _ priority: Int, _ once: Bool
  ) -> HandlerToken {
    attach(handler, name, priority, once, Owner(owner, on: handler.any.place))
  }
}

extension HandlerArguments {
  /// Returns the owner with the type that it had when the handler was added.
  @inlinable func owner<Object: AnyObject>(_: Object.Type = Object.self) -> Object {
    guard let owner else { preconditionFailure("a handler with an owner is called with it") }
    // Safe: the owner of a handler is the object that it was made with.
    return unsafe unsafeDowncast(owner, to: Object.self)
  }
}
