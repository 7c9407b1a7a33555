/// An observer of events. Every requirement has a default implementation.
///
///     struct DropLogger: EventObserver {
///       func dropped(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
///         print(event, "dropped", sequence)
///       }
///     }
///     let watching = progress.observe(with: DropLogger())
///
/// The calls come on the thread that delivers, or on the handler's lane. The handlers that follow
/// wait for these calls, so keep them short. No mutex is held during a call, and an observer may
/// call any method of any event.
///
/// For one event, ``accepted(sequence:in:)``, ``added(_:in:)`` and ``removed(_:in:)`` come one at a
/// time, in order. The other calls may come from several lanes at once.
///
/// A requirement with a parameter `in:` receives the identity of the event. Its default
/// implementation calls the older requirement, which has this base name and no parameter `in:`. The
/// default implementation of an older requirement does nothing.
public protocol EventObserver: Sendable {
  /// Called when the delivery of an occurrence begins, before any handler is called.
  ///
  /// - Parameters:
  ///   - sequence: The sequence number of the occurrence.
  ///   - event: The event.
  func accepted(sequence: UInt64, in event: EventIdentity)
  /// Called when a call of a handler begins. For a sequence or a forward, the call is the hand-over
  /// of the payload. For a call with a batch, this is called for each payload, and so is
  /// ``ended(_:sequence:duration:error:in:)``, each time with the duration of the whole call.
  ///
  /// - Parameters:
  ///   - handler: The token of the handler.
  ///   - sequence: The sequence number of the occurrence.
  ///   - event: The event of the handler.
  func began(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity)
  /// Called when a call of a handler has returned or thrown, or was longer than its time limit.
  ///
  /// - Parameters:
  ///   - handler: The token of the handler.
  ///   - sequence: The sequence number of the occurrence.
  ///   - duration: The time from the beginning of the call, suspensions included.
  ///   - error: The error with which the call failed, as in its ``HandlerFailure``; `nil` if it did
  ///     not fail.
  ///   - event: The event of the handler.
  func ended(
    _ handler: HandlerToken, sequence: UInt64, duration: Duration, error: (any Error)?, in event: EventIdentity)
  /// Called for a handler that skipped an occurrence.
  ///
  /// The handler was locked, or it was removed or used up while the occurrence waited for it. Or a
  /// view, an interceptor or a failure kept the occurrence from it.
  func skipped(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity)
  /// Called for a handler that had no room for an occurrence; see ``Buffering``.
  ///
  /// Also called for an occurrence that a pace leaves out, or that a newer one replaces.
  func dropped(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity)
  /// Called when a call has ended that a newer occurrence had cancelled; see
  /// ``Handler/restarting()``. The occurrence counts as dropped, whatever the call returned or
  /// threw, so ``ended(_:sequence:duration:error:in:)`` is not called.
  ///
  /// The default implementation calls ``dropped(_:sequence:in:)``.
  ///
  /// - Parameters:
  ///   - handler: The token of the handler.
  ///   - sequence: The sequence number of the occurrence.
  ///   - duration: The time from the beginning of the call, suspensions included.
  ///   - event: The event of the handler.
  func dropped(_ handler: HandlerToken, sequence: UInt64, after duration: Duration, in event: EventIdentity)
  /// Called when the observation ends, for each call that has not ended: the observer is not told
  /// of its end.
  ///
  /// The default implementation does nothing.
  ///
  /// - Parameters:
  ///   - handler: The token of the handler.
  ///   - sequence: The sequence number of the occurrence.
  ///   - event: The event of the handler.
  func left(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity)
  /// Called when a lock holds an occurrence for a handler; see ``Holding``.
  func held(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity)
  /// Called when a handler was added. When an observation begins, this is called first for each
  /// handler that is already there.
  ///
  /// - Parameters:
  ///   - handler: The token of the handler.
  ///   - event: The event of the handler.
  func added(_ handler: HandlerToken, in event: EventIdentity)
  /// Called when a handler was removed or used up, or its owner or event is gone. The handler's
  /// last call may still be running. When an observation ends, this is called for each handler that
  /// is still there.
  func removed(_ handler: HandlerToken, in event: EventIdentity)

  // MARK: Without the event's identity

