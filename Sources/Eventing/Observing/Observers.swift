import Synchronization

/// One observation: an observer, until the observation ends.
// Safe: each field says what guards it.
final class Observation: @unchecked Sendable {
  private let mutex = UnfairMutex()
  /// The observer; `nil` after the observation has ended. Guarded by: mutex.
  @exclusivity(unchecked) private var observer: (any EventObserver)?

  /// The handlers that the observer was told of and that have not been removed. Guarded by: mutex.
  @exclusivity(unchecked) private var handlers: [UInt64: (token: HandlerToken, event: EventIdentity)] = [:]
  /// The calls that the observer was told of and that have not ended. Guarded by: mutex.
  @exclusivity(unchecked) private var calls: [Call: EventIdentity] = [:]

  private struct Call: Hashable {
    let handler: HandlerToken
    let sequence: UInt64
  }

  init(_ observer: any EventObserver) {
    unsafe self.observer = observer
    (observer as? any ObservationCounter)?.observationBegan()
  }

  deinit { unsafe (observer as? any ObservationCounter)?.observationEnded() }

  /// The observer; `nil` after the observation has ended.
  var current: (any EventObserver)? { mutex.withLock { unsafe observer } }

  /// Ends the observation. The observer is released after the unlock.
  func end() {
    mutex.lock()
    let gone = unsafe observer
    unsafe observer = nil
    let (handlers, calls) = unsafe (self.handlers, self.calls)
    unsafe (self.handlers, self.calls) = ([:], [:])
    mutex.unlock()
    guard let gone else { return }
    (gone as? any ObservationCounter)?.observationEnded()
    let left = calls.sortedUnspecialized { ($0.key.handler.id, $0.key.sequence) < ($1.key.handler.id, $1.key.sequence) }
    for (call, event) in left { gone.observe(EventStep(.left, event, call.handler, call.sequence)) }
    for (token, event) in handlers.values.sortedUnspecialized(by: { $0.token.id < $1.token.id }) {
      gone.observe(EventStep(.removed, event, token))
    }
  }

  /// Returns the observer, and notes that it is told of a handler or of its removal; `nil` after
  /// the observation has ended.
  @inline(never) func note(_ handler: HandlerToken, _ event: EventIdentity, isAdded: Bool) -> (any EventObserver)? {
    mutex.withLock {
      if isAdded {
        if unsafe observer != nil { unsafe handlers[handler.id] = (handler, event) }
      } else if unsafe handlers.removeValue(forKey: handler.id) == nil {
        return nil  // told already: the end of an event reports handlers whose slots are left, too
      }
      return unsafe observer
    }
  }

  /// Returns the observer, and notes that it is told of the beginning or the end of a call; `nil`
  /// after the observation has ended.
  @inline(never) func note(
    _ handler: HandlerToken, _ sequence: UInt64, _ event: EventIdentity, hasBegun: Bool
  ) -> (any EventObserver)? {
    mutex.withLock {
      if unsafe observer != nil {
        unsafe calls[Call(handler: handler, sequence: sequence)] = hasBegun ? event : nil
        if !hasBegun { unsafe calls.giveBackRoom() }
      }
      return unsafe observer
    }
  }
}

/// The observers of an event at one time. Immutable.
@usableFromInline final class Observers: Sendable {
  private let observations: [Observation]
  /// The traces of the event. ``ObservedOccurrence`` tells them of each delivery and call, in
  /// addition to the observers.
  let traces: [EventTracing]
  /// The trace, if there is exactly one. A loop over `traces` would retain the array and the trace.
  let onlyTrace: EventTracing?
  let event: EventIdentity

  init(_ observations: [Observation], _ traces: [EventTracing] = [], of event: EventIdentity) {
    self.observations = observations
    self.traces = traces
    onlyTrace = traces.count == 1 ? traces[0] : nil
    self.event = event
  }

  /// Returns the observers together with one more.
  func adding(_ observation: Observation) -> Observers { Observers(observations + [observation], traces, of: event) }

  /// Returns the observers together with one more trace.
  func adding(_ trace: EventTracing) -> Observers { Observers(observations, traces + [trace], of: event) }

  /// The observers whose observation has not ended: this object if none has ended, `nil` if all
  /// have.
  var living: Observers? {
    if areTracesOnly, let onlyTrace { return onlyTrace.isOn ? self : nil }  // without arrays
    let rest = observations.filter { $0.current != nil }
    let traces = traces.filter(\.isOn)
    if rest.count == observations.count, traces.count == self.traces.count { return self }
    return rest.isEmpty && traces.isEmpty ? nil : Observers(rest, traces, of: event)
  }

