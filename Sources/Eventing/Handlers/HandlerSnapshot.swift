/// The state of a handler at the time of a call to ``HandlerRegistry/handlers(where:)``.
public struct HandlerSnapshot: Sendable, Identifiable {
  /// The number of the handler, which equals ``HandlerToken/id``.
  public var id: UInt64 { token.id }
  /// The handler's token, which also tells where the handler was created.
  public let token: HandlerToken
  /// The name of the handler; `nil` if it has none.
  public let name: String?
  /// A description of where and how the handler runs.
  public let delivery: String
  /// The key that the handler listens to; `nil` for handlers of events without keys and of
  /// ``KeyedEvent/anyKey``.
  public let key: (any Hashable & Sendable)?
  /// The priority. Handlers of higher priority are called first.
  public let priority: Int
  /// The tags by which the handler can be removed and locked.
  public let tags: Set<String>
  /// Whether the handler has a lock of its own or is in a `withLocked`. The event's own lock
  /// doesn't count.
  public let isLocked: Bool
  /// Whether the handler is called at most once.
  public let isOnce: Bool
  /// Whether the handler ends with an owner.
  public let hasOwner: Bool
  /// The number of occurrences that are waiting on the handler's lane, not including those whose
  /// calls are running.
  ///
  /// For a sequence, this is the number of payloads that the slowest iterator hasn't taken yet.
  /// It's 0 for an inline handler, and for calls with ``AsyncDelivery/task`` that are waiting for a
  /// thread of the pool.
  public let waitingCount: Int
  /// The time since the oldest running call of the handler began; `nil` if none is running.
  ///
  /// Calls are recorded only if an ``EventObserver`` observes the event when they begin. Otherwise,
  /// this is `nil`, because an event that isn't observed doesn't read the clock.
  public let runningFor: Duration?
  /// The number of the latest attempt: 1 for the first attempt of a call. Always 1 for an
  /// inline handler and for a handler whose calls aren't retried.
  public let attempt: Int
  /// The number of calls that have begun. The call of a batch counts once for each of its payloads.
  public let callCount: Int
  /// The number of calls that threw, counted as in ``callCount``. If a call had several attempts,
  /// only the last one counts.
  public let failedCount: Int
  /// The number of occurrences that were skipped for this handler.
  public let skippedCount: Int
  /// The number of occurrences for which the handler's buffer had no room: see ``Buffering``.
  public let droppedCount: Int
  /// The number of occurrences that a lock holds for this handler: see
  /// ``HandlerRegistry/lock(_:holding:)``. Occurrences that were already on its lane before the
  /// lock don't count.
  public let heldCount: Int
}

extension HandlerSnapshot: CustomStringConvertible {
  /// A one-line summary for logs: name, delivery, source location, current state and counts.
  public var description: String {
    var parts = ["\(name ?? "handler \(id)")\(key.map { " of \($0)" } ?? "") on \(delivery)"]
    if let location = token.sourceText { parts.append(location) }
    if isLocked { parts.append("locked") }
    if isOnce { parts.append("once") }
    if heldCount > 0 { parts.append("\(heldCount) held") }
    if waitingCount > 0 { parts.append("\(waitingCount) waiting") }
    if let runningFor { parts.append("running for \(runningFor.inSeconds)") }
    if attempt > 1 { parts.append("attempt \(attempt)") }
    parts += ["\(callCount) calls", "\(failedCount) failed", "\(droppedCount) dropped"]
    return parts.joined(separator: ", ")
  }
}
