/// A handler as a value, which can be stored, shared and added to several events, or several times.
///
/// The place where it runs is given when it is made, because the place decides what its closure may
/// do:
///
///     let audit = Handler<Order>(on: .background(.utility)) { order in print(order) }
///       .named("audit").tagged("io")
///     orderPlaced.add(audit, Handler { order in print(order) }.once())
///
/// The modifiers ``named(_:)``, ``tagged(_:)``, ``priority(_:)``, ``once()`` and ``owned(by:)``
/// return changed copies. Adding a handler does not change the value. Each addition makes a handler
/// of its own, with a token of its own.
public struct Handler<Payload: Sendable>: Sendable {
  @usableFromInline var any: AnyHandler
  @usableFromInline var options: HandlerOptions {
    get { any.options }
    set { any.options = newValue }
  }
  @usableFromInline var isOnce: Bool {
    get { any.isOnce }
    set { any.isOnce = newValue }
  }
  var place: ExecutionPlace { any.place }

  @usableFromInline init(_ place: ExecutionPlace, _ body: HandlerBody, _ source: SourceLine = .none) {
    any = AnyHandler(place, body, Payload.self)
    any.source = source
  }

  /// Creates a synchronous handler.
  ///
  /// - Parameters:
  ///   - delivery: Where the handler runs.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  ///   - body: The closure that is called with each payload. An error that it throws appears in the
  ///     ``SendReport`` and in ``Event/failures``.
  @inlinable public init(
    on delivery: SyncDelivery = .inline, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) {
    self.init(delivery.place, .direct(HandlerClosure<Payload>(body).erased), SourceLine(fileID, line))
  }

  /// Creates an asynchronous handler: see ``init(on:fileID:line:_:)-(SyncDelivery,_,_,_)``.
  @inlinable public init(
    on delivery: AsyncDelivery = .inOrder, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Payload) async throws -> Void
  ) {
    self.init(delivery.place, .directAsync(AsyncHandlerClosure<Payload>(body).erased), SourceLine(fileID, line))
  }

  /// Creates a synchronous handler that runs on the main actor: see
  /// ``init(on:fileID:line:_:)-(SyncDelivery,_,_,_)``.
  @inlinable public init(
    on delivery: MainDelivery, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Payload) throws -> Void
  ) {
    let body = RuntimeSPI.withoutMainActor(body)
    self.init(delivery.place, .direct(HandlerClosure<Payload>(body).erased), SourceLine(fileID, line))
  }

  /// Creates an asynchronous handler that runs on the main actor: see
  /// ``init(on:fileID:line:_:)-(SyncDelivery,_,_,_)``.
  @inlinable public init(
    on delivery: MainDelivery, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (Payload) async throws -> Void
  ) {
    self.init(delivery.place, .mainAsync { try await body($0.payload.payload()) }, SourceLine(fileID, line))
  }
}

extension Handler {
  /// Creates a handler that runs isolated to an actor, one call at a time, in order.
  ///
  ///     orders.add(Handler(isolatedTo: store) { store, order in try store.save(order) }
  ///       .retrying(.exponential(from: .milliseconds(100), to: .seconds(30), attempts: 5)))
  ///
  /// The handler ends when the actor is released. The actor is held weakly, and strongly for the
  /// length of an attempt. If the handler is removed on that actor, no call runs afterwards. All
  /// modifiers apply as to any other handler.
  ///
  /// - Parameters:
  ///   - actor: The actor that the handler runs on, and that is its owner.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  ///   - body: The closure that is called with the actor and each payload.
  public init<Isolation: Actor>(
    isolatedTo actor: Isolation, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (isolated Isolation, Payload) async throws -> Void
  ) {
    self.init(isolating: actor, SourceLine(fileID, line)) { try await body($0, $1.payload.payload()) }
  }

  init<Isolation: Actor>(
    isolating actor: Isolation, _ source: SourceLine,
    _ body: @escaping @Sendable (isolated Isolation, HandlerArguments) async throws -> Void
  ) {
    self.init(
      .actor(.unbounded),
      .isolated { actor, call in
        // Safe: the owner of this handler is the actor that it was made with.
        try await body(unsafe unsafeDowncast(actor, to: Isolation.self), call)
      }, source)
    options.owner = Owner(isolating: actor)
    options.isOwnerBound = true
  }
}

extension Handler: CustomStringConvertible {
  /// One line for a log.
  public var description: String { "\(options.name ?? "handler") on \(place)\(isOnce ? ", once" : "")" }
}
