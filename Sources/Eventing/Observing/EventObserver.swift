/// Watches what events do, step by step.
///
///     struct DropLogger: EventObserver {
///       func observe(_ step: EventStep) {
///         guard step.kind == .dropped, let sequence = step.sequence else { return }
///         print("\(step.event) had no room for #\(sequence)")
///       }
///     }
///     let watching = progress.observe(with: DropLogger())
///
/// For any one event, `accepted`, `added` and `removed` come one at a time and in order until the
/// observation ends. The other kinds may come from several threads at once.
public protocol EventObserver: Sendable {
  /// Called for each step of the observed events.
  ///
  /// Runs on the thread that delivers, or on the handler's lane. Later handlers wait for it, so
  /// keep it short. No mutex is held, so the observer may call any method of any event.
  ///
  /// - Parameter step: The step. Ignore kinds you don't know: later versions may add some.
  func observe(_ step: EventStep)
}

package protocol ObservationCounter: EventObserver {
  func observationBegan()
  func observationEnded()
}

/// One step in the work of an event, as its observers are told of it.
///
/// Later versions may add kinds and properties.
public struct EventStep: Sendable {
  /// The kind of a step. Later versions may add more.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind.
    public let description: String

    /// The delivery of an occurrence begins, before any handler is called.
    public static var accepted: Kind { Kind(description: "accepted") }
    /// An attempt of a handler's call begins. For a sequence or a forward, the call is the
    /// hand-over of the payload. The call of a batch begins and ends once for each payload.
    public static var began: Kind { Kind(description: "began") }
    /// An attempt has returned or thrown, or was longer than its time limit. The duration is that
    /// of the whole attempt, suspensions included.
    public static var ended: Kind { Kind(description: "ended") }
    /// A handler skipped an occurrence. It was locked, or it was removed or used up while the
    /// occurrence waited for it. Or a view, an interceptor or a failure kept the occurrence from
    /// it.
    public static var skipped: Kind { Kind(description: "skipped") }
    /// A handler had no room for an occurrence (``Buffering``), its pace left the occurrence out,
    /// or a newer one replaced it. If a newer one had cancelled the call
    /// (``HandlerOption/cancellingPrevious``), the step comes when that call has ended, in the
    /// place of ``ended``, and has a duration.
    public static var dropped: Kind { Kind(description: "dropped") }
    /// A lock holds an occurrence for a handler: see ``HandlerRegistry/lock(_:holding:)``.
    public static var held: Kind { Kind(description: "held") }
    /// A handler was added. When an observation begins, this comes first for each handler that is
    /// already there.
    public static var added: Kind { Kind(description: "added") }
    /// A handler was removed or used up, or its owner or event is gone. Its last call may still be
    /// running. When an observation ends, this comes for each handler that is still there.
    public static var removed: Kind { Kind(description: "removed") }
    /// The observation ends, and this call has not ended: the observer is not told of its end.
    public static var left: Kind { Kind(description: "left") }
  }

  /// The kind of the step.
  public let kind: Kind
  /// The event.
  public let event: EventIdentity
  /// The handler; `nil` for ``Kind/accepted``.
  public let handler: HandlerToken?
  /// The sequence number of the occurrence; `nil` for ``Kind/added`` and ``Kind/removed``.
  public let sequence: UInt64?
  /// The duration of the attempt, if one has ended; otherwise `nil`.
  public let duration: Duration?
  /// The number of the attempt that begins or has ended, 1 for the first one of a call; otherwise
  /// `nil`.
  public let attempt: Int?
  /// The error that made the attempt fail, as in its ``HandlerFailure``; `nil` if it didn't fail.
  public let error: (any Error)?
  package let isFurther: Bool
  package let lane: DeliveryTarget?

  init(
    _ kind: Kind, _ event: EventIdentity, _ handler: HandlerToken? = nil, _ sequence: UInt64? = nil,
    duration: Duration? = nil, attempt: Int? = nil, error: (any Error)? = nil, isFurther: Bool = false,
    lane: DeliveryTarget? = nil
  ) {
    (self.kind, self.event, self.handler, self.sequence) = (kind, event, handler, sequence)
    (self.duration, self.attempt, self.error) = (duration, attempt, error)
    (self.isFurther, self.lane) = (isFurther, lane)
  }
}

/// An observation, or the propagation of a task-local value, that lasts until it is ended. Dropping
/// this value changes nothing.
public struct EventRegistration: Sendable {
  private let onEnd: @Sendable () -> Void

  package init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

  /// Ends what was registered. Further calls have no effect.
  ///
  /// An observer is told which calls it leaves, and that the handlers are gone:
  /// ``EventStep/Kind/left`` and ``EventStep/Kind/removed``. A step that another thread was about
  /// to tell may come after those, or after the return. No later step comes.
  ///
  /// Callable from any thread and inside a handler.
  public func end() { onEnd() }
}

extension EventObserver {
  /// Observes every event that is created from now on, in the whole process.
  ///
  /// Effective on return, and callable from any thread. The observer is retained until the
  /// observation is ended. Each of the events loses its fast path: see
  /// ``HandlerRegistry/observe(with:)``.
  ///
  /// - Returns: The observation, which ``EventRegistration/end()`` ends.
  @discardableResult public func observeNewEvents() -> EventRegistration {
    let observation = Observation(self)
    NewEvents.add(observation)
    return EventRegistration {
      NewEvents.remove(observation)
      observation.end()
    }
  }
}
