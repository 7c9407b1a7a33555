/// Delivery on the main actor; its closures are `@MainActor`, asynchronous or not.
public struct MainDelivery: Sendable {
  @usableFromInline let place: ExecutionPlace

  /// On the main actor, in order.
  ///
  /// A synchronous handler is called at once when the event delivers on the main queue and no call of it is queued or running. Nothing ever
  /// blocks to get there.
  public static var main: MainDelivery { main() }

  /// The same; `buffering` says how much may wait.
  public static func main(buffering: Buffering = .unbounded) -> MainDelivery { MainDelivery(place: .main(buffering)) }
}

extension MainDelivery: CustomStringConvertible {
  /// In one line.
  public var description: String { place.description }
}
