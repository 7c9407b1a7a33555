/// Delivery on the main actor. The closures are `@MainActor`, synchronous or asynchronous.
public struct MainDelivery: Sendable {
  @usableFromInline let place: ExecutionPlace

  /// The main actor: one call at a time, in order.
  ///
  /// A synchronous handler is called at once if the event delivers on the main queue, and no call
  /// of the handler is queued or running. Otherwise the call is queued on the main queue. The
  /// sender never blocks to reach the main queue. Queued calls give way to other work on the main
  /// queue after 4 ms.
  public static var main: MainDelivery { MainDelivery(place: .main(.unbounded)) }
}

extension MainDelivery: CustomStringConvertible {
  public var description: String { place.description }
}
