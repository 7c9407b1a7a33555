/// Delivery on the main actor. The closures are `@MainActor`, synchronous or asynchronous.
public struct MainDelivery: Sendable {
  @usableFromInline let place: ExecutionPlace

  /// The main actor: one call at a time, in order.
  ///
  /// A synchronous handler is called at once if the event delivers on the main queue, and no call
  /// of the handler is queued or running. Otherwise the call is queued on the main queue. The
  /// sender never blocks to reach the main queue. Queued calls give way to other work on the main
  /// queue after 4 ms.
  public static var main: MainDelivery { main() }

  /// Returns a delivery on the main actor, like ``main``, with a limit for the occurrences that
  /// wait.
  ///
  /// - Parameter buffering: How many occurrences may wait, and which are dropped beyond that.
  public static func main(buffering: Buffering = .unbounded) -> MainDelivery { MainDelivery(place: .main(buffering)) }
}

extension MainDelivery: CustomStringConvertible {
  public var description: String { place.description }
}