  /// Called by the default implementation of ``accepted(sequence:in:)``, with the name of the
  /// event.
  func accepted(sequence: UInt64, event: String?)
  /// Called by the default implementation of ``began(_:sequence:in:)``.
  func began(_ handler: HandlerToken, sequence: UInt64)
  /// Called by the default implementation of ``ended(_:sequence:duration:error:in:)``.
  func ended(_ handler: HandlerToken, sequence: UInt64, duration: Duration, error: (any Error)?)
  /// Called by the default implementation of ``skipped(_:sequence:in:)``.
  func skipped(_ handler: HandlerToken, sequence: UInt64)
  /// Called by the default implementation of ``dropped(_:sequence:in:)``.
  func dropped(_ handler: HandlerToken, sequence: UInt64)
  /// Called by the default implementation of ``held(_:sequence:in:)``.
  func held(_ handler: HandlerToken, sequence: UInt64)
  /// Called by the default implementation of ``added(_:in:)``, with the name of the event.
  func added(_ handler: HandlerToken, event: String?)
  /// Called by the default implementation of ``removed(_:in:)``.
  func removed(_ handler: HandlerToken)
}

// The default implementation of each requirement with `in:` calls the older requirement. So an
// observer that implements only the older requirement is called.
extension EventObserver {
  public func accepted(sequence: UInt64, in event: EventIdentity) { accepted(sequence: sequence, event: event.name) }
  public func began(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
    began(handler, sequence: sequence)
  }
  public func ended(
    _ handler: HandlerToken, sequence: UInt64, duration: Duration, error: (any Error)?, in event: EventIdentity
  ) {
    ended(handler, sequence: sequence, duration: duration, error: error)
  }
  public func skipped(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
    skipped(handler, sequence: sequence)
  }
  public func dropped(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
    dropped(handler, sequence: sequence)
  }
  public func dropped(
    _ handler: HandlerToken, sequence: UInt64, after duration: Duration, in event: EventIdentity
  ) {
    dropped(handler, sequence: sequence, in: event)
  }
  public func left(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {}
  public func held(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
    held(handler, sequence: sequence)
  }
  public func added(_ handler: HandlerToken, in event: EventIdentity) { added(handler, event: event.name) }
  public func removed(_ handler: HandlerToken, in event: EventIdentity) { removed(handler) }

  public func accepted(sequence: UInt64, event: String?) {}
  public func began(_ handler: HandlerToken, sequence: UInt64) {}
  public func ended(_ handler: HandlerToken, sequence: UInt64, duration: Duration, error: (any Error)?) {}
  public func skipped(_ handler: HandlerToken, sequence: UInt64) {}
  public func dropped(_ handler: HandlerToken, sequence: UInt64) {}
  public func held(_ handler: HandlerToken, sequence: UInt64) {}
  public func added(_ handler: HandlerToken, event: String?) {}
  public func removed(_ handler: HandlerToken) {}
}

/// An observation of one event, or of all new events, that can be ended. Dropping it changes
/// nothing.
public struct EventObservation: Sendable {
  let onEnd: @Sendable () -> Void

  /// Ends the observation. The observer is told which calls it leaves, and that the handlers are
  /// gone: see ``EventObserver/left(_:sequence:in:)`` and ``EventObserver/removed(_:in:)``.
  /// After the return it is not called.
  ///
  /// A call that another thread had already begun may still be running. Further calls of `end()`
  /// have no effect. Callable from any thread and inside a handler.
  public func end() { onEnd() }
}

extension Event {
  /// Adds an observer, which is told of every occurrence that is sent from now on.
  ///
  /// Effective on return, and callable from any thread and inside a handler. Several observers are
  /// told in the order in which they were added. The event retains an observer until the
  /// observation is ended, or the event is released.
  ///
  /// An observed event has no fast path: each occurrence is enqueued, and the queue is drained at
  /// once. Events without observers pay nothing.
  ///
  /// - Parameter observer: The observer.
  /// - Returns: The observation, which ``EventObservation/end()`` ends. Without that call, the
  ///   observation lasts as long as the event.
  /// - Complexity: O(*n*) for *n* handlers and observers.
  @discardableResult public nonisolated func observe(with observer: some EventObserver) -> EventObservation {
    let observation = Observation(observer)
    core.observe(in: observation, name)
    return EventObservation { [weak core] in
      observation.end()
      core?.forgetObservers()
    }
  }
}

extension EventObserver {
  /// Observes every event that is created from now on, in the whole process.
  ///
  /// Effective on return, and callable from any thread. The observer is retained until the
  /// observation is ended. Each of the events loses its fast path: see ``Event/observe(with:)``.
  ///
  /// - Returns: The observation, which ``EventObservation/end()`` ends.
  @discardableResult public func observeNewEvents() -> EventObservation {
    let observation = Observation(self)
    NewEvents.add(observation)
    return EventObservation {
      NewEvents.remove(observation)
      observation.end()
    }
  }
}
