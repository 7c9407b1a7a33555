/// A watcher of one event: an observation by an ``EventObserver``, or a trace of an inspection.
///
/// It is told where a delivery or a call happens, with no mutex held. It is no handler: reports and
/// the number of handlers are as without it.
package protocol EventInstrument: AnyObject, Sendable {
  /// Whether it watches no more.
  var isOver: Bool { get }
  /// Whether it asks when occurrences were sent, and by which call.
  var wantsOrigins: Bool { get }
  /// A handler was added, or was there when the watching began.
  func added(_ handler: HandlerToken, of event: EventIdentity)
  func removed(_ handler: HandlerToken, of event: EventIdentity)
  /// The delivery of an occurrence begins. Payloads that a lock held, that are replayed to a new
  /// handler, or that waited for a pace, have calls outside of any delivery.
  func began(_ occurrence: WatchedOccurrence)
  func ended(_ occurrence: WatchedOccurrence)
  func began(_ call: WatchedCall)
  func ended(_ call: WatchedCall, _ end: WatchedCall.End)
  /// A call does not happen, although its beginning was told: the handler was skipped, or a lock
  /// holds the occurrence.
  func withdrew(_ call: WatchedCall)
  /// A handler is not called for an occurrence, or not until a lock ends.
  func noCall(_ kind: EventStep.Kind, _ call: WatchedCall)
}

/// An occurrence of a watched event, for the length of its delivery.
package struct WatchedOccurrence {
  package let event: EventIdentity
  package let sequence: UInt64
  package let origin: TraceOrigin
  /// The object that was named as the sender, if there is one.
  package let sender: (any AnyObject & Sendable)?
  package let payload: BorrowedPayload
  package let type: Any.Type
}

/// A call of a handler of a watched event. Copying it retains nothing, which would take most of the
/// time of a trace.
// Safe: who tells an instrument of a call retains the objects meanwhile.
@safe @usableFromInline package struct WatchedCall: Sendable {
  package enum End: Sendable {
    case returned, threw(any Error)
    /// A newer occurrence had cancelled the call, so its occurrence was dropped.
    case dropped
  }

  /// The number of the call, which no other call of the process has; 0 if there is no call.
  @usableFromInline package let number: UInt64
  @usableFromInline package let sequence: UInt64
  /// The number of the event.
  @usableFromInline package let eventNumber: UInt64
  /// The number of the attempt.
  package let attempt: Int
  /// Whether the call is that of a batch, of which another payload has been told.
  package let isFurther: Bool
  /// Whether the handler hands the payload over, to a sequence or another event.
  package let isHandOver: Bool
  /// The number of the call that was in the ``CallCell`` before this one; 0 for none. The end of
  /// this call puts it back.
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
  /// The lane that runs the call; `nil` for a call that runs inline.
  @inlinable package var lane: DeliveryTarget? { unsafe lanePointer?.takeUnretainedValue() }
}
