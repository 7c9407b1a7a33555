import Eventing
import Synchronization

/// The receiver of a trace of an event. Its methods are called with no mutex held.
///
/// The thread that delivers an occurrence calls the methods for it, between ``began(_:payload:)``
/// and ``ended(event:sequence:)``. For a handler's call on a lane, the methods are called where the
/// lane runs that call. A trace is no handler and no observer: reports, occurrences that reach no
/// handler, and the number of handlers are as without it.
///
/// Three kinds of payloads reach a handler outside of any delivery: payloads that a lock held, that
/// are replayed to a new handler, or that waited for a handler's pace. For these payloads the sink
/// gets the handler's calls, but no ``began(_:payload:)`` and no ``ended(event:sequence:)``.
protocol TraceSink: AnyObject, Sendable {
  /// A delivery begins. The deliveries of one event come one at a time, in order.
  func began(_ occurrence: TracedOccurrence, payload: TracedPayload)
  /// A delivery has ended. Calls for this occurrence that run on lanes may still begin and end
  /// later.
  func ended(event: EventIdentity, sequence: UInt64)
  /// A call of a handler begins.
  func began(_ call: TracedCall, of handler: TracedHandler)
  /// A call of a handler has ended.
  func ended(_ call: TracedCall, of handler: TracedHandler, _ end: TracedEnd)
  /// A call does not happen, although its beginning was told: the handler was skipped, or a lock
  /// holds the occurrence.
  func withdrew(_ call: TracedCall, of handler: TracedHandler)
  /// A handler is not called for an occurrence, or not until a lock ends.
  func noCall(_ reason: TracedNoCall, handler: TracedHandler, event: EventIdentity, sequence: UInt64)
}

/// How a traced call ended.
enum TracedEnd: Sendable {
  case returned, threw
  /// A newer occurrence had cancelled the call, so its occurrence was dropped.
  case dropped
}

/// The reason for which a traced occurrence was not given to a handler.
enum TracedNoCall: String, Sendable { case skipped, dropped, held }

/// An occurrence of a traced event.
struct TracedOccurrence: Sendable {
  let event: EventIdentity
  let sequence: UInt64
  /// When it was sent, on the ``InspectionClock``.
  let postedAt: UInt64
  /// The number of the traced call that sent it; 0 if no traced call did.
  let cause: UInt64
  /// The object that was named as the sender, if there is one.
  let sender: (any AnyObject & Sendable)?
}

/// The payload of a traced occurrence, valid only during the call of the ``TraceSink`` that gets
/// it.
struct TracedPayload {
  let type: Any.Type
  fileprivate let payload: BorrowedPayload

  /// Returns a copy of the key and the payload of an occurrence of a keyed event.
  ///
  /// - Returns: The key and the payload. The key is `nil` if the payload was sent to no key. The
  ///   whole result is `nil` if the event's key and payload do not have the given types.
  func copy<Key: Hashable & Sendable, Payload: Sendable>(
    key: Key.Type, as type: Payload.Type
  ) -> (key: Key?, payload: Payload)? {
    copy(as: KeyedPayload<Key, Payload>.self).map { ($0.key, $0.payload) }
  }

  /// Returns a copy of the payload; `nil` if its type is not the given one. The payload of a keyed
  /// event is a `KeyedPayload`.
  func copy<Payload: Sendable>(as type: Payload.Type) -> Payload? {
    self.type == type ? payload.payload(Payload.self) : nil
  }
}

typealias TracedCall = WatchedCall

/// A trace of one event, until ``end()`` is called. Releasing this object does not end the trace.
@safe final class EventTracing: EventInstrument {
  private let sink: any TraceSink
  /// The sink, if it is a ring, without a retain. Calling it through the protocol would take a
  /// third of the time of a trace.
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

  /// Ends the trace. Deliveries that begin after the return are not traced.
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
  /// Traces the event: tells a ``TraceSink`` of each delivery that begins after the return, and of
  /// each call of a handler.
  ///
  /// A traced event has no fast path, like an event with observers.
  ///
  /// - Returns: The trace; `nil` if the event is gone.
  func trace(with sink: any TraceSink) -> EventTracing? { anchor.core.map { EventTracing(sink, $0) } }
}

extension RegisteredEvent {
  /// Traces the event: see ``InspectedEvent/trace(with:)``.
  func trace(with sink: any TraceSink) -> EventTracing? { anchor.core.map { EventTracing(sink, $0) } }
}

/// The handler of a traced call, for the length of one call of a ``TraceSink``.
// Safe: the core retains the record meanwhile.
@safe struct TracedHandler {
  private let record: Unmanaged<HandlerRecord>

  init(_ call: WatchedCall) { unsafe record = unsafe call.record }

  /// The number of the handler.
  var id: UInt64 { unsafe record._withUnsafeGuaranteedRef { $0.id } }

  /// The name of the handler; without one, its file and line, or its number.
  var name: String {
    unsafe record._withUnsafeGuaranteedRef { $0.title }
  }

  /// The name of the handler's lane, if several handlers may share it; otherwise `nil`.
  var laneName: String? {
    unsafe record._withUnsafeGuaranteedRef { record in
      guard case .actor? = record.details?.place else { return record.details?.place.laneLabel }
      return record.details?.options.owner?.object.map { "\(type(of: $0))" }
    }
  }
}
