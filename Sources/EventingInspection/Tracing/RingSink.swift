import Eventing

final class RingSink: TraceSink {
  let ring: TraceRing

  init(_ ring: TraceRing) { self.ring = ring }

  func began(_ occurrence: TracedOccurrence, payload: TracedPayload) {
    var record = record(.occurrenceBegan, occurrence.event.number, occurrence.sequence, at: InspectionClock.now)
    record.call = occurrence.cause
    record.detail = occurrence.postedAt
    ring.append(record, payload: PayloadDescribers.text(of: payload))
  }

  func ended(event: EventIdentity, sequence: UInt64) {
    ring.append(record(.occurrenceEnded, event.number, sequence, at: InspectionClock.now))
  }

  // An ``EventTracing`` calls a ring without the protocol.
  func began(_ call: TracedCall, of handler: TracedHandler) { began(call) }
  func ended(_ call: TracedCall, of handler: TracedHandler, _ end: TracedEnd) {
    switch end {
    case .returned: ended(call, .returned)
    case .threw: append(.callThrew, call, at: InspectionClock.now)
    case .dropped: ended(call, .dropped)
    }
  }

  @inline(__always) func began(_ call: TracedCall) {
    append(.callBegan, call, at: InspectionClock.now, lane: call.isInline ? 0 : laneNumber(of: call))
  }

  @inline(never) private func laneNumber(of call: TracedCall) -> UInt64 {
    call.lane.flatMap { LaneNumbers.number(of: $0) } ?? 0
  }

  @inline(__always) func ended(_ call: TracedCall, _ end: WatchedCall.End) {
    let kind: TraceRecord.Kind =
      switch end {
      case .returned: .callReturned
      case .threw: .callThrew
      case .dropped: .callDropped
      }
    append(kind, call, at: InspectionClock.now)
  }

  func withdrew(_ call: TracedCall, of handler: TracedHandler) {
    append(.callWithdrawn, call, at: InspectionClock.now)
  }

  func noCall(_ reason: TracedNoCall, handler: TracedHandler, event: EventIdentity, sequence: UInt64) {
    let kind: TraceRecord.Kind =
      switch reason {
      case .skipped: .skipped
      case .dropped: .dropped
      case .held: .held
      }
    var record = record(kind, event.number, sequence, at: InspectionClock.now)
    record.handler = handler.id
    ring.append(record) { TraceRing.HandlerNames(handler: handler.name, lane: handler.laneName) }
  }

  @inline(__always) private func append(_ kind: TraceRecord.Kind, _ call: TracedCall, at time: UInt64, lane: UInt64 = 0)
  {
    let handler = TracedHandler(call)
    var record = record(kind, call.eventNumber, call.sequence, at: time)
    record.handler = handler.id
    record.call = call.number
    record.detail = lane
    ring.append(record) { TraceRing.HandlerNames(handler: handler.name, lane: handler.laneName) }
  }

  private func record(
    _ kind: TraceRecord.Kind, _ event: UInt64, _ sequence: UInt64, at time: UInt64
  ) -> TraceRecord {
    TraceRecord(kind: kind, thread: Thread.current, time: time, event: event, sequence: sequence)
  }
}
