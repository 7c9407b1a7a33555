/// A running subscription of a ``Transport``.
///
/// Any thread may call the methods, repeatedly and concurrently.
public protocol TransportSubscription: AnyObject, Sendable {
  /// Tells the engine that ``SubscribeOptions/isReady`` may have changed to true.
  ///
  /// The engine calls `isReady` again soon, but this method itself calls neither `isReady` nor
  /// `begin`.
  func readinessChanged()

  /// Ends the subscription, and lets the messages that have begun be handled.
  ///
  /// A message *begins* when the engine passes it to the closure `begin` of
  /// ``Transport/subscribe(_:_:_:)``, and so to the handlers. From the call of this method on, no
  /// message of a stream begins. The method waits for the verdicts on the begun messages. It gives
  /// the messages that have not begun back to the engine and, at the limit, the begun messages
  /// without a verdict, too. An engine that stores messages redelivers them.
  ///
  /// Without a stream, no other subscription gets the messages that were sent to this one. So the
  /// engine still begins these messages, and the method waits for their verdicts.
  ///
  /// The method returns shortly after `limit` at the latest, even if the engine is unreachable.
  ///
  /// - Parameter limit: The longest wait for verdicts.
  func drain(within limit: Duration) async

  /// Ends the subscription at once, and returns the messages without a verdict to the engine. Does
  /// not wait.
  func cancel()
}

/// A message whose handling has begun.
public protocol BegunMessage: Sendable {
  /// The verdict, if it is known without a wait; otherwise `nil`, which is the default. For a known
  /// verdict, an engine need not start a task that awaits ``verdict``.
  var knownVerdict: Verdict? { get }
  /// The verdict, when the handling has ended. If ``knownVerdict`` has returned no verdict, an
  /// engine awaits this property once.
  var verdict: Verdict { get async }
}

extension BegunMessage {
  /// The value `nil`: the engine has to await ``verdict``.
  public var knownVerdict: Verdict? { nil }
}

/// The engine's instruction for a message whose handling has ended.
///
/// An engine that delivers at most once drops the message after every verdict. After ``reject(_:)``
/// it also posts the message's incident to its event of incidents, as every engine does.
public enum Verdict: Hashable, Sendable {
  /// The message was handled, so the engine acknowledges it.
  case done
  /// A handler failed. The engine redelivers the message after a delay, to any member of the group.
  /// If this process gets the message again, its ``RemoteMessage/attempt`` is larger by one. An
  /// engine that knows the failures in other processes counts them, too.
  case retry(after: Duration)
  /// The message was not handled, and no handler failed. The engine redelivers it after a delay, to
  /// any member of the group. The number of the attempt, ``RemoteMessage/attempt``, stays
  /// unchanged.
  case release(after: Duration)
  /// The message can never be handled. The engine never delivers it to this group again, and posts
  /// an incident of the kind ``TransportIncident/Kind/deadLetter``. If the listening has a subject
  /// for dead letters, the listening first publishes the dead letter there, and then gives this
  /// verdict. The associated text is the reason of the rejection. If the listening has such a
  /// subject, but published no dead letter there, the text also has the reason for that.
  case reject(String)
}
