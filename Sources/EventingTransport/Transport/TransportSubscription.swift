/// A running subscription of a ``Transport``.
///
/// The methods may be called from any thread, repeatedly and concurrently.
public protocol TransportSubscription: AnyObject, Sendable {
  /// Tells the engine that ``SubscribeOptions/isReady`` may have changed to true.
  ///
  /// The engine looks again soon. It does not call the closure or `begin` before this returns.
  func readinessChanged()

  /// Ends the subscription, and lets the messages that have begun be handled.
  ///
  /// After the call no message begins. The method waits for the verdicts of the messages that have
  /// begun. It gives back the messages that have not begun and, when `limit` is over, those without
  /// a verdict. An engine that stores messages delivers these again.
  ///
  /// The method returns shortly after `limit` at the latest, even if the engine is unreachable.
  ///
  /// - Parameter limit: The longest wait for verdicts.
  func drain(within limit: Duration) async

  /// Ends the subscription at once, and gives back what has no verdict. Does not wait.
  func cancel()
}

/// A message whose handling has begun.
public protocol BegunMessage: Sendable {
  /// The verdict, if it is known without a wait; otherwise `nil`. An engine that reads a verdict
  /// here need not start a task for ``verdict``.
  var knownVerdict: Verdict? { get }
  /// The verdict, when the handling is over. An engine reads this or ``knownVerdict`` once.
  var verdict: Verdict { get async }
}

/// The step that an engine takes with a message whose handling is over.
///
/// At most once, every verdict but ``reject(_:)`` means that the message is forgotten.
public enum Verdict: Hashable, Sendable {
  /// The message was handled: acknowledge it.
  case done
  /// A handler failed: deliver the message again after a delay, to any member of the group. The
  /// next ``RemoteMessage/attempt`` is larger by one.
  case retry(after: Duration)
  /// The message was not handled, and no handler failed: deliver it again after a delay, to any
  /// member of the group. The attempt stays as it is, as far as the engine can tell.
  case release(after: Duration)
  /// The message is hopeless: never deliver it to this group again, and post an incident of the
  /// kind ``TransportIncident/Kind/deadLetter``. Its dead letter has been published before, unless
  /// the reason says why there is none.
  case reject(String)
}
