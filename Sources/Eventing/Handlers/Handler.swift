/// A handler as a value: it can be kept, shared, and added to many events, or to one several times.
///
/// Where it runs is said when it is made, because that decides what its closure may do:
///
///     let audit = Handler<Order>(on: .background(.utility)) { order in print(order) }.named("audit").tagged("io")
///     orderPlaced.add(audit, Handler { order in print(order) }.once())
///
/// ``named(_:)``, ``tagged(_:)``, ``priority(_:)``, ``once()`` and ``owned(by:)`` say the rest, each giving a new value.
public struct Handler<Payload: Sendable>: Sendable {
  @usableFromInline var options = HandlerOptions()
  @usableFromInline var isOnce = false
  @usableFromInline var place: Place
  @usableFromInline var body: Body

  @inlinable init(_ place: Place, _ body: Body) {
    self.place = place
    self.body = body
  }

  /// A synchronous handler.
  @inlinable public init(on delivery: Delivery = .inline, _ body: @escaping @Sendable (Payload) throws -> Void) {
    self.init(delivery.place, .direct(body))
  }

  /// An asynchronous handler.
  public init(on delivery: AsyncDelivery = .inOrder, _ body: @escaping @Sendable (Payload) async throws -> Void) {
    self.init(delivery.place, .directAsync(body))
  }

  /// A handler on the main actor.
  public init(on delivery: MainDelivery, _ body: @escaping @MainActor @Sendable (Payload) throws -> Void) {
    self.init(delivery.place, .direct(onMainActor(body)))
  }

  /// An asynchronous handler on the main actor.
  public init(on delivery: MainDelivery, _ body: @escaping @MainActor @Sendable (Payload) async throws -> Void) {
    self.init(delivery.place, .mainAsync { try await body($0.payload) })
  }
}

extension Handler: CustomStringConvertible {
  /// In one line.
  public var description: String { "\(options.name ?? "handler") on \(place)\(isOnce ? ", once" : "")" }
}
