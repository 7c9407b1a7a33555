import Synchronization

// Safe: each field says what guards it.
final class Observation: @unchecked Sendable {
  private let mutex = UnfairMutex()
  // Guarded by: mutex.
  @exclusivity(unchecked) private var observer: (any EventObserver)?

  // Guarded by: mutex.
  @exclusivity(unchecked) private var handlers: [UInt64: (token: HandlerToken, event: EventIdentity)] = [:]
  // Guarded by: mutex.
  @exclusivity(unchecked) private var calls: [UInt64: [UInt64: Call]] = [:]

  private struct Call {
    let handler: HandlerToken
    let event: EventIdentity
    let isFurther: Bool
    let start = StableInstant.now
  }

  init(_ observer: any EventObserver) {
    unsafe self.observer = observer
    (observer as? any ObservationCounter)?.observationBegan()
  }

  deinit { unsafe (observer as? any ObservationCounter)?.observationEnded() }

  private var current: (any EventObserver)? { mutex.withLock { unsafe observer } }

  func end() {
    mutex.lock()
    let gone = unsafe observer
    unsafe observer = nil
    let (handlers, calls) = unsafe (self.handlers, self.calls)
    unsafe (self.handlers, self.calls) = ([:], [:])
    mutex.unlock()
    guard let gone else { return }
    (gone as? any ObservationCounter)?.observationEnded()
    for (_, calls) in calls.sortedUnspecialized(by: { $0.key < $1.key }) {
      for (sequence, call) in calls.sortedUnspecialized(by: { $0.key < $1.key }) {
        gone.observe(
          EventStep(.left, call.event, call.handler, sequence, isFurther: call.isFurther))
      }
    }
    for (token, event) in handlers.values.sortedUnspecialized(by: { $0.token.id < $1.token.id }) {
      gone.observe(EventStep(.removed, event, token))
    }
  }

  func oldestStart(of handler: UInt64) -> StableInstant? {
    mutex.withLock { unsafe calls[handler]?.values.map(\.start).min { $0.sinceOrigin < $1.sinceOrigin } }
  }
}

extension Observation: EventInstrument {
  var isOver: Bool { current == nil }
  var wantsOrigins: Bool { false }

  func added(_ handler: HandlerToken, of event: EventIdentity) {
    let observer = mutex.withLock { () -> (any EventObserver)? in
      guard let observer = unsafe self.observer else { return nil }
      unsafe handlers[handler.id] = (handler, event)
      return observer
    }
    let lane = handler.record.target
    observer?.observe(EventStep(.added, event, handler, lane: lane))
  }

  func removed(_ handler: HandlerToken, of event: EventIdentity) {
    // Reported only once, although the end of an event also reports handlers whose slots are left.
    let observer = mutex.withLock { () -> (any EventObserver)? in
      unsafe handlers.removeValue(forKey: handler.id) == nil ? nil : self.observer
    }
    observer?.observe(EventStep(.removed, event, handler))
  }

  func began(_ occurrence: WatchedOccurrence) {
    current?.observe(EventStep(.accepted, occurrence.event, nil, occurrence.sequence))
  }

  func ended(_ occurrence: WatchedOccurrence) {}

  func began(_ call: WatchedCall) {
    if !call.isHandOver { begin(call) }
  }

  private func begin(_ call: WatchedCall) {
    let (handler, event) = (call.handler, call.event)
    let observer = mutex.withLock { () -> (any EventObserver)? in
      guard let observer = unsafe self.observer else { return nil }
      unsafe calls[handler.id, default: [:]][call.sequence] = Call(
        handler: handler, event: event, isFurther: call.isFurther)
      return observer
    }
    observer?.observe(
      EventStep(
        .began, event, handler, call.sequence, attempt: call.attempt, isFurther: call.isFurther, lane: call.lane))
  }

