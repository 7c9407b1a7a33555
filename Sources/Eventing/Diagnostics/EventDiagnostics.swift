/// An observer that reports slow handlers, calls that hang, lanes that begin no call, lanes that
/// grow, and events with too many handlers.
///
/// Too many handlers usually mean that some were never removed.
///
///     EventDiagnostics(slowerThan: .milliseconds(100), stuckAfter: .seconds(10)) { finding in
///       log(finding)
///     }.observeNewEvents()    // when the program starts; or event.observe(with:) for one event
///
/// A slow handler is reported when its call has ended. A stuck one is reported while it hangs.
///
/// One instance can observe any number of events, from any threads.
// Safe: each field that changes says what guards it.
public final class EventDiagnostics: EventObserver, @unchecked Sendable {
  /// The duration up to which a call is not reported as slow.
  private let slowest: Duration?
  /// The time after which a call that has not ended is reported.
  let stuck: Duration?
  /// The number of handlers up to which an event is not reported.
  private let most: Int?
  let report: @Sendable (Finding) -> Void
  private let mutex = UnfairMutex()
  /// The handlers of each observed event. Guarded by: mutex.
  @exclusivity(unchecked) private var handlers: [ObjectIdentifier: Handlers] = [:]
  /// The events of each observation that has not ended. Guarded by: mutex.
  @exclusivity(unchecked) private var events: [ObjectIdentifier: Set<ObjectIdentifier>] = [:]
  /// The running calls and the lanes, as the last look of the timer found them.
  let looks = Guarded(Looks())

  /// The handlers of one event.
  private struct Handlers {
    let event: EventIdentity
    /// The anchor of the event. It is retained, so that no other event can have its address.
    let anchor: EventAnchor
    /// The handlers, by the ids of their tokens.
    var members: [UInt64: Member] = [:]
    /// The number of handlers above which the event is reported. It doubles with each report.
    var limit: Int
    /// The observations of the event that have not ended. Empty if another observer passes on what
    /// it is told.
    var observations: Set<ObjectIdentifier> = []

    /// Notes a handler. Returns the names of all handlers if there are too many now.
    mutating func note(_ handler: UInt64, _ member: Member) -> [String?]? {
      members[handler] = member
      guard members.count > limit else { return nil }
      limit = max(1, limit) * 2
      return members.values.map(\.name)
    }
  }

  /// A handler of an observed event.
  private struct Member {
    let name: String?
    /// The lane; `nil` for an inline handler, and if lanes are not watched.
    let lane: WatchedLane?
  }

  /// A handler's lane on which the looks of the timer count the waiting occurrences. This object
  /// does not keep the lane alive.
  final class WatchedLane: Sendable {
    let handler: HandlerToken
    let event: EventIdentity
    private weak let weakLane: DeliveryTarget?

    init(_ handler: HandlerToken, _ event: EventIdentity, _ lane: DeliveryTarget) {
      self.handler = handler
      self.event = event
      weakLane = lane
    }

    /// The lane; `nil` if it is gone. Never read under a mutex.
    var lane: DeliveryTarget? {
      assertNoMutexIsHeld("read a weak reference")
      return weakLane
    }
  }

  /// Creates an observer. Pass it to ``Event/observe(with:)``, or call
  /// ``EventObserver/observeNewEvents()``.
  ///
  /// With a limit for stuck calls, one timer for the whole process looks at the running calls of
  /// the observed events, twice within the limit. The timer exists while such diagnostics observe
  /// something. It does not see calls that began before their event was observed.
  ///
  /// - Parameters:
  ///   - slowest: The duration up to which a call is not reported as slow; `nil` reports no slow
  ///     call. For an asynchronous handler, suspensions count.
  ///   - stuck: The time after which a call that has not ended is reported; `nil` reports no such
  ///     call. Each such call is reported once, while it hangs, before twice that time has passed.
  ///     Calls of inline handlers, which block their poster, count, too. A lane that has begun none
  ///     of its waiting calls in that time is reported, too. A lane on which more than
  ///     1,024 occurrences wait, and more than at the last look, is reported, too. The lane of a
  ///     locked handler is not reported.
  ///   - most: The number of handlers up to which an event is not reported; `nil` reports no event.
  ///     A number below 0 counts as 0. An event is reported again each time that its number of
  ///     handlers has doubled.
  ///   - report: A closure that receives each finding. It runs on the thread that delivers, on the
  ///     handler's lane, or on the queue of the timer, with no mutex held. Keep it short: on the
  ///     timer's queue, other diagnostics wait for it.
  public init(
    slowerThan slowest: Duration? = nil, stuckAfter stuck: Duration? = nil, moreHandlersThan most: Int? = nil,
    _ report: @escaping @Sendable (Finding) -> Void
  ) {
    self.slowest = slowest
    self.stuck = stuck.map { max(.zero, $0) }
    self.most = most
    self.report = report
  }

  // MARK: Handlers

  /// Notes the name of the handler, and reports the event if it has too many handlers.
  public func added(_ handler: HandlerToken, in event: EventIdentity) { added(handler, in: event, on: nil) }

