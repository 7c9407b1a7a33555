import Synchronization

/// A delivery has one cell for all its calls, because a binding costs more than a call. What is
/// sent after the calls has the last one as its cause.
final class CallCell: Sendable {
  let call: Atomic<UInt64>
  static let unused = UInt64.max
  private let last = Atomic<UInt64>(0)

  @TaskLocal static var current: CallCell?

  private static let lastNumber = Atomic<UInt64>(0)

  static func newNumber() -> UInt64 { lastNumber.wrappingAdd(1, ordering: .relaxed).newValue }

  /// While there is no cell, a post need not look for one, which takes about 300 instructions.
  private static let count = Atomic<Int>(0)

  init(_ call: UInt64 = 0) {
    self.call = Atomic(call)
    CallCell.count.wrappingAdd(1, ordering: .relaxed)
  }

  deinit { CallCell.count.wrappingSubtract(1, ordering: .relaxed) }

  static var cause: UInt64 {
    guard count.load(ordering: .relaxed) > 0, let cell = current else { return 0 }
    let call = cell.call.load(ordering: .relaxed)
    return call == 0 || call == unused ? cell.last.load(ordering: .relaxed) : call
  }

  @inline(__always) func begin(_ number: UInt64) -> UInt64 {
    last.store(number, ordering: .relaxed)
    let outer = call.exchange(number, ordering: .relaxed)
    return outer == CallCell.unused ? 0 : outer
  }

  func withdraw(_ outer: UInt64) {
    last.store(outer, ordering: .relaxed)
    call.store(outer, ordering: .relaxed)
  }
}

package struct TraceOrigin: Sendable {
  private static let askers = Atomic<Int>(0)

  static var isWanted: Bool { askers.load(ordering: .relaxed) > 0 }

  package static func want(_ change: Int) {
    askers.wrappingAdd(change, ordering: .relaxed)
    CarriedContext.sources.wrappingAdd(change, ordering: .relaxed)
  }

  package let postedAt: UInt64
  package let cause: UInt64

  init(isKnown: Bool = true) { (postedAt, cause) = isKnown ? (DrainQuota.exactNow, CallCell.cause) : (0, 0) }
}

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
  /// A trace of any event counts, because a combination has an event of its own.
  static var ofSetter: Completion? {
    let isTraced = TraceOrigin.isWanted
    guard isTraced || CarriedContext.isCarrying else { return nil }
    let completion = Completion(.post)
    if isTraced { completion.noteOrigin() }
    return completion
  }

  var forFurtherOccurrence: Completion? {
    let notes = unsafe notes
    return context != nil || notes != nil ? Completion(withoutWaiting: context, nil, notes) : nil
  }
}
