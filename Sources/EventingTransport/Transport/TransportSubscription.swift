/// A running subscription of a ``Transport``.
///
/// Any thread may call the methods, repeatedly and concurrently.
public protocol TransportSubscription: AnyObject, Sendable {
  /// Tells the engine that ``SubscribeOptions/isReady`` may have changed to true.
  ///
  /// The engine calls `isReady` again soon, but this method itself calls neither `isReady` nor
  /// `begin`.
  func readinessChanged()

  /// Ends the subscription after the messages that have begun are handled.
  ///
  /// A message *begins* when the engine passes it to the closure `begin` of
  /// ``Transport/subscribe(_:_:_:)`` and thus to the handlers. Once this method is called, no more
  /// messages of a stream begin. The method waits for the verdicts on the messages that have begun.
  /// It gives the messages that haven't begun back to the engine and, at the limit, also those that
  /// have begun but have no verdict. An engine that stores messages redelivers them.
  ///
  /// Without a stream, no other subscription gets the messages that were sent to this one, so the
  /// engine still begins them, and the method waits for their verdicts.
  ///
  /// The method returns shortly after `limit` at the latest, even if the engine is unreachable.
  ///
  /// - Parameter limit: The longest time to wait for verdicts.
  func drain(within limit: Duration) async

  /// Ends the subscription at once and gives the messages without a verdict back to the engine. It
  /// doesn't wait.
  func cancel()
}

/// A message whose handling has begun.
public protocol BegunMessage: Sendable {
  /// The verdict, if it's known without waiting; otherwise `nil`, which is the default. If the
  /// verdict is known, an engine need not start a task that awaits ``verdict``.
  var knownVerdict: Verdict? { get }
  /// The verdict, once the handling has ended. If ``knownVerdict`` has returned no verdict, an
  /// engine awaits this property once.
  var verdict: Verdict { get async }
}

extension BegunMessage {
  /// Always `nil`, so the engine has to await ``verdict``.
  public var knownVerdict: Verdict? { nil }
}

/// The engine's instruction for a message whose handling has ended.
///
/// An engine that delivers at most once drops the message after any verdict. After ``reject(_:)``,
/// it also posts an incident for the message to its ``Transport/incidents``, as every engine does.
public enum Verdict: Hashable, Sendable {
  /// The message was handled, so the engine acknowledges it.
  case done
  /// A handler failed. The engine redelivers the message after a delay, to any member of the group.
  /// If this process gets the message again, its ``RemoteMessage/attempt`` is higher by one. An
  /// engine that knows about failures in other processes counts them, too.
  case retry(after: Duration)
  /// The message was not handled, and no handler failed. The engine redelivers it after a delay, to
  /// any member of the group. The number of the attempt, ``RemoteMessage/attempt``, stays the same.
  case release(after: Duration)
  /// The message can never be handled. The engine never delivers it to this group again and posts
  /// an incident of the kind ``TransportIncident/Kind/deadLetter``. If the listening has a subject
  /// for dead letters, it publishes the dead letter there before it gives this verdict. The
  /// associated text is the reason for the rejection. If the listening has such a subject but
  /// published no dead letter there, the text also gives the reason for that.
  case reject(String)
}
