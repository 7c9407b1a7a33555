/// Watches what an event does. Every requirement has a default that does nothing.
///
///     struct DropLogger: EventObserver {
///       func dropped(_ handler: HandlerToken, sequence: UInt64) { print("dropped", handler) }
///     }
///     let watching = progress.observe(with: DropLogger())
///
/// It is told where it happens: on the thread that delivers, or on the handler's lane, between the handlers; so it had better be quick. It may call anything of any event. Of one
/// event ``accepted(sequence:event:)``, ``added(_:event:)`` and ``removed(_:)`` come one at a time, in order; the rest may come from several lanes at once.
public protocol EventObserver: Sendable {
  /// The delivery of an occurrence begins.
  func accepted(sequence: UInt64, event: String?)
  /// A call of a handler begins. For a sequence or a forward that is handing it over.
  func began(_ handler: HandlerToken, sequence: UInt64)
  /// A call has returned, or thrown.
  func ended(_ handler: HandlerToken, sequence: UInt64, duration: Duration, error: (any Error)?)
  /// A handler was not called: locked, removed or used up while the occurrence waited for it, or another one kept it from it.
  func skipped(_ handler: HandlerToken, sequence: UInt64)
  /// A handler had no room: see ``Buffering``.
  func dropped(_ handler: HandlerToken, sequence: UInt64)
  /// A lock holds it for a handler that would have been called: see ``Holding``.
  func held(_ handler: HandlerToken, sequence: UInt64)
  /// A handler joined; at first those are told of that are there already.
  func added(_ handler: HandlerToken, event: String?)
  /// A handler left: it was removed, used up, or its owner or event is gone. Its last call may still be running.
  func removed(_ handler: HandlerToken)
}

extension EventObserver {
  /// Does nothing.
  public func accepted(sequence: UInt64, event: String?) {}
  /// Does nothing.
  public func began(_ handler: HandlerToken, sequence: UInt64) {}
  /// Does nothing.
  public func ended(_ handler: HandlerToken, sequence: UInt64, duration: Duration, error: (any Error)?) {}
  /// Does nothing.
  public func skipped(_ handler: HandlerToken, sequence: UInt64) {}
  /// Does nothing.
  public func dropped(_ handler: HandlerToken, sequence: UInt64) {}
  /// Does nothing.
  public func held(_ handler: HandlerToken, sequence: UInt64) {}
  /// Does nothing.
  public func added(_ handler: HandlerToken, event: String?) {}
  /// Does nothing.
  public func removed(_ handler: HandlerToken) {}
}

/// What ends an observation. Dropping it changes nothing.
public struct EventObservation: Sendable {
  let onEnd: @Sendable () -> Void

  /// The observer is told nothing any more, but for what it is just being told.
  public func end() { onEnd() }
}

extension Event {
  /// Has an observer told of all that is sent from now on.
  ///
  /// An event that is observed queues what is sent and works it off at once, instead of delivering directly; events that nobody observes pay nothing. Several observers are
  /// told in the order in which they came. The event keeps them, until the observation is ended or the event goes.
  @discardableResult public nonisolated func observe(with observer: some EventObserver) -> EventObservation {
    let observation = Observation(observer)
    core.observe(in: observation, name)
    return EventObservation { [weak core] in
      observation.end()
      core?.forgetObservers()
    }
  }

  /// Occurrences that reached nobody: there was no handler, or each was locked, or had no room.
  ///
  /// Its handlers are its own: `event.unheard.remove(token)` removes one.
  ///
  /// From the first time that this is asked for, the event queues what is sent and works it off at once, as an observed one does. A handler of this runs on behalf of the
  /// one who sends.
  public nonisolated var unheard: some EventSource<Occurrence<Payload>> {
    (core.unheard(name) as Event<Occurrence<Payload>>).source
  }
}

extension EventObserver {
  /// Observes each event that is made from now on, in the whole process, until the observation is ended.
  @discardableResult public func observeNewEvents() -> EventObservation {
    let observation = Observation(self)
    NewEvents.add(observation)
    return EventObservation {
      NewEvents.remove(observation)
      observation.end()
    }
  }
}
