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
package protocol TraceSink: AnyObject, Sendable {
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
package enum TracedEnd: Sendable {
  case returned, threw
  /// A newer occurrence had cancelled the call, so its occurrence was dropped.
  case dropped
}

/// The reason for which a traced occurrence was not given to a handler.
package enum TracedNoCall: String, Sendable { case skipped, dropped, held }

/// An occurrence of a traced event.
package struct TracedOccurrence: Sendable {
  package let event: EventIdentity
  package let sequence: UInt64
  /// When it was sent, on the ``InspectionClock``.
  package let postedAt: UInt64
  /// The number of the traced call that sent it; 0 if no traced call did.
  package let cause: UInt64
  /// The object that was named as the sender, if there is one.
  package let sender: (any AnyObject & Sendable)?
}

/// The payload of a traced occurrence, valid only during the call of the ``TraceSink`` that gets
/// it.
package struct TracedPayload {
  package let type: Any.Type
  fileprivate let payload: BorrowedPayload

  init(_ payload: BorrowedPayload, _ type: Any.Type) {
    self.payload = payload
    self.type = type
  }

  /// Returns a copy of the key and the payload of an occurrence of a keyed event.
  ///
  /// - Returns: The key and the payload. The key is `nil` if the payload was sent to no key. The
  ///   whole result is `nil` if the event's key and payload do not have the given types.
  package func copy<Key: Hashable & Sendable, Payload: Sendable>(
    key: Key.Type, as type: Payload.Type
  ) -> (key: Key?, payload: Payload)? {
    copy(as: KeyedPayload<Key, Payload>.self).map { ($0.key, $0.payload) }
  }

  /// Returns a copy of the payload; `nil` if its type is not the given one. The payload of a keyed
  /// event is a `KeyedPayload`.
  package func copy<Payload: Sendable>(as type: Payload.Type) -> Payload? {
    self.type == type ? payload.payload(Payload.self) : nil
  }
}

/// A call of a handler of a traced event.
///
/// It has no references: a retain and a release for each copy would take most of the time of a
/// trace.
package struct TracedCall: Sendable {
  /// The number of the call, which no other call of the process has.
  package let number: UInt64
  /// The number of the event.
  package let event: UInt64
  package let sequence: UInt64
  /// The number of the lane, as ``HandlerReading/lane``; `nil` for a call that runs inline.
  package let lane: UInt64?
  /// The number of the call that was in the ``CallCell`` before this one; 0 for none. The end of
  /// this call puts it back.
  let outer: UInt64
  /// When the call began, on the ``InspectionClock``.
  package let begunAt = InspectionClock.now

  static let last = Atomic<UInt64>(0)
}

/// A trace of one event, until ``end()`` is called. Releasing this object does not end the trace.
package final class EventTracing: Sendable {
  let sink: any TraceSink
  private let isOver = Atomic<Bool>(false)
  private weak let core: EventCore?
  /// The number of the event.
  let event: UInt64

  private static let running = Atomic<Int>(0)

  /// Whether some event is traced. One relaxed load.
  static var areRunning: Bool { running.load(ordering: .relaxed) > 0 }

  init(_ sink: any TraceSink, _ core: EventCore) {
    EventTracing.running.wrappingAdd(1, ordering: .relaxed)
    CarriedContext.sources.wrappingAdd(1, ordering: .relaxed)
    self.sink = sink
    self.core = core
    event = core.identity(named: nil).number
  }

  var isOn: Bool { !isOver.load(ordering: .relaxed) }

  /// Ends the trace. Deliveries that begin after the return are not traced.
  package func end() {
    if isOver.exchange(true, ordering: .relaxed) { return }
    CarriedContext.sources.wrappingSubtract(1, ordering: .relaxed)
    EventTracing.running.wrappingSubtract(1, ordering: .relaxed)
    core?.forgetObservers()
  }
}

extension InspectedEvent {
  /// Traces the event: tells a ``TraceSink`` of each delivery that begins after the return, and of
  /// each call of a handler.
  ///
  /// A traced event has no fast path, like an event with observers.
  ///
  /// - Returns: The trace; `nil` if the event is gone.
  package func trace(with sink: any TraceSink) -> EventTracing? {
    guard let core = anchor.core else { return nil }
    let tracing = EventTracing(sink, core)
    core.trace(with: tracing, name)
    return tracing
  }
}

extension RegisteredEvent {
  /// Traces the event: see ``InspectedEvent/trace(with:)``.
  package func trace(with sink: any TraceSink) -> EventTracing? {
    guard let core = anchor.core else { return nil }
    let tracing = EventTracing(sink, core)
    core.trace(with: tracing, name)
    return tracing
  }
}

/// The handler of a traced call, for the length of one call of a ``TraceSink``.
///
/// Used instead of a token. A token retains the record of the handler and the anchor of the event,
/// which takes longer than all else that the core does to call a ``TraceSink``.
// Safe: the code that calls the `TraceSink` retains the record.
@safe package struct TracedHandler {
  private let record: Unmanaged<HandlerRecord>

  init(_ record: Unmanaged<HandlerRecord>) { unsafe self.record = unsafe record }
  init(_ record: HandlerRecord) { unsafe self.record = .passUnretained(record) }

  /// The number of the handler.
  package var id: UInt64 { unsafe record._withUnsafeGuaranteedRef { $0.id } }

  /// The name of the handler; without one, its file and line, or its number.
  package var name: String {
    unsafe record._withUnsafeGuaranteedRef { record in
      record.details?.options.name ?? SourceLine.text(record.source.fileID, record.source.line)
        ?? "handler \(record.id)"
    }
  }

  /// The name of the handler's lane, if several handlers may share it; otherwise `nil`.
  package var laneName: String? {
    unsafe record._withUnsafeGuaranteedRef { record in
      guard case .actor? = record.details?.place else { return record.details?.place.laneLabel }
      return record.details?.options.owner?.object.map { "\(type(of: $0))" }
    }
  }
}

// MARK: In the core

extension ObservedOccurrence {
  /// Tells traces that a call begins. Stores the number of the call in ``cell``, where occurrences
  /// that the call sends find their cause. Returns the call; `nil` if the occurrence is not traced.
  func beginTraced(_ handler: TracedHandler, on lane: DeliveryTarget?) -> TracedCall? {
    guard let cell else { return nil }
    let number = TracedCall.last.wrappingAdd(1, ordering: .relaxed).newValue
    let call = TracedCall(
      number: number, event: observers.event.number, sequence: sequence,
      lane: lane.flatMap { LaneNumbers.number(of: $0) }, outer: cell.begin(number))
    trace { $0.began(call, of: handler) }
    return call
  }

  /// Tells traces that a call has ended.
  func endTraced(_ call: TracedCall, of handler: TracedHandler, _ end: TracedEnd) {
    cell?.call.store(call.outer, ordering: .relaxed)
    trace { $0.ended(call, of: handler, end) }
  }

  /// Tells traces that a call does not happen, after ``beginTraced(_:on:)`` told them that it
  /// begins. The handler was skipped, or a lock holds the occurrence.
  func withdrawTraced(_ call: TracedCall, of handler: TracedHandler) {
    cell?.withdraw(call.outer)
    trace { $0.withdrew(call, of: handler) }
  }

  /// Returns a copy with a new ``CallCell``, for a call on a lane; `nil` if the occurrence is not
  /// traced. A cell has room for the number of one call, and this call may overlap with others.
  func withNewCell() -> ObservedOccurrence? {
    guard cell != nil else { return nil }
    var observed = self
    observed.cell = CallCell(CallCell.unused)
    return observed
  }
}

extension EventTracing {
  fileprivate func began(_ call: TracedCall, _ handler: TracedHandler) {
    if isOn { sink.began(call, of: handler) }
  }

  fileprivate func ended(_ call: TracedCall, _ handler: TracedHandler, _ end: TracedEnd) {
    if isOn { sink.ended(call, of: handler, end) }
  }
}

extension EventCore {
  /// Calls an inline handler of an event that has one trace and no observers.
  ///
  /// Retains nothing: see ``TracedHandler``.
  ///
  /// - Parameter tracing: The trace and the ``CallCell`` of the occurrence, both unretained.
  ///   `tally.observed` keeps them alive during the call.
  @inline(never) func callTraced(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ tracing: ObservedOccurrence.Tracing, _ payload: BorrowedPayload,
    _ tally: inout DeliveryTally
  ) {
    let handler = unsafe TracedHandler(slot.pointee.held)
    let number = TracedCall.last.wrappingAdd(1, ordering: .relaxed).newValue
    let call = unsafe TracedCall(
      number: number, event: tracing.trace._withUnsafeGuaranteedRef { $0.event }, sequence: tally.sequence, lane: nil,
      outer: tracing.cell._withUnsafeGuaranteedRef { $0.begin(number) })
    unsafe tracing.trace._withUnsafeGuaranteedRef { $0.began(call, handler) }
    var failure: (any Error)?
    do { unsafe try slot.pointee.call(payload) } catch { failure = error }
    unsafe tracing.cell._withUnsafeGuaranteedRef { $0.call.store(call.outer, ordering: .relaxed) }
    unsafe tracing.trace._withUnsafeGuaranteedRef { $0.ended(call, handler, failure == nil ? .returned : .threw) }
    if let failure { unsafe tally.fail(slot.pointee.record, anchor, failure) } else { tally.report.delivered &+= 1 }
  }

  /// Whether senders must note, for a trace, when they send and in which call. Only a hint, which
  /// may be wrong for a moment while a trace begins or ends. The event's ``Observers`` decide
  /// whether a delivery is traced.
  var isTraced: Bool {
    unsafe pendingWorkReference.lend()?._withUnsafeGuaranteedRef { $0.isTraced.load(ordering: .relaxed) } ?? false
  }

  /// Delivers a payload to one slot, outside of the delivery of an occurrence, with the
  /// ``CallCell`` bound if the event is traced. Isolation: core.
  @inline(never) func visitAlone(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ payload: BorrowedPayload, _ tally: inout DeliveryTally
  ) {
    guard let cell = tally.observed?.cell else { return _ = unsafe visit(slot, payload, &tally) }
    CallCell.$current.withValue(cell) { _ = unsafe visit(slot, payload, &tally) }
  }

  /// Posts to a traced event. The completion notes when the post was made, and by which call.
  @inline(never) func postTraced(_ payload: BorrowedPayload, from sender: (any AnyObject & Sendable)?) {
    let completion = Completion(.post, from: sender)
    completion.noteOrigin()
    if enqueue(payload, completion) { OverloadControl.slowDown() }
  }

  /// Runs a delivery whose occurrence is traced, and tells the traces when it begins and ends.
  /// Isolation: core.
  @inline(never) func traced(
    _ payload: BorrowedPayload, _ completion: Completion?, _ tally: inout DeliveryTally,
    _ deliver: (inout DeliveryTally) -> Void
  ) {
    guard let observed = tally.observed else { return deliver(&tally) }
    let origin = unsafe completion?.notes?.origin ?? TraceOrigin()
    let event = observed.observers.event
    let occurrence = TracedOccurrence(
      event: event, sequence: observed.sequence, postedAt: origin.postedAt, cause: origin.cause,
      sender: tally.sender)
    observed.trace { $0.began(occurrence, payload: TracedPayload(payload, type)) }
    CallCell.$current.withValue(observed.cell) { deliver(&tally) }
    observed.trace { $0.ended(event: event, sequence: observed.sequence) }
  }
}
