/// What every event offers, whatever it carries.
public protocol EventProtocol: Actor {
  /// For logs, occurrences and snapshots.
  nonisolated var name: String? { get }
  /// How many handlers there are now. O(handlers).
  nonisolated var handlerCount: Int { get }
  /// What the handlers are like, between two occurrences.
  var handlers: [HandlerSnapshot] { get }
  /// Removes all handlers, and returns how many there were.
  @discardableResult nonisolated func removeAll() -> Int
  /// Silences the event.
  nonisolated func lock(holding: Holding)
  /// Ends that.
  nonisolated func unlock()
  /// Has an observer told of all that is sent from now on.
  @discardableResult nonisolated func observe(with observer: some EventObserver) -> EventObservation
  /// Returns when nothing that was sent before is still running.
  nonisolated(nonsending) func quiesce() async
  /// Ends the event.
  nonisolated func finish()
}

extension Event: EventProtocol {}
