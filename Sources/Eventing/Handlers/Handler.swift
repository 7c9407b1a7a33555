/// A handler as a value that can be stored, shared, and added several times or to several events.
///
///     let audit = Handler<Order>(.named("audit"), .tagged("io"), on: .background) { print($0) }
///     orderPlaced.add(audit)
///     orderPaid.add(audit.with(.priority(1)))
///
/// It takes the same arguments as
/// ``EventSource/addHandler(_:on:fileID:line:perform:)-(_,SyncDelivery,_,_,_)`` and its overloads.
/// Adding a handler doesn't change the value. Each addition creates a separate handler with its own
/// token.
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

  @usableFromInline init(
    _ place: ExecutionPlace, _ body: HandlerBody, _ options: [HandlerOption<Payload>] = [],
    _ source: SourceLine = .none, owner: (any AnyObject & Sendable)? = nil, once: Bool = false
  ) {
    any = AnyHandler(place, body, Payload.self)
    any.source = source
    any.isOnce = once
    if let owner {
      any.options.owner = Owner(owner, on: place)
      any.options.isOwnerBound = true
    }
    if !options.isEmpty { any.apply(options.map(\.setting)) }
  }

  /// Returns a copy with additional options.
  ///
  /// - Parameter options: The options. They replace earlier ones of the same kind, except that
  ///   ``HandlerOption/tagged(_:)`` adds to earlier tags.
  public func with(_ options: HandlerOption<Payload>...) -> Handler {
    var copy = self
    copy.any.apply(options.map(\.setting))
    return copy
  }

  /// If the closure receives its owner or is isolated to an actor, the handler keeps that owner.
  package func owned(by owner: some AnyObject & Sendable) -> Handler {
    var copy = self
    if !options.isOwnerBound { copy.options.owner = Owner(owner, on: place) }
    return copy
  }
}

extension Handler {
  /// Creates a synchronous handler: see
  /// ``EventSource/addHandler(_:on:fileID:line:perform:)-(_,SyncDelivery,_,_,_)``.
  @inlinable public init(
    _ options: HandlerOption<Payload>..., on delivery: SyncDelivery = .inline,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Payload) throws -> Void
  ) {
    self.init(delivery.place, HandlerBody(sync: body), options, SourceLine(fileID, line))
  }

  /// Creates an asynchronous handler: see
  /// ``EventSource/addHandler(_:on:fileID:line:perform:)-(_,AsyncDelivery,_,_,_)``.
  @inlinable public init(
    _ options: HandlerOption<Payload>..., on delivery: AsyncDelivery = .inOrder,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Payload) async throws -> Void
  ) {
    self.init(delivery.place, HandlerBody(async: body), options, SourceLine(fileID, line))
  }

  /// Creates a synchronous handler that runs on the main actor.
  @inlinable public init(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Payload) throws -> Void
  ) {
    self.init(delivery.place, HandlerBody(main: body), options, SourceLine(fileID, line))
  }

  /// Creates an asynchronous handler that runs on the main actor.
  @inlinable public init(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Payload) async throws -> Void
  ) {
    self.init(delivery.place, HandlerBody(mainAsync: body), options, SourceLine(fileID, line))
  }

  /// Creates a synchronous handler that receives its owner and ends with it.
  @inlinable public init<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: SyncDelivery = .inline, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Owner, Payload) throws -> Void
  ) {
    self.init(delivery.place, HandlerBody(sync: body), options, SourceLine(fileID, line), owner: owner)
  }

  /// Creates an asynchronous handler that receives its owner and ends with it.
  @inlinable public init<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: AsyncDelivery = .inOrder, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Owner, Payload) async throws -> Void
  ) {
    self.init(delivery.place, HandlerBody(async: body), options, SourceLine(fileID, line), owner: owner)
  }

  /// Creates a synchronous handler on the main actor that receives its owner and ends with it.
  @inlinable public init<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Owner, Payload) throws -> Void
  ) {
    self.init(delivery.place, HandlerBody(main: body), options, SourceLine(fileID, line), owner: owner)
  }

  /// Creates an asynchronous handler on the main actor that receives its owner and ends with it.
  @inlinable public init<Owner: AnyObject & Sendable>(
    _ options: HandlerOption<Payload>..., on delivery: MainDelivery, owner: Owner,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable (Owner, Payload) async throws -> Void
  ) {
    self.init(delivery.place, HandlerBody(mainAsync: body), options, SourceLine(fileID, line), owner: owner)
  }

  /// Creates a handler that runs isolated to an actor, one call at a time, in order: see
  /// ``EventSource/addHandler(_:isolatedTo:fileID:line:perform:)``.
  @inlinable public init<Isolation: Actor>(
    _ options: HandlerOption<Payload>..., isolatedTo actor: Isolation,
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (isolated Isolation, Payload) async throws -> Void
  ) {
    self.init(isolatedTo: actor, options, SourceLine(fileID, line), once: false, body)
  }

  @usableFromInline init<Isolation: Actor>(
    isolatedTo actor: Isolation, _ options: [HandlerOption<Payload>], _ source: SourceLine, once: Bool,
    _ body: @escaping @Sendable (isolated Isolation, Payload) async throws -> Void
  ) {
    self.init(.actor(.unbounded), HandlerBody(isolated: body), options, source, once: once)
    self.options.owner = Owner(isolating: actor)
    self.options.isOwnerBound = true
  }
}

extension Handler: CustomStringConvertible {
  /// One line for a log.
  public var description: String { any.description }
}
