import Synchronization

/// Holds the number of the call that runs now in a delivery, or on a lane. An occurrence that is
/// sent meanwhile finds its cause here.
///
/// One cell is bound for a delivery, and not one for each call, because a binding costs more than a
/// call. A call on a lane has a cell of its own. What is sent after the calls have ended, such as
/// their failures, or by a task that a handler started, has the last call as its cause. So for a
/// task of an inline handler the cause may be another call of the delivery.
///
/// ``CarriedContext`` takes the number along, so that events without a trace hand it on.
final class CallCell: Sendable {
  /// The number of the call; 0 if none runs, ``unused`` if the call for which the cell was made has
  /// not begun.
  let call: Atomic<UInt64>
  static let unused = UInt64.max
  /// The number of the call that began last; 0 for none.
  private let last = Atomic<UInt64>(0)

  @TaskLocal static var current: CallCell?

  private static let lastNumber = Atomic<UInt64>(0)

  /// Returns a number for a call, which no other call of the process has.
  static func newNumber() -> UInt64 { lastNumber.wrappingAdd(1, ordering: .relaxed).newValue }

  /// The number of cells. While there is none, a post need not look for one, which takes about 300
  /// instructions.
  private static let count = Atomic<Int>(0)

  init(_ call: UInt64 = 0) {
    self.call = Atomic(call)
    CallCell.count.wrappingAdd(1, ordering: .relaxed)
  }

  deinit { CallCell.count.wrappingSubtract(1, ordering: .relaxed) }

  /// The number of the call that sends now; 0 for none.
  static var cause: UInt64 {
    guard count.load(ordering: .relaxed) > 0, let cell = current else { return 0 }
    let call = cell.call.load(ordering: .relaxed)
    return call == 0 || call == unused ? cell.last.load(ordering: .relaxed) : call
  }

  /// Stores the number of a call that begins. Returns the number that was there; 0 for none.
  @inline(__always) func begin(_ number: UInt64) -> UInt64 {
    last.store(number, ordering: .relaxed)
    let outer = call.exchange(number, ordering: .relaxed)
    return outer == CallCell.unused ? 0 : outer
  }

  /// Takes back the beginning of a call.
  func withdraw(_ outer: UInt64) {
    last.store(outer, ordering: .relaxed)
    call.store(outer, ordering: .relaxed)
  }
}

/// When an occurrence was sent, and by which call.
package struct TraceOrigin: Sendable {
  private static let askers = Atomic<Int>(0)

  /// Whether some event is traced. One relaxed load.
  static var isWanted: Bool { askers.load(ordering: .relaxed) > 0 }

  /// Changes the number of instruments that want origins.
  package static func want(_ change: Int) {
    askers.wrappingAdd(change, ordering: .relaxed)
    CarriedContext.sources.wrappingAdd(change, ordering: .relaxed)
  }

  /// The time, as ``DrainQuota/exactNow``.
  package let postedAt: UInt64
  /// The number of the watched call that sent it; 0 if none did.
  package let cause: UInt64

  init(isKnown: Bool = true) { (postedAt, cause) = isKnown ? (DrainQuota.exactNow, CallCell.cause) : (0, 0) }
}

/// The part of a completion that only instruments need: when its occurrence was sent and by which
/// call (`origin`), the kind of its wait, the anchor of its event, and the wait if it has begun
/// with the send. Immutable.
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
  /// A completion for a change of an ``Observed`` value. It has the task-local values of the
  /// setter, and for traces the time of the change and the call that made it. `nil` if no value is
  /// carried and no trace runs.
  ///
  /// A trace of any event counts: a combination of values has its own event, which may be traced.
  static var ofSetter: Completion? {
    let isTraced = TraceOrigin.isWanted
    guard isTraced || CarriedContext.isCarrying else { return nil }
    let completion = Completion(.post)
    if isTraced { completion.noteOrigin() }
    return completion
  }

  /// A new completion with the task-local values of this one, and with its time and cause for
  /// traces; `nil` if this completion has none of these.
  ///
  /// This completion is that of a change of an ``Observed`` value. The new one is for a further
  /// occurrence that the change brings: the announcement before the change, or an occurrence in the
  /// event of a combination.
  var forFurtherOccurrence: Completion? {
    let notes = unsafe notes
    return context != nil || notes != nil ? Completion(withoutWaiting: context, nil, notes) : nil
  }
}
