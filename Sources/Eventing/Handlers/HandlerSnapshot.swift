/// What a handler was like when one looked.
public struct HandlerSnapshot: Sendable, Identifiable {
  /// The number that its token has.
  public let id: UInt64
  /// Its name, if it has one.
  public let name: String?
  /// Where and how it runs.
  public let delivery: String
  /// Handlers of higher priority are called first.
  public let priority: Int
  /// By which it can be removed and locked.
  public let tags: Set<String>
  /// Under a lock of its own or a `withLocked`; the event's own lock does not count.
  public let isLocked: Bool
  /// Called once at most.
  public let isOnce: Bool
  /// Whether the handler ends with an owner.
  public let hasOwner: Bool
  /// How often it was called; a call that is running counts.
  public let callCount: Int
  /// How many occurrences it was skipped for.
  public let skippedCount: Int
  /// How many occurrences it had no room for: see ``Buffering``.
  public let droppedCount: Int
  /// How many occurrences a lock holds for it: see ``Holding``. What waited on its lane before the lock is not among them.
  public let heldCount: Int
}

extension HandlerSnapshot: CustomStringConvertible {
  /// In one line.
  public var description: String {
    "\(name ?? "handler \(id)") on \(delivery)\(isLocked ? ", locked" : "")\(isOnce ? ", once" : ""), \(callCount) calls"
  }
}