  func ended(_ call: WatchedCall, _ end: WatchedCall.End) {
    if call.isHandOver { begin(call) }  // reported only here, because it might have been withdrawn
    let handler = call.handler
    let (observer, start) = mutex.withLock { () -> ((any EventObserver)?, StableInstant?) in
      let begun = unsafe calls[handler.id]?.removeValue(forKey: call.sequence)
      unsafe calls[handler.id]?.giveBackRoom()
      if unsafe calls[handler.id]?.isEmpty == true { unsafe calls[handler.id] = nil }
      unsafe calls.giveBackRoom()
      return (unsafe self.observer, begun?.start)
    }
    guard let observer else { return }
    let duration = start.map { call.isHandOver ? .zero : StableInstant.now.since($0) }
    var (kind, error): (EventStep.Kind, (any Error)?) = (.ended, nil)
    switch end {
    case .returned: break
    case .threw(let problem): error = problem
    case .dropped: kind = .dropped
    }
    observer.observe(
      EventStep(
        kind, call.event, handler, call.sequence, duration: duration, attempt: call.attempt, error: error,
        isFurther: call.isFurther))
  }

  func withdrew(_ call: WatchedCall) {}

  func noCall(_ kind: EventStep.Kind, _ call: WatchedCall) {
    current?.observe(EventStep(kind, call.event, call.handler, call.sequence))
  }
}

enum NewEvents {
  /// If false, creating an event doesn't take the mutex.
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

  static func tell(_ core: EventCore) {
    if Instruments.areOn { Instruments.joined(core.anchor, hasHandler: false) }
    guard isObserved.load(ordering: .acquiring) else { return }
    // `map` gives this thread its own array, because `add` and `remove` would have to copy a shared
    // one under the mutex.
    let observations = registry.withLock { $0.map { $0 } }
    for observation in observations { core.observe(in: observation) }
  }
}

/// A delivery has one cell for all its calls, because a binding costs more than a call. Occurrences
/// sent after the calls have the last call as their cause.
final class CallCell: Sendable {
  let call: Atomic<UInt64>
  static let unused = UInt64.max
  private let last = Atomic<UInt64>(0)

  @TaskLocal static var current: CallCell?

  private static let lastNumber = Atomic<UInt64>(0)

  static func newNumber() -> UInt64 { lastNumber.wrappingAdd(1, ordering: .relaxed).newValue }

  /// While no cell exists, a post need not look for one, which takes about 300 instructions.
  private static let count = Atomic<Int>(0)

  init(_ call: UInt64 = 0) {
    self.call = Atomic(call)
    CallCell.count.wrappingAdd(1, ordering: .relaxed)
  }

  deinit { CallCell.count.wrappingSubtract(1, ordering: .relaxed) }

  static var cause: UInt64 {
    guard count.load(ordering: .relaxed) > 0, let cell = current else { return 0 }
    let call = cell.call.load(ordering: .relaxed)
    return call == 0 || call == unused ? cell.last.load(ordering: .relaxed) : call
  }

  @inline(__always) func begin(_ number: UInt64) -> UInt64 {
    last.store(number, ordering: .relaxed)
    let outer = call.exchange(number, ordering: .relaxed)
    return outer == CallCell.unused ? 0 : outer
  }

  func withdraw(_ outer: UInt64) {
    last.store(outer, ordering: .relaxed)
    call.store(outer, ordering: .relaxed)
  }
}

package struct TraceOrigin: Sendable {
  private static let askers = Atomic<Int>(0)

  static var isWanted: Bool { askers.load(ordering: .relaxed) > 0 }

  package static func want(_ change: Int) {
    askers.wrappingAdd(change, ordering: .relaxed)
    CarriedContext.sources.wrappingAdd(change, ordering: .relaxed)
  }

  package let postedAt: UInt64
  package let cause: UInt64

  init(isKnown: Bool = true) { (postedAt, cause) = isKnown ? (DrainQuota.exactNow, CallCell.cause) : (0, 0) }
}

final class CompletionNotes: Sendable {
  let origin: TraceOrigin?
  let kind: WatchedWait.Kind?
  let anchor: EventAnchor?
  let wait: WatchedWait?

  init(origin: TraceOrigin?, kind: WatchedWait.Kind?, anchor: EventAnchor?, wait: WatchedWait? = nil) {
    (self.origin, self.kind, self.anchor, self.wait) = (origin, kind, anchor, wait)
  }
}

extension Completion {
  /// A trace of any event counts, because a combination has an event of its own.
  static var ofSetter: Completion? {
    let isTraced = TraceOrigin.isWanted
    guard isTraced || CarriedContext.isCarrying else { return nil }
    let completion = Completion(.post)
    if isTraced { completion.noteOrigin() }
    return completion
  }

  var forFurtherOccurrence: Completion? {
    let notes = unsafe notes
    return context != nil || notes != nil ? Completion(withoutWaiting: context, nil, notes) : nil
  }
}
