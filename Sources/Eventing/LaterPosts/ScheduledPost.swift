/// A post that is to be made later: see ``Event/post(_:after:clock:from:)``. Dropping it changes
/// nothing.
public struct ScheduledPost: Sendable {
  let item: LaterItem

  /// Cancels the post.
  ///
  /// Callable from any thread. Inside a handler that the post reached, it is too late.
  ///
  /// - Returns: Whether this call kept the payload from being posted. `false` if it was posted or
  ///   cancelled before, and if the event is finished or gone.
  /// - Complexity: O(log n) for n later posts on the clock.
  @discardableResult public func cancel() -> Bool { item.cancel() }
}

extension ScheduledPost: CustomStringConvertible {
  /// The state of the post, as text.
  public var description: String { "later post, \(item.stage)" }
}
