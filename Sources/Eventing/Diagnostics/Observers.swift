import Synchronization

/// One observation: an observer, until the observation ends.
// Safe: each field says what guards it.
final class Observation: @unchecked Sendable {
  private let mutex = UnfairMutex()
  /// The observer; `nil` after the observation has ended. Guarded by: mutex.
  @exclusivity(unchecked) private var observer: (any EventObserver)?

  init(_ observer: any EventObserver) { unsafe self.observer = observer }

  /// The observer; `nil` after the observation has ended.
  var current: (any EventObserver)? { mutex.withLock { unsafe observer } }

  /// Ends the observation. The observer is released after the mutex.
  func end() {
    mutex.lock()
    let gone = unsafe observer
    unsafe observer = nil
    mutex.unlock()
    (gone as? EventDiagnostics)?.forgetOthers()
  }
}

/// The observers of an event at one time. Immutable.
@usableFromInline final class Observers: Sendable {
  private let observations: [Observation]
  /// The name of the event.
  private let event: String?

  init(_ observations: [Observation] = [], of event: String?) {
    self.observations = observations
    self.event = event
  }

  /// Returns the observers together with one more.
  func adding(_ observation: Observation) -> Observers { Observers(observations + [observation], of: event) }

  /// The observers whose observation has not ended: this object if that is all of them, `nil` if
  /// there are none.
  var living: Observers? {
    let rest = observations.filter { $0.current != nil }
    return rest.isEmpty ? nil : rest.count == observations.count ? self : Observers(rest, of: event)
  }

  func accepted(_ sequence: UInt64) { tell { $0.accepted(sequence: sequence, event: event) } }
  @usableFromInline func added(_ handler: HandlerToken) { tell { $0.added(handler, event: event) } }
  @usableFromInline func removed(_ handler: HandlerToken) { tell { $0.removed(handler) } }

  /// Calls a closure with each observer whose observation has not ended.
  fileprivate func tell(_ body: (any EventObserver) -> Void) {
    for observation in observations { if let observer = observation.current { body(observer) } }
  }
}

/// An occurrence of an observed event, as its observers see it. It goes onto the lanes with the
/// payload.
@usableFromInline struct ObservedOccurrence: Sendable {
  let observers: Observers
  let sequence: UInt64

  @usableFromInline func skipped(_ handler: HandlerToken) { observers.tell { $0.skipped(handler, sequence: sequence) } }
  @usableFromInline func dropped(_ handler: HandlerToken) { observers.tell { $0.dropped(handler, sequence: sequence) } }
  @usableFromInline func held(_ handler: HandlerToken) { observers.tell { $0.held(handler, sequence: sequence) } }

  /// Tells the observers that a call begins. Returns a value that tells them when it ends.
  @usableFromInline func began(_ handler: HandlerToken) -> ObservedCall {
    observers.tell { $0.began(handler, sequence: sequence) }
    return ObservedCall(observed: self, handler: handler)
  }
}

/// A running call of a handler of an observed event.
@usableFromInline struct ObservedCall: Sendable {
  fileprivate let observed: ObservedOccurrence
  fileprivate let handler: HandlerToken
  private let start = StableInstant.now

  fileprivate init(observed: ObservedOccurrence, handler: HandlerToken) {
    self.observed = observed
    self.handler = handler
  }

  /// Tells the observers that the call has ended, and with which error.
  @usableFromInline func ended(_ error: (any Error)?) {
    let duration = StableInstant.now.sinceOrigin - start.sinceOrigin
    observed.observers.tell { $0.ended(handler, sequence: observed.sequence, duration: duration, error: error) }
  }
}

/// The observers of events that will be created.
enum NewEvents {
  /// Whether there are observations, so that creating an event takes no mutex without them.
  private static let isObserved = Atomic<Bool>(false)
  private static let registry = Registry()

  // Safe: each field says what guards it.
  private final class Registry: @unchecked Sendable {
    let mutex = UnfairMutex()
    /// The observations of new events. Guarded by: mutex.
    @exclusivity(unchecked) var observations: [Observation] = []
  }

  static func add(_ observation: Observation) {
    registry.mutex.withLock {
      unsafe registry.observations.append(observation)
      isObserved.publish(true)
    }
  }

  static func remove(_ observation: Observation) {
    registry.mutex.withLock {
      unsafe registry.observations.removeAll { $0 === observation }
      if unsafe registry.observations.isEmpty { isObserved.publish(false) }
    }
  }

  /// Adds the observers to a new event, before any other thread knows it.
  static func tell(_ core: EventCore, _ name: String?) {
    guard isObserved.load(ordering: .acquiring) else { return }
    // Copied: an array that is changed in place under the mutex must not leave it.
    let observations = registry.mutex.withLock { unsafe registry.observations.map { $0 } }
    for observation in observations { core.observe(in: observation, name) }
  }
}
