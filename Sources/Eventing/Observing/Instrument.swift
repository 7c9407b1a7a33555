import Synchronization

/// Called with no mutex held. While no instrument is on, creating an event, adding a handler and
/// beginning a wait load one atomic flag each. While one is on, each `send` that suspends takes
/// part in the wait graph.
package protocol Instrument: AnyObject, Sendable {
  func joined(_ anchor: EventAnchor, hasHandler: Bool)
  func began(_ wait: WatchedWait)
  /// Called whenever the beginning was reported, even if the instrument is off by then.
  func ended(_ wait: WatchedWait)
}

package enum Instruments {
  private static let count = Atomic<Int>(0)
  private static let all = Guarded<[(instrument: any Instrument, users: Int)]>([])
  private static let lastWait = Atomic<UInt64>(0)

  static var areOn: Bool { count.load(ordering: .relaxed) > 0 }

  package static func add(_ instrument: any Instrument) {
    all.withLock { all in
      if let index = all.firstIndex(where: { $0.instrument === instrument }) {
        all[index].users += 1
      } else {
        all.append((instrument, 1))
      }
    }
    count.wrappingAdd(1, ordering: .relaxed)
  }

  package static func remove(_ instrument: any Instrument) {
    count.wrappingSubtract(1, ordering: .relaxed)
    all.withLock { all in
      guard let index = all.firstIndex(where: { $0.instrument === instrument }) else { return }
      all[index].users -= 1
      if all[index].users == 0 { all.remove(at: index) }
    }
  }

  private static var now: [any Instrument] { all.withLock { $0.map(\.instrument) } }

  @inline(never) static func joined(_ anchor: EventAnchor, hasHandler: Bool) {
    for each in now { each.joined(anchor, hasHandler: hasHandler) }
  }

  @inline(never) static func began(
    _ kind: WatchedWait.Kind, at anchor: EventAnchor?, _ completion: Completion? = nil, as waiter: Int = 0
  ) -> WatchedWait {
    let wait = WatchedWait(
      number: lastWait.wrappingAdd(1, ordering: .relaxed).newValue, kind: kind, anchor: anchor, completion: completion,
      waiter: waiter, instruments: now)
    for each in wait.instruments { each.began(wait) }
    return wait
  }
}

package struct WatchedWait: Sendable {
  package enum Kind: String, Sendable { case send, ticket, quiesce, next }

  package let number: UInt64
  package let kind: Kind
  package let anchor: EventAnchor?
  package fileprivate(set) var completion: Completion?
  package let waiter: Int
  fileprivate let instruments: [any Instrument]

  /// A completion's notes keep the wait without the completion, to avoid a retain cycle.
  func with(_ completion: Completion?) -> WatchedWait {
    var wait = self
    wait.completion = completion
    return wait
  }

  @inline(never) func end() { for each in instruments { each.ended(self) } }
}

/// Called where deliveries and calls happen, with no mutex held.
package protocol EventInstrument: AnyObject, Sendable {
  var isOver: Bool { get }
  var wantsOrigins: Bool { get }
  func added(_ handler: HandlerToken, of event: EventIdentity)
  func removed(_ handler: HandlerToken, of event: EventIdentity)
  /// Calls for payloads that a lock held, that are replayed or that waited for a pace happen
  /// outside any delivery.
  func began(_ occurrence: WatchedOccurrence)
  func ended(_ occurrence: WatchedOccurrence)
  func began(_ call: WatchedCall)
  func ended(_ call: WatchedCall, _ end: WatchedCall.End)
  func withdrew(_ call: WatchedCall)
  func noCall(_ kind: EventStep.Kind, _ call: WatchedCall)
}

package struct WatchedOccurrence {
  package let event: EventIdentity
  package let sequence: UInt64
  package let origin: TraceOrigin
  package let sender: (any AnyObject & Sendable)?
  package let payload: BorrowedPayload
  package let type: Any.Type
}

/// Copying it retains nothing, because retains would take most of a trace's time.
// Safe: whoever reports a call to an instrument retains the objects while doing so.
@safe @usableFromInline package struct WatchedCall: Sendable {
  package enum End: Sendable {
    case returned, threw(any Error)
    case dropped
  }

  @usableFromInline package let number: UInt64
  @usableFromInline package let sequence: UInt64
  @usableFromInline package let eventNumber: UInt64
  package let attempt: Int
  package let isFurther: Bool
  package let isHandOver: Bool
  let outer: UInt64
  @usableFromInline let recordPointer: Unmanaged<HandlerRecord>
  private let anchorPointer: Unmanaged<EventAnchor>?
  @usableFromInline let lanePointer: Unmanaged<DeliveryTarget>?
  private let observers: Unmanaged<Observers>

  init(
    _ number: UInt64, _ observed: ObservedOccurrence, _ record: HandlerRecord, _ anchor: EventAnchor,
    on lane: DeliveryTarget? = nil, attempt: Int = 1, isFurther: Bool = false, isHandOver: Bool = false,
    outer: UInt64 = 0
  ) {
    unsafe self.init(
      number, observed.sequence, .passUnretained(observed.observers), .passUnretained(record), .passUnretained(anchor),
      on: lane.map { unsafe .passUnretained($0) }, attempt: attempt, isFurther: isFurther, isHandOver: isHandOver,
      outer: outer)
  }

  init(
    _ number: UInt64, _ sequence: UInt64, _ observers: Unmanaged<Observers>, _ record: Unmanaged<HandlerRecord>,
    _ anchor: Unmanaged<EventAnchor>?, on lane: Unmanaged<DeliveryTarget>? = nil, attempt: Int = 1,
    isFurther: Bool = false, isHandOver: Bool = false, outer: UInt64
  ) {
    (self.number, self.sequence, self.attempt) = (number, sequence, attempt)
    eventNumber = unsafe observers._withUnsafeGuaranteedRef { $0.event.number }
    (self.isFurther, self.isHandOver, self.outer) = (isFurther, isHandOver, outer)
    unsafe (self.recordPointer, self.anchorPointer) = unsafe (record, anchor)
    unsafe (lanePointer, self.observers) = unsafe (lane, observers)
  }

  package var event: EventIdentity { unsafe observers._withUnsafeGuaranteedRef { $0.event } }
  package var handler: HandlerToken {
    guard let anchor = unsafe anchorPointer else { preconditionFailure("a handler has an anchor") }
    return unsafe HandlerToken(recordPointer.takeUnretainedValue(), anchor.takeUnretainedValue())
  }
  @inlinable package var record: Unmanaged<HandlerRecord> { unsafe recordPointer }
  @inlinable package var isInline: Bool { unsafe lanePointer == nil }
  @inlinable package var lane: DeliveryTarget? { unsafe lanePointer?.takeUnretainedValue() }
}
