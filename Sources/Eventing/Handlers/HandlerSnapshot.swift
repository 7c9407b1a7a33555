/// The state of a handler at the time of a call to ``Event/handlers``.
public struct HandlerSnapshot: Sendable, Identifiable {
  /// The number that ``HandlerToken/id`` has, too.
  public let id: UInt64
  /// The name of the handler; `nil` if it has none.
  public let name: String?
  /// A description of where and how the handler runs.
  public let delivery: String
  /// The priority. Handlers of higher priority are called first.
  public let priority: Int
  /// The tags by which the handler can be removed and locked.
  public let tags: Set<String>
  /// Whether the handler is under a lock of its own or a `withLocked`. The event's own lock does
  /// not count.
  public let isLocked: Bool
  /// Whether the handler is called at most once.
  public let isOnce: Bool
  /// Whether the handler ends with an owner.
  public let hasOwner: Bool
  /// The number of calls that have begun.
  public let callCount: Int
  /// The number of occurrences that were skipped for this handler.
  public let skippedCount: Int
  /// The number of occurrences for which the handler's buffer had no room: see ``Buffering``.
  public let droppedCount: Int
  /// The number of occurrences that a lock holds for this handler: see ``Holding``. Occurrences
  /// that were on its lane before the lock do not count.
  public let heldCount: Int
}

extension HandlerSnapshot: CustomStringConvertible {
  /// One line for a log.
  public var description: String {
    "\(name ?? "handler \(id)") on \(delivery)\(isLocked ? ", locked" : "")\(isOnce ? ", once" : ""), \(callCount) calls"
  }
}
