/// A handler as a value: it can be kept, shared, and added to many events, or to one several times.
///
/// Where it runs is said when it is made, because that decides what its closure may do:
///
///     let audit = Handler<Order>(on: .background(.utility)) { order in print(order) }.named("audit").tagged("io")
///     orderPlaced.add(audit, Handler { order in print(order) }.once())
///
/// ``named(_:)``, ``tagged(_:)``, ``priority(_:)``, ``once()`` and ``owned(by:)`` say the rest, each giving a new value.
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

  @usableFromInline init(_ place: ExecutionPlace, _ body: HandlerBody) { any = AnyHandler(place, body, Payload.self) }

  /// A synchronous handler.
  @inlinable public init(on delivery: Delivery = .inline, _ body: @escaping @Sendable (Payload) throws -> Void) {
    self.init(delivery.place, .direct(HandlerClosure<Payload>(body).erased))
  }

  /// An asynchronous handler.
  @inlinable public init(
    on delivery: AsyncDelivery = .inOrder, _ body: @escaping @Sendable (Payload) async throws -> Void
  ) {
    self.init(delivery.place, .directAsync(AsyncHandlerClosure<Payload>(body).erased))
  }

  /// A handler on the main actor.
  @inlinable public init(on delivery: MainDelivery, _ body: @escaping @MainActor @Sendable (Payload) throws -> Void) {
    let body = onMainActor(body)
    self.init(delivery.place, .direct(HandlerClosure<Payload>(body).erased))
  }

  /// An asynchronous handler on the main actor.
  @inlinable public init(
    on delivery: MainDelivery, _ body: @escaping @MainActor @Sendable (Payload) async throws -> Void
  ) {
    self.init(delivery.place, .mainAsync { try await body($0.payload.payload()) })
  }
}

extension Handler: CustomStringConvertible {
  /// In one line.
  public var description: String { "\(options.name ?? "handler") on \(place)\(isOnce ? ", once" : "")" }
}
