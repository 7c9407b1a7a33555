/// One record of a trace. An occurrence and a call have two each: the beginning and the end.
struct TraceRecord: Sendable {
  enum Kind: UInt8, Sendable {
    case occurrenceBegan, occurrenceEnded
    case callBegan, callReturned, callThrew, callDropped, callWithdrawn
    case skipped, dropped, held

    /// Whether the record tells that an occurrence or a call begins, or that a handler was not
    /// called.
    var isBeginning: Bool {
      switch self {
      case .occurrenceBegan, .callBegan, .skipped, .dropped, .held: true
      case .occurrenceEnded, .callReturned, .callThrew, .callDropped, .callWithdrawn: false
      }
    }
  }

  let kind: Kind
  /// The place of the payload's text among those of the chunk, counted from 1; 0 for none.
  var payload: UInt32 = 0
  /// The thread that added the record.
  let thread: UInt
  /// The time on the `InspectionClock`.
  let time: UInt64
  let event: UInt64
  let sequence: UInt64
  /// The number of the handler; 0 for an occurrence.
  var handler: UInt64 = 0
  /// For a call, its number. For an occurrence, the number of the call that sent it. 0 for none.
  var call: UInt64 = 0
  /// For a call, the number of its lane, or 0. For an occurrence, the time at which it was sent.
  var detail: UInt64 = 0
}
