/// An occurrence and a call have two records each: the beginning and the end.
struct TraceRecord: Sendable {
  enum Kind: UInt8, Sendable {
    case occurrenceBegan, occurrenceEnded
    case callBegan, callReturned, callThrew, callDropped, callWithdrawn
    case skipped, dropped, held

    /// Also true if a handler was not called.
    var isBeginning: Bool {
      switch self {
      case .occurrenceBegan, .callBegan, .skipped, .dropped, .held: true
      case .occurrenceEnded, .callReturned, .callThrew, .callDropped, .callWithdrawn: false
      }
    }
  }

  let kind: Kind
  /// The index of its text in the chunk, from 1; 0 for none.
  var payload: UInt32 = 0
  let thread: UInt
  /// A time on the `InspectionClock`.
  let time: UInt64
  let event: UInt64
  let sequence: UInt64
  /// 0 for an occurrence.
  var handler: UInt64 = 0
  /// For an occurrence, the call that sent it. 0 for none.
  var call: UInt64 = 0
  /// For a call, the lane, or 0. For an occurrence, the time at which it was sent.
  var detail: UInt64 = 0
}
