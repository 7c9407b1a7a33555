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
/// For each event, `accepted`, `added` and `removed` are reported one at a time and in order until
/// the observation ends. The other kinds may be reported by several threads at once.
public protocol EventObserver: Sendable {
  /// Called for each step of the observed events.
  ///
  /// Runs on the delivering thread or on the handler's lane. Later handlers wait for it, so keep it
  /// short. No mutex is held, so the observer may call any method of any event.
  ///
  /// - Parameter step: The step. Ignore kinds you don't know, because later versions may add some.
  func observe(_ step: EventStep)
}

package protocol ObservationCounter: EventObserver {
  func observationBegan()
  func observationEnded()
}

/// One step in the work of an event, as reported to its observers.
///
/// Later versions may add kinds and properties.
public struct EventStep: Sendable {
  /// The kind of a step. Later versions may add more.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind.
    public let description: String

    /// The delivery of an occurrence begins, before any handler is called.
    public static var accepted: Kind { Kind(description: "accepted") }
    /// An attempt of a handler's call begins. For a sequence or a forward, the call is the handover
    /// of the payload. The call of a batch begins and ends once for each payload.
    public static var began: Kind { Kind(description: "began") }
    /// An attempt has returned, thrown or exceeded its time limit. The duration covers the whole
    /// attempt, including suspensions.
    public static var ended: Kind { Kind(description: "ended") }
    /// A handler skipped an occurrence, because it was locked, because it was removed or used up
    /// while the occurrence waited for it, or because a view, an interceptor or a failure kept the
    /// occurrence from it.
    public static var skipped: Kind { Kind(description: "skipped") }
    /// A handler had no room for an occurrence (``Buffering``), its pace left the occurrence out,
    /// or a newer one replaced it. If a newer one has cancelled the call
    /// (``HandlerOption/cancellingPrevious``), this step is reported when that call has ended,
    /// instead of ``ended``, and has a duration.
    public static var dropped: Kind { Kind(description: "dropped") }
    /// A lock holds an occurrence for a handler: see ``HandlerRegistry/lock(_:holding:)``.
    public static var held: Kind { Kind(description: "held") }
    /// A handler was added. When an observation begins, this is reported first for each existing
    /// handler.
    public static var added: Kind { Kind(description: "added") }
    /// A handler was removed or used up, or its owner or event is gone. Its last call may still be
    /// running. When an observation ends, this is reported for each remaining handler.
    public static var removed: Kind { Kind(description: "removed") }
    /// The observation ends while this call is still running. The observer isn't notified of the
    /// call's end.
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
  /// The number of the attempt that begins or has ended, starting at 1 for each call; otherwise
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

/// An observation or the propagation of a task-local value, which lasts until it is ended. Dropping
/// this value has no effect.
public struct EventRegistration: Sendable {
  private let onEnd: @Sendable () -> Void

  package init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

  /// Ends what was registered. Further calls have no effect.
  ///
  /// An observer receives ``EventStep/Kind/left`` for each running call and
  /// ``EventStep/Kind/removed`` for each handler. A step that another thread was about to report
  /// may arrive after those, or after this returns. No later step is reported.
  ///
  /// Callable from any thread and inside a handler.
  public func end() { onEnd() }
}

extension EventObserver {
  /// Observes every event that is created from now on, in the whole process.
  ///
  /// Takes effect before it returns and can be called from any thread. The observer is retained
  /// until the observation is ended. Each of the events loses its fast path: see
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