  /// Whether there are traces and no observers, so that ``RunningCalls`` notes no call.
  var areTracesOnly: Bool { observations.isEmpty }

  func accepted(_ sequence: UInt64) { tell(EventStep(.accepted, event, nil, sequence)) }
  /// Tells the observers that a handler was added. Isolation: core.
  func added(_ handler: HandlerToken) {
    if observations.isEmpty { return }
    let lane = unsafe handler.record.details?.route?.target.map { WatchedLane($0) }
    let step = EventStep(.added, event, handler, lane: lane)
    for observation in observations { observation.note(handler, event, isAdded: true)?.observe(step) }
  }
  func removed(_ handler: HandlerToken) {
    let step = EventStep(.removed, event, handler)
    for observation in observations { observation.note(handler, event, isAdded: false)?.observe(step) }
  }

  /// Returns whether an observer whose observation has not ended satisfies a condition.
  func contains(where isWanted: (any EventObserver) -> Bool) -> Bool {
    observations.contains { $0.current.map(isWanted) ?? false }
  }

  /// Tells the observers that a call of a handler begins or has ended.
  @inline(never) fileprivate func tell(
    _ handler: HandlerToken, _ sequence: UInt64, hasBegun: Bool, _ step: EventStep
  ) {
    for observation in observations {
      observation.note(handler, sequence, event, hasBegun: hasBegun)?.observe(step)
    }
  }

  /// Tells the observers whose observation has not ended.
  @inline(never) fileprivate func tell(_ step: EventStep) {
    for observation in observations { observation.current?.observe(step) }
  }
}

/// An occurrence of an observed event, as its observers see it. The completion of the occurrence
/// carries this value onto the lanes.
@usableFromInline struct ObservedOccurrence: Sendable {
  let observers: Observers
  let sequence: UInt64
  /// The cell with the number of the current call, by which a trace finds the cause of a post;
  /// `nil` if the event is not traced.
  var cell: CallCell? { didSet { tracing = nil } }
  /// The trace of the event, and the cell, both without a retain, if the event has one trace and no
  /// observers; otherwise `nil`. Also `nil` in a copy that has got a new cell.
  private(set) var tracing: Tracing?

  /// The trace of an occurrence, and the ``CallCell`` with its current call, without a retain. The
  /// occurrence retains both.
  // Safe: used only while the occurrence exists.
  @safe struct Tracing {
    let trace: Unmanaged<EventTracing>
    let cell: Unmanaged<CallCell>
  }

  init(observers: Observers, sequence: UInt64) {
    self.observers = observers
    self.sequence = sequence
    guard !observers.traces.isEmpty else {
      (cell, tracing) = (nil, nil)
      return
    }
    let cell = CallCell()
    self.cell = cell
    if observers.areTracesOnly, let trace = observers.onlyTrace {
      tracing = unsafe Tracing(trace: .passUnretained(trace), cell: .passUnretained(cell))
    } else {
      tracing = nil
    }
  }

  private func tell(_ kind: EventStep.Kind, _ handler: HandlerToken) {
    if !observers.areTracesOnly { observers.tell(EventStep(kind, observers.event, handler, sequence)) }
  }

  func skipped(_ handler: HandlerToken) {
    tell(.skipped, handler)
    trace { $0.noCall(.skipped, handler: TracedHandler(handler.record), event: observers.event, sequence: sequence) }
  }
  func dropped(_ handler: HandlerToken) {
    tell(.dropped, handler)
    trace { $0.noCall(.dropped, handler: TracedHandler(handler.record), event: observers.event, sequence: sequence) }
  }
  func held(_ handler: HandlerToken) {
    tell(.held, handler)
    trace { $0.noCall(.held, handler: TracedHandler(handler.record), event: observers.event, sequence: sequence) }
  }

  /// Calls a closure with the sink of each trace that has not ended.
  @inline(__always) func trace(_ body: (any TraceSink) -> Void) {
    guard cell != nil else { return }
    if let trace = observers.onlyTrace {
      if trace.isOn { body(trace.sink) }
    } else {
      for trace in observers.traces where trace.isOn { body(trace.sink) }
    }
  }

