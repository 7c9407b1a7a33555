package import Synchronization

/// Retains the handler's record and the event's anchor but not the event, so a lane can outlive the
/// event and still deliver or skip its items.
// Safe: the fields that change are atomic.
@usableFromInline package class DeliveryTarget: WaitNode, @unchecked Sendable {
  package final let record: DetailedRecord
  final let anchor: EventAnchor
  private let line = CacheLine()
  // Calls write to the following fields, so these are on a different cache line from the fields
  // that senders read.
  final let over = Atomic<Bool>(false)
  package final let calls = Atomic<Int>(0)
  /// The highest bit is a flag: see ``LaneQueue/mayEmptyReady()``.
  final let ended = Atomic<Int>(0)
  package final let skipped = Atomic<Int>(0)
  package final let dropped = Atomic<Int>(0)
  package final let attempt = Atomic<Int>(1)

  #if DEBUG
    let isReported = Atomic<Bool>(false)
    override var title: String { record.options.name.map { "handler \"\($0)\"" } ?? "handler \(record.id)" }
  #endif

  init(_ record: DetailedRecord, _ anchor: EventAnchor) {
    self.record = record
    self.anchor = anchor
    super.init()
  }

  package override var handlerID: UInt64? { record.id }
  package override var eventAnchor: EventAnchor? { anchor }

  package var counters: DeliveryTarget { self }

  // Isolation: core. `finish()` returns whether the lane has already ended. `abandon()` skips the
  // waiting occurrences of an ended handler, although one of its calls may still be running.
  func finish() -> Bool { preconditionFailure("each lane overrides finish()") }
  func abandon() {}
  func sendBarrier(_ completion: Completion) {
    preconditionFailure("each lane overrides sendBarrier(_:)")
  }

  func endDelays() {}

  // Callable from any thread that holds no mutex.
  package var waitingCount: Int { 0 }

  /// Calls that are ready to begin but have no free queue, actor or thread.
  package var unbegunCount: Int { waitingCount }

  package final var sharedLane: HandlerLane? { if case .lane(let lane, _) = record.place { lane } else { nil } }

  package var runningCalls: RunningCount? { nil }

  // Isolation: core.
  func resume() {}

  /// The caller holds the lane's mutex or, for a pace, is inside the core. ``resume()`` takes the
  /// mutex after the flags have changed, so a lane that pauses because of flags read under the
  /// mutex is sure to be resumed.
  final func refusal(isEnding: Bool, endedBy end: UInt32 = HandlerFlags.ended) -> ClaimRefusal {
    let flags = record.state.load(ordering: .acquiring)
    if flags & end != 0 { return .skip }
    if flags & HandlerFlags.lockedAtAll == 0 { return .retry }
    return flags & HandlerFlags.isHolding != 0 && !isEnding ? .pause : .skip
  }

  final var isOver: Bool { over.load(ordering: .acquiring) }

  package final var endedCalls: Int { ended.load(ordering: .acquiring) & .max }

  /// A load and a store cost less than an atomic addition, but no other thread may count at the
  /// same time. Also publishes what the thread has done so far: see
  /// ``LaneQueue/mayEmptyReady()``.
  @inline(__always) final func countCallAlone() {
    calls.publish(calls.load(ordering: .relaxed) &+ 1)
  }

  @inline(__always) final func countEnd(_ count: Int = 1) {
    if ended.wrappingAdd(count, ordering: .acquiringAndReleasing).oldValue < 0 { awaitEmptying() }
  }

  func awaitEmptying() {}

  final func countSkipped(_ completion: Completion?) {
    skipped.wrappingAdd(1, ordering: .relaxed)
    unsafe completion?.observed?.skipped(HandlerToken(record, anchor))
    // A lane skips an occurrence only if the handler has ended or is locked, and an end is final.
    if let account = completion?.account, !record.has(HandlerFlags.ended) { account.noteLock() }
    // The thread that locked the handler may not have called `noteChange()` yet.
    if record.has(HandlerFlags.lockedAtAll) { anchor.noteChange() }
  }

  final func skip(_ completion: Completion?, at node: WaitNode) {
    countSkipped(completion)
    if let completion, completion.isAwaited { completion.arrive(node, .skipped) }
  }

  final func drop(_ completion: Completion?, at node: WaitNode) {
    countDropped(completion, isReplaced: keepsOnlyTheNewest)
    if let completion, completion.isAwaited { completion.arrive(node, .dropped) }
  }

  final func countDropped(_ completion: Completion?, isReplaced: Bool, isReported: Bool = false) {
    dropped.wrappingAdd(1, ordering: .relaxed)
    guard let completion else { return }
    if isReplaced { completion.account?.noteReplaced() }
    if !isReported { unsafe completion.observed?.dropped(HandlerToken(record, anchor)) }
  }

  package var keepsOnlyTheNewest: Bool { record.place.buffering == .latest }

  final func reportHeld(_ completion: Completion, at node: WaitNode) {
    unsafe completion.observed?.held(HandlerToken(record, anchor))
    if completion.isAwaited { completion.arrive(node, .held) }
  }

  /// Runs right after the claim, because the handler's call may take a long time.
  @inline(__always) final func unregisterIfSpent() {
    if record.has(HandlerFlags.spent), !mutant(.usedUpHandlerStays) { unregister() }
  }

  @inline(never) private final func unregister() {
    anchor.core?.requestUnregistration(record)
    record.options.sharedClaim?.endIfSpent()
  }
}

@usableFromInline enum ClaimRefusal {
  case skip
  case retry
  case pause
}

package struct RunningCount {
  package var count: Int
  package var oldest: UInt64
}
