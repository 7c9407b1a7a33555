import Eventing
import Synchronization

/// Called with no mutex held: by the thread that delivers, or where a lane runs the call. Reports
/// do not count a trace as a handler.
///
/// Payloads that a lock held, that are replayed, or that waited for a pace, have calls outside of
/// any delivery.
protocol TraceSink: AnyObject, Sendable {
  /// The deliveries of one event come one at a time, in order.
  func began(_ occurrence: TracedOccurrence, payload: TracedPayload)
  /// Calls on lanes may still begin and end later.
  func ended(event: EventIdentity, sequence: UInt64)
  func began(_ call: TracedCall, of handler: TracedHandler)
  func ended(_ call: TracedCall, of handler: TracedHandler, _ end: TracedEnd)
  /// The beginning was reported, but the handler was skipped, or a lock holds the occurrence.
  func withdrew(_ call: TracedCall, of handler: TracedHandler)
  /// The handler is not called, or not until a lock ends.
  func noCall(_ reason: TracedNoCall, handler: TracedHandler, event: EventIdentity, sequence: UInt64)
}

enum TracedEnd: Sendable {
  case returned, threw
  /// A newer occurrence had cancelled the call.
  case dropped
}

enum TracedNoCall: String, Sendable { case skipped, dropped, held }

struct TracedOccurrence: Sendable {
  let event: EventIdentity
  let sequence: UInt64
  /// A time on the ``InspectionClock``.
  let postedAt: UInt64
  /// The traced call that sent it; 0 for none.
  let cause: UInt64
  let sender: (any AnyObject & Sendable)?
}

/// Valid only during the call of the ``TraceSink``.
struct TracedPayload {
  let type: Any.Type
  fileprivate let payload: BorrowedPayload

  /// `nil` if the types do not match. The key is `nil` if the payload was sent to no key.
  func copy<Key: Hashable & Sendable, Payload: Sendable>(
    key: Key.Type, as type: Payload.Type
  ) -> (key: Key?, payload: Payload)? {
    copy(as: KeyedPayload<Key, Payload>.self).map { ($0.key, $0.payload) }
  }

  /// `nil` for another type. The payload of a keyed event is a `KeyedPayload`.
  func copy<Payload: Sendable>(as type: Payload.Type) -> Payload? {
    self.type == type ? payload.payload(Payload.self) : nil
  }
}

typealias TracedCall = WatchedCall

/// Releasing this object does not end the trace.
@safe final class EventTracing: EventInstrument {
  private let sink: any TraceSink
  /// The sink, if it is a ring. Calling it through the protocol would take a third of the time of a
  /// trace.
  // Safe: `sink` retains it.
  private let ring: Unmanaged<RingSink>?
  private let isEnded = Atomic<Bool>(false)
  private weak let core: EventCore?

  init(_ sink: any TraceSink, _ core: EventCore) {
    _ = InspectionClock.now  // before the first occurrence
    TraceOrigin.want(+1)
    self.sink = sink
    unsafe ring = (sink as? RingSink).map { unsafe .passUnretained($0) }
    self.core = core
    core.observe(in: self)
  }

  /// Deliveries that begin after the return are not traced.
  func end() {
    if isEnded.exchange(true, ordering: .relaxed) { return }
    TraceOrigin.want(-1)
    core?.forgetObservers()
  }

  var isOver: Bool { isEnded.load(ordering: .relaxed) }
  var wantsOrigins: Bool { true }

  func added(_ handler: HandlerToken, of event: EventIdentity) {}
  func removed(_ handler: HandlerToken, of event: EventIdentity) {}

  func began(_ occurrence: WatchedOccurrence) {
    if isOver { return }
    sink.began(
      TracedOccurrence(
        event: occurrence.event, sequence: occurrence.sequence,
        postedAt: InspectionClock.time(occurrence.origin.postedAt), cause: occurrence.origin.cause,
        sender: occurrence.sender),
      payload: TracedPayload(type: occurrence.type, payload: occurrence.payload))
  }

  func ended(_ occurrence: WatchedOccurrence) {
    if !isOver { sink.ended(event: occurrence.event, sequence: occurrence.sequence) }
  }

  func began(_ call: WatchedCall) {
    if isOver { return }
    if let ring = unsafe ring { return unsafe ring._withUnsafeGuaranteedRef { $0.began(call) } }
    sink.began(call, of: TracedHandler(call))
  }

  func ended(_ call: WatchedCall, _ end: WatchedCall.End) {
    if isOver { return }
    if let ring = unsafe ring { return unsafe ring._withUnsafeGuaranteedRef { $0.ended(call, end) } }
    let end: TracedEnd =
      switch end {
      case .returned: .returned
      case .threw: .threw
      case .dropped: .dropped
      }
    sink.ended(call, of: TracedHandler(call), end)
  }

  func withdrew(_ call: WatchedCall) { if !isOver { sink.withdrew(call, of: TracedHandler(call)) } }

  func noCall(_ kind: EventStep.Kind, _ call: WatchedCall) {
    guard !isOver, let reason = TracedNoCall(rawValue: kind.description) else { return }
    sink.noCall(reason, handler: TracedHandler(call), event: call.event, sequence: call.sequence)
  }
}

extension InspectedEvent {
  /// `nil` if the event is gone. Tells of each delivery that begins after the return. A traced
  /// event has no fast path.
  func trace(with sink: any TraceSink) -> EventTracing? { anchor.core.map { EventTracing(sink, $0) } }
}

extension RegisteredEvent {
  /// See ``InspectedEvent/trace(with:)``.
  func trace(with sink: any TraceSink) -> EventTracing? { anchor.core.map { EventTracing(sink, $0) } }
}

/// Valid for the length of one call of a ``TraceSink``.
// Safe: the core retains the record meanwhile.
@safe struct TracedHandler {
  private let record: Unmanaged<HandlerRecord>

  init(_ call: WatchedCall) { unsafe record = unsafe call.record }

  var id: UInt64 { unsafe record._withUnsafeGuaranteedRef { $0.id } }

  /// Without a name, the file and line, or the number.
  var name: String {
    unsafe record._withUnsafeGuaranteedRef { $0.title }
  }

  /// `nil` for a lane that is not shared.
  var laneName: String? {
    unsafe record._withUnsafeGuaranteedRef { record in
      guard case .actor? = record.details?.place else { return record.details?.place.laneLabel }
      return record.details?.options.owner?.object.map { "\(type(of: $0))" }
    }
  }
}