  /// Tells the observers that a call of a handler begins.
  ///
  /// - Parameters:
  ///   - lane: The lane that runs the call; `nil` for an inline handler.
  ///   - attempt: The number of the attempt.
  ///   - isFurther: Whether the call is that of a batch, of which another payload has been told.
  ///     Then it counts no second time among the ``RunningCalls``.
  /// - Returns: The running call. When it has ended, the caller calls ``ended(_:of:_:)``, which
  ///   tells the observers.
  func began(
    _ handler: HandlerToken, on lane: DeliveryTarget?, attempt: Int = 1, isFurther: Bool = false
  ) -> ObservedCall {
    if observers.areTracesOnly {
      let start = StableInstant(sinceOrigin: .zero)
      return ObservedCall(
        start: start, attempt: attempt, place: nil, traced: beginTraced(TracedHandler(handler.record), on: lane))
    }
    let step = EventStep(.began, observers.event, handler, sequence, attempt: attempt, isFurther: isFurther)
    observers.tell(handler, sequence, hasBegun: true, step)
    let start = StableInstant.now
    let place = isFurther ? .shared : RunningCalls.begin(handler, self, start, on: lane)
    return ObservedCall(
      start: start, attempt: attempt, place: place, traced: beginTraced(TracedHandler(handler.record), on: lane))
  }

  /// Tells the observers that a call has ended, and with which error. Called once for a call.
  func ended(_ call: ObservedCall, of handler: HandlerToken, _ error: (any Error)?) {
    if let traced = call.traced {
      endTraced(traced, of: TracedHandler(handler.record), error == nil ? .returned : .threw)
    }
    end(call, of: handler, .ended, error)
  }

  /// Tells the observers that a call has ended that a newer occurrence had cancelled. Called in the
  /// place of ``ended(_:of:_:)``.
  @inline(never) func dropped(_ call: ObservedCall, of handler: HandlerToken) {
    if let traced = call.traced { endTraced(traced, of: TracedHandler(handler.record), .dropped) }
    end(call, of: handler, .dropped, nil)
  }

  private func end(_ call: ObservedCall, of handler: HandlerToken, _ kind: EventStep.Kind, _ error: (any Error)?) {
    guard let place = call.place else { return }
    let duration = StableInstant.now.since(call.start)
    RunningCalls.end(place)
    observers.tell(
      handler, sequence, hasBegun: false,
      EventStep(
        kind, observers.event, handler, sequence, duration: duration, attempt: call.attempt, error: error,
        isFurther: place.isShared))
  }

  /// Tells the observers that the payload was handed over to a sequence or another event.
  ///
  /// - Parameter call: The call that traces know already; `nil` for a new one.
  func handedOver(_ handler: HandlerToken, as call: TracedCall? = nil) {
    let event = observers.event
    observers.tell(handler, sequence, hasBegun: true, EventStep(.began, event, handler, sequence, attempt: 1))
    observers.tell(
      handler, sequence, hasBegun: false,
      EventStep(.ended, event, handler, sequence, duration: .zero, attempt: 1))
    let traced = TracedHandler(handler.record)
    if let call = call ?? beginTraced(traced, on: nil) { endTraced(call, of: traced, .returned) }
  }
}

/// A running call of a handler of an observed event. Copying the value retains nothing.
@usableFromInline struct ObservedCall: Sendable {
  /// When the call began. Not read if the event has traces and no observers.
  fileprivate let start: StableInstant
  fileprivate let attempt: Int
  /// The place of the call in ``RunningCalls``; `nil` if the event has traces and no observers.
  fileprivate let place: RunningCalls.Location?
  /// The call, as traces know it; `nil` if the event is not traced.
  fileprivate let traced: TracedCall?
}

/// The observations that ``EventObserver/observeNewEvents()`` has begun.
enum NewEvents {
  /// Whether there are observations. If there are none, creating an event takes no mutex.
  private static let isObserved = Atomic<Bool>(false)
  private static let registry = Guarded<[Observation]>([])

  static func add(_ observation: Observation) {
    registry.withLock { observations in
      observations.append(observation)
      isObserved.publish(true)
    }
  }

  static func remove(_ observation: Observation) {
    registry.withLock { observations in
      observations.removeAll { $0 === observation }
      if observations.isEmpty { isObserved.publish(false) }
    }
  }

  /// Adds the observers to a new event, before any other thread knows it.
  static func tell(_ core: EventCore, _ name: String?) {
    if EventRegistry.isOn { EventRegistry.join(core.anchor, name, hasHandler: false) }
    guard isObserved.load(ordering: .acquiring) else { return }
    // `map` makes a new array for this thread. If the thread shared the stored array, `add` and
    // `remove` would have to copy the stored array under the mutex.
    let observations = registry.withLock { $0.map { $0 } }
    for observation in observations { core.observe(in: observation, name) }
  }
}