  /// Notes the name and the lane of a handler, and reports the event if it has too many handlers.
  ///
  /// - Parameter observation: The observation that tells these diagnostics; `nil` if another
  ///   observer passes on what it is told. If it has ended, the handler is not noted.
  func added(
    _ handler: HandlerToken, in event: EventIdentity, on lane: DeliveryTarget?, by observation: Observation? = nil
  ) {
    let lane = stuck == nil ? nil : lane.map { WatchedLane(handler, event, $0) }
    let (id, member) = (ObjectIdentifier(handler.anchor), Member(name: handler.name, lane: lane))
    // `handlers` is changed in place: if each addition copied it, adding *n* handlers would cost
    // O(*n*²).
    let tooMany = mutex.withLock { () -> [String?]? in
      if let observation {
        // The observation has set this before it discards its notes, under the mutex.
        if observation.hasEnded { return nil }
        let observer = ObjectIdentifier(observation)
        unsafe handlers[id, default: Handlers(event: event, anchor: handler.anchor, limit: max(0, most ?? .max))]
          .observations.insert(observer)
        _ = unsafe events[observer, default: []].insert(id)
      }
      return unsafe handlers[id, default: Handlers(event: event, anchor: handler.anchor, limit: max(0, most ?? .max))]
        .note(handler.id, member)
    }
    guard let most, let names = tooMany else { return }
    let counts = Dictionary(grouping: names, by: \.self).map { (name: $0.key, count: $0.value.count) }
    let sorted = counts.sortedUnspecialized {
      $0.count != $1.count ? $0.count > $1.count : ($0.name ?? "") < ($1.name ?? "")
    }
    report(Finding(.manyHandlers, event, handlerCount: names.count, limit: .count(most), names: sorted))
  }

  /// Discards what ``added(_:in:)`` noted of the handler.
  public func removed(_ handler: HandlerToken, in event: EventIdentity) {
    let id = ObjectIdentifier(handler.anchor)
    let gone = mutex.withLock { () -> (Member?, Handlers?) in
      let member = unsafe handlers[id]?.members.removeValue(forKey: handler.id)
      guard unsafe handlers[id]?.members.isEmpty == true else { return (member, nil) }
      let gone = unsafe handlers.removeValue(forKey: id)
      for observation in gone?.observations ?? [] { forget(id, of: observation) }
      return (member, gone)
    }
    withExtendedLifetime(gone) {}  // released after the unlock: this may be the last reference to the anchor
  }

  /// The lanes of the observed events, in the order in which the handlers were made.
  var lanes: [WatchedLane] {
    mutex.withLock { unsafe handlers.values.flatMap { $0.members.values.compactMap(\.lane) } }
      .sortedUnspecialized { $0.handler.id < $1.handler.id }
  }

  /// Reports the handler if its call took longer than the limit.
  public func ended(
    _ handler: HandlerToken, sequence: UInt64, duration: Duration, error: (any Error)?, in event: EventIdentity
  ) {
    guard let slowest, duration > slowest else { return }
    report(Finding(.slowHandler, event, handler: handler, duration: duration, limit: .duration(slowest)))
  }

  /// Reports the handler if its call, which a newer occurrence had cancelled, took longer than the
  /// limit.
  public func dropped(
    _ handler: HandlerToken, sequence: UInt64, after duration: Duration, in event: EventIdentity
  ) {
    ended(handler, sequence: sequence, duration: duration, error: nil, in: event)
  }

  // MARK: Variants without the event's identity, for observers that pass on what they are told

  /// Notes a handler: see ``added(_:in:)``.
  public func added(_ handler: HandlerToken, event: String?) { added(handler, in: identity(of: handler, event)) }

  /// Discards what was noted of a handler: see ``removed(_:in:)``.
  public func removed(_ handler: HandlerToken) { removed(handler, in: identity(of: handler, nil)) }

  /// Reports a slow call: see ``ended(_:sequence:duration:error:in:)``.
  public func ended(_ handler: HandlerToken, sequence: UInt64, duration: Duration, error: (any Error)?) {
    let id = ObjectIdentifier(handler.anchor)
    let event = mutex.withLock { unsafe handlers[id]?.event } ?? identity(of: handler, nil)
    ended(handler, sequence: sequence, duration: duration, error: error, in: event)
  }

  private func identity(of handler: HandlerToken, _ name: String?) -> EventIdentity {
    EventIdentity(name: name, number: handler.anchor.number, payloadType: handler.anchor.core?.type ?? Any.self)
  }

  // MARK: Observations

  /// Called when an observation by these diagnostics begins. If these diagnostics have a limit for
  /// stuck calls, the timer looks for stuck calls from their first observation on.
  func observationBegan() {
    if let stuck, !stuck.isForever { WatchTimer.shared.add(self, every: stuck / 2) }
  }

  /// Called when an observation by these diagnostics has ended. After their last observation, the
  /// timer no longer looks for stuck calls on behalf of these diagnostics.
  func observationEnded() {
    if let stuck, !stuck.isForever { WatchTimer.shared.remove(self) }
  }

  /// Discards what an observation that has ended has noted: its event does not tell these
  /// diagnostics any more which handlers it removes. What another observation has noted of the same
  /// event stays.
  ///
  /// - Complexity: O(handlers of its events).
  func forget(_ observation: ObjectIdentifier) {
    let gone = mutex.withLock { () -> [Handlers] in
      let ids = unsafe events.removeValue(forKey: observation) ?? []
      return ids.compactMap { id in
        unsafe handlers[id]?.observations.remove(observation)
        return unsafe handlers[id]?.observations.isEmpty == true ? handlers.removeValue(forKey: id) : nil
      }
    }
    withExtendedLifetime(gone) {}
  }

  /// Discards an event of an observation. The caller holds the mutex.
  private func forget(_ event: ObjectIdentifier, of observation: ObjectIdentifier) {
    unsafe events[observation]?.remove(event)
    if unsafe events[observation]?.isEmpty == true { unsafe events[observation] = nil }
  }
}
