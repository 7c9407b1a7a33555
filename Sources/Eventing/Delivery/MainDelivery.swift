/// Delivery on the main actor; its closures are `@MainActor`, asynchronous or not.
public struct MainDelivery: Sendable {
  /// On the main actor, in order.
  ///
  /// A synchronous handler is called at once when the event delivers on the main queue and no call of it is queued or running. Nothing ever
  /// blocks to get there.
  public static var main: MainDelivery { MainDelivery() }
}

extension MainDelivery: CustomStringConvertible {
  /// In one line.
  public var description: String { Place.main.description }
}
