import Eventing

/// Writes what a trace is told into a ring.
final class RingSink: TraceSink {
  let ring: TraceRing

  init(_ ring: TraceRing) { self.ring = ring }

  func began(_ occurrence: TracedOccurrence, payload: TracedPayload) {
    var record = record(.occurrenceBegan, occurrence.event, occurrence.sequence)
    record.call = occurrence.cause
    record.detail = occurrence.postedAt
    ring.append(record, payload: PayloadDescribers.text(of: payload))
  }

  func ended(event: EventIdentity, sequence: UInt64) { ring.append(record(.occurrenceEnded, event, sequence)) }

  func began(_ call: TracedCall) { append(.callBegan, call) }

  func ended(_ call: TracedCall, threw: Bool) { append(threw ? .callThrew : .callReturned, call) }

  func withdrew(_ call: TracedCall) { append(.callWithdrawn, call) }

  func noCall(_ reason: TracedNoCall, handler: HandlerToken, event: EventIdentity, sequence: UInt64) {
    let kind: TraceRecord.Kind =
      switch reason {
      case .skipped: .skipped
      case .dropped: .dropped
      case .held: .held
      }
    var record = record(kind, event, sequence)
    record.handler = handler.id
    ring.append(record) { handler.traceName }
  }

  private func append(_ kind: TraceRecord.Kind, _ call: TracedCall) {
    var record = record(kind, call.event, call.sequence)
    record.handler = call.handler.id
    record.call = call.number
    record.detail = call.lane ?? 0
    ring.append(record) { call.handler.traceName }
  }

  private func record(_ kind: TraceRecord.Kind, _ event: EventIdentity, _ sequence: UInt64) -> TraceRecord {
    TraceRecord(
      kind: kind, thread: Thread.current, time: InspectionClock.now, event: event.number, sequence: sequence)
  }
}
