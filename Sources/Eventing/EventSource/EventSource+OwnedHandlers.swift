// The owner is held weakly, and strongly only during a call. As a result, the owner's last release
// and its `deinit` may happen on the thread that runs the handler or that checks whether the owner
// is gone. If the handler is on the main actor, only the main queue loads its owner
// (`Owner.isElsewhere`).

extension EventSource {
  /// Adds a handler that receives its owner and ends with it.
  ///
  /// The owner is held weakly, and strongly only during a call. After the owner has been released,
  /// the handler is never called again, not even for another object at the owner's address, and
  /// calls waiting on a lane are skipped. ``HandlerRegistry/removeAll(where:)`` can remove all
  /// handlers of an owner.
  ///
  /// The owner's last release and its `deinit` may happen on the thread that runs the handler, or
  /// on one that delivers or adds handlers. If the handler is on ``MainDelivery/main``, the event
  /// releases the owner only on the main actor.
  ///
  /// The event reclaims the memory of handlers whose owner is gone at the next send or when
  /// handlers are added.
  ///
  /// Everything else is as for ``addHandler(_:on:fileID:line:perform:)-(_,SyncDelivery,_,_,_)``.
  ///
  /// - Parameters:
  ///   - options: How the calls are made.
  ///   - delivery: Where the handler runs.
  ///   - owner: The object to which the handler belongs.
  ///   - fileID: The file where the handler is created, for snapshots and diagnostics.
  ///   - line: The line where the handler is created.
  ///   - body: The closure to call with the owner and each payload.
  /// - Returns: A token that identifies the handler. Dropping it has no effect.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: SyncDelivery = .inline, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Owner, Payload) throws -> Void
  ) -> HandlerToken {
    add(Handler(delivery.place, HandlerBody(sync: body), options, SourceLine(fileID, line), owner: owner))
  }

  /// Adds an asynchronous handler that receives its owner and ends with it.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: AsyncDelivery = .inOrder, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Owner, Payload) async throws -> Void
  ) -> HandlerToken {
    add(Handler(delivery.place, HandlerBody(async: body), options, SourceLine(fileID, line), owner: owner))
  }

  /// Adds a synchronous handler on the main actor that receives its owner and ends with it.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Owner, Payload) throws -> Void
  ) -> HandlerToken {
    add(Handler(delivery.place, HandlerBody(main: body), options, SourceLine(fileID, line), owner: owner))
  }

  /// Adds an asynchronous handler on the main actor that receives its owner and ends with it.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Owner, Payload) async throws -> Void
  ) -> HandlerToken {
    add(Handler(delivery.place, HandlerBody(mainAsync: body), options, SourceLine(fileID, line), owner: owner))
  }
}

extension EventSource where Payload == Void {
  /// Adds a synchronous handler of a signal that receives its owner and ends with it.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: SyncDelivery = .inline, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Owner) throws -> Void
  ) -> HandlerToken {
    let body: @Sendable (Owner, Void) throws -> Void = { owner, _ in try body(owner) }
    return add(Handler(delivery.place, HandlerBody(sync: body), options, SourceLine(fileID, line), owner: owner))
  }

  /// Adds an asynchronous handler of a signal that receives its owner and ends with it.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: AsyncDelivery = .inOrder, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Owner) async throws -> Void
  ) -> HandlerToken {
    let body: @Sendable (Owner, Void) async throws -> Void = { owner, _ in try await body(owner) }
    return add(Handler(delivery.place, HandlerBody(async: body), options, SourceLine(fileID, line), owner: owner))
  }

  /// Adds a synchronous handler of a signal on the main actor that receives its owner and ends with
  /// it.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Owner) throws -> Void
  ) -> HandlerToken {
    let body: @MainActor @Sendable (Owner, Void) throws -> Void = { owner, _ in try body(owner) }
    return add(Handler(delivery.place, HandlerBody(main: body), options, SourceLine(fileID, line), owner: owner))
  }

  /// Adds an asynchronous handler of a signal on the main actor that receives its owner and ends
  /// with it.
  @inlinable @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Owner) async throws -> Void
  ) -> HandlerToken {
    let body: @MainActor @Sendable (Owner, Void) async throws -> Void = { owner, _ in try await body(owner) }
    return add(Handler(delivery.place, HandlerBody(mainAsync: body), options, SourceLine(fileID, line), owner: owner))
  }
}

extension EventSource {
  /// Adds a synchronous handler that receives its owner and the values of a tuple, and ends with
  /// the owner.
  @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, First, Second, each More>(
    _ options: HandlerOption<Payload>..., on delivery: SyncDelivery = .inline, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Owner, First, Second, repeat each More) throws -> Void
  ) -> HandlerToken where Payload == (First, Second, repeat each More) {
    add(
      Handler(
        delivery.place, HandlerBody(sync: takingTuple(body)), options, SourceLine(fileID, line), owner: owner))
  }

  /// Adds an asynchronous handler that receives its owner and the values of a tuple, and ends with
  /// the owner.
  @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, First, Second, each More>(
    _ options: HandlerOption<Payload>..., on delivery: AsyncDelivery = .inOrder, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Owner, First, Second, repeat each More) async throws -> Void
  ) -> HandlerToken where Payload == (First, Second, repeat each More) {
    add(
      Handler(
        delivery.place, HandlerBody(async: takingTuple(body)), options, SourceLine(fileID, line), owner: owner))
  }

  /// Adds a synchronous handler on the main actor that receives its owner and the values of a
  /// tuple, and ends with the owner.
  @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, First, Second, each More>(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Owner, First, Second, repeat each More) throws -> Void
  ) -> HandlerToken where Payload == (First, Second, repeat each More) {
    add(
      Handler(
        delivery.place, HandlerBody(main: takingTuple(main: body)), options, SourceLine(fileID, line), owner: owner))
  }

  /// Adds an asynchronous handler on the main actor that receives its owner and the values of a
  /// tuple, and ends with the owner.
  @discardableResult
  public nonisolated func addHandler<Owner: AnyObject & Sendable, First, Second, each More>(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Owner, First, Second, repeat each More) async throws -> Void
  ) -> HandlerToken where Payload == (First, Second, repeat each More) {
    add(
      Handler(
        delivery.place, HandlerBody(mainAsync: takingTuple(main: body)), options, SourceLine(fileID, line), owner: owner
      ))
  }
}

// Functions that turn a closure with several parameters into one that takes a tuple. In a closure
// inside the generic methods above, the compiler (Swift 6.3) fails on the parameter pack.

private func takingTuple<Owner, each Value>(
  _ body: @escaping @Sendable (Owner, repeat each Value) throws -> Void
) -> @Sendable (Owner, (repeat each Value)) throws -> Void {
  { owner, values in try body(owner, repeat each values) }
}

private func takingTuple<Owner, each Value>(
  _ body: @escaping @Sendable (Owner, repeat each Value) async throws -> Void
) -> @Sendable (Owner, (repeat each Value)) async throws -> Void {
  { owner, values in try await body(owner, repeat each values) }
}

private func takingTuple<Owner, each Value>(
  main body: @escaping @MainActor @Sendable (Owner, repeat each Value) throws -> Void
) -> @MainActor @Sendable (Owner, (repeat each Value)) throws -> Void {
  { owner, values in try body(owner, repeat each values) }
}

private func takingTuple<Owner, each Value>(
  main body: @escaping @MainActor @Sendable (Owner, repeat each Value) async throws -> Void
) -> @MainActor @Sendable (Owner, (repeat each Value)) async throws -> Void {
  { owner, values in try await body(owner, repeat each values) }
}
