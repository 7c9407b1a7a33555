/// The part of an ``Event`` that does not depend on its payload type.
///
/// `any EventProtocol` holds events of different payloads, as ``EventBus/events(of:)`` does.
public protocol EventProtocol: Actor {
  /// The name in logs, occurrences and snapshots: see ``Event/name``.
  nonisolated var name: String? { get }
  /// The number of handlers: see ``Event/handlerCount``.
  nonisolated var handlerCount: Int { get }
  /// Snapshots of all handlers: see ``Event/handlers``.
  var handlers: [HandlerSnapshot] { get }
  /// Removes handlers: see ``Event/removeAll(where:)``.
  @discardableResult nonisolated func removeAll(where filter: HandlerFilter) -> Int
  /// Locks the event itself: see ``Event/lock(holding:)``.
  nonisolated func lock(holding: Holding)
  /// Ends the event's own lock: see ``Event/unlock()``.
  nonisolated func unlock()
  /// Adds an observer: see ``Event/observe(with:)``.
  @discardableResult nonisolated func observe(with observer: some EventObserver) -> EventRegistration
  /// Waits for all calls for occurrences sent before: see ``Event/quiesce()``.
  nonisolated(nonsending) func quiesce() async
  /// Ends the event: see ``Event/finish()``.
  nonisolated func finish()
}

extension Event: EventProtocol {}

extension EventProtocol {
  /// Removes all handlers: see ``Event/removeAll(where:)``.
  @discardableResult public nonisolated func removeAll() -> Int { removeAll(where: .all) }
}
