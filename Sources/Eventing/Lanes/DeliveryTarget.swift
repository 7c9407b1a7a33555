package import Synchronization

/// The base of all lanes, and of a sequence's sink: the record of the handler, the counters of its
/// calls, and whether a call may still begin.
///
/// A lane holds the record of its handler and the anchor of its event, not the event. So the lane
/// still delivers or skips its items after the event has been released, or the handler removed.
// Safe: the fields that change are atomic.
@usableFromInline package class DeliveryTarget: WaitNode, @unchecked Sendable {
  package final let record: DetailedRecord
  final let anchor: EventAnchor
  private let line = CacheLine()
  // Calls write to the next fields. So these lie on another cache line than the fields that senders
  // read.
  /// Whether no call will begin any more.
  final let over = Atomic<Bool>(false)
  /// The number of calls that have begun. A batch counts once for each payload.
  package final let calls = Atomic<Int>(0)
  /// The number of calls that have ended. A batch counts once for each payload. 0 for a target that
  /// does not count ends: a sink, or a pace before an inline handler. The highest bit is a flag:
  /// see ``HandlerQueue/mayEmptyReady()``.
  final let ended = Atomic<Int>(0)
  /// The number of occurrences that the lane took and then skipped.
  package final let skipped = Atomic<Int>(0)
  /// The number of occurrences that were dropped, for want of room or for a newer occurrence.
  package final let dropped = Atomic<Int>(0)
  /// The number of the attempt that began last: 1 for the first attempt of a call.
  package final let attempt = Atomic<Int>(1)

  #if DEBUG
    /// Whether a ``CycleReport`` has told of this handler.
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

  /// The target that counts the calls of the handler.
  package var counters: DeliveryTarget { self }

  /// Ends the lane after the items that it holds. Isolation: core.
  ///
  /// - Returns: Whether the lane holds no items, so that it is over now.
  func finish() -> Bool { preconditionFailure("each lane overrides finish()") }
  /// Skips what waits on the lane, because the handler has ended, and releases the payloads. A call
  /// of the handler may still run. Isolation: core.
  func abandon() {}
  /// Sends a completion through the lane, behind the items that it holds. Isolation: core.
  func sendBarrier(_ completion: Completion) {
    preconditionFailure("each lane overrides sendBarrier(_:)")
  }

  /// Ends the delays between attempts, because the event has ended. Isolation: core.
  func endDelays() {}

  /// The number of occurrences that wait on the lane, without those whose calls run. Callable from
  /// any thread that holds no mutex.
  package var waitingCount: Int { 0 }

  /// The number of calls that could begin now and have not, for want of a free queue, actor or
  /// thread. Callable from any thread that holds no mutex.
  package var unbegunCount: Int { waitingCount }

  /// The lane that the handler shares with others; `nil` if there is none.
  package final var sharedLane: HandlerLane? { if case .lane(let lane, _) = record.place { lane } else { nil } }

  /// The calls that run now, for a poll; `nil` for a target that does not count the ends of calls,
  /// such as a sink (see ``ended``). Callable from any thread that holds no mutex.
  package var runningCalls: RunningCount? { nil }

  /// Resumes the lane if a lock that holds occurrences had paused it. Called when the handler is
  /// not locked any more. Isolation: core.
  func resume() {}

  /// Returns what happens to a call whose claim was refused: it is skipped, claimed again, or kept
  /// on a lane that pauses. The caller holds the mutex of the lane.
  ///
  /// ``resume()`` takes that mutex after the flags have changed. So a lane that pauses because of
  /// flags that it read under the mutex is resumed later.
  ///
  /// - Parameter isEnding: Whether the lane ends after the items that it holds. Then it never
  ///   pauses.
  final func refusal(isEnding: Bool) -> ClaimRefusal {
    let flags = record.state.load(ordering: .acquiring)
    if flags & HandlerFlags.ended != 0 { return .skip }
    if flags & HandlerFlags.lockedAtAll == 0 { return .retry }
    return flags & HandlerFlags.isHolding != 0 && !isEnding ? .pause : .skip
  }

  /// Whether no call will begin any more.
  final var isOver: Bool { over.load(ordering: .acquiring) }

  /// Claims a call. Returns false if it must not begin: the owner is gone, or the claim is refused.
  ///
  /// - Parameter owner: Set to the owner, which the caller retains for the length of the call.
  @inline(__always) final func claim(_ owner: inout (any AnyObject & Sendable)?) -> Bool {
    if let box = record.options.owner {
      owner = box.object
      // Unregistered at once: the next delivery may be on a thread that must not look at the owner.
      if owner == nil { _ = anchor.remove(record) }
    }
    return record.claim()
  }

  /// Reports the error that a call threw, and returns the outcome of the call.
  @inline(never) final func failure(
    _ error: any Error, _ payload: BorrowedPayload
  ) -> Outcome {
    let failure = HandlerFailure(HandlerToken(record, anchor), error, record.options, attempts: 1)
    _ = anchor.report(failure)  // on a lane, the policy cannot stop the occurrence any more
    anchor.deadLetters?.post(payload, record.options.letter, failure)
    return .failed(failure)
  }

  /// The number in ``ended``, without the flag.
  package final var endedCalls: Int { ended.load(ordering: .acquiring) & .max }

  /// Counts a call by a load and a store, which cost less than an atomic addition. Publishes what
  /// the thread did before: see ``HandlerQueue/mayEmptyReady()``. The caller makes sure that no
  /// other thread counts a call meanwhile.
  @inline(__always) final func countCallAlone() {
    calls.publish(calls.load(ordering: .relaxed) &+ 1)
  }

  /// Counts the end of a call. In the same step finds out whether another thread takes what the
  /// worker had ready, and if so waits until that is done.
  @inline(__always) final func countEnd(_ count: Int = 1) {
    if ended.wrappingAdd(count, ordering: .acquiringAndReleasing).oldValue < 0 { awaitEmptying() }
  }

  /// Waits until the thread that takes what the worker had ready has done so.
  func awaitEmptying() {}

  final func countSkipped(_ completion: Completion?) {
    skipped.wrappingAdd(1, ordering: .relaxed)
    unsafe completion?.observed?.skipped(HandlerToken(record, anchor))
    // A lane skips an occurrence only if the handler has ended or is locked, and an end is final.
    if let account = completion?.account, !record.has(HandlerFlags.ended) { account.noteLock() }
    // The thread that locked the handler may not have called `noteChange()` yet.
    if record.has(HandlerFlags.lockedAtAll) { anchor.noteChange() }
  }

  /// Counts an occurrence whose call never begins, and tells its waiters and observers.
  final func skip(_ completion: Completion?, at node: WaitNode) {
    countSkipped(completion)
    if let completion, completion.isAwaited { completion.arrive(node, .skipped) }
  }

  /// Counts an occurrence that is dropped for want of room, and tells its waiters and observers.
  final func drop(_ completion: Completion?, at node: WaitNode) {
    countDropped(completion, isReplaced: keepsOnlyTheNewest)
    if let completion, completion.isAwaited { completion.arrive(node, .dropped) }
  }

  /// Counts a dropped occurrence, and tells the observers.
  ///
  /// - Parameters:
  ///   - isReplaced: Whether the handler asked for the newest occurrence only, and gets a newer
  ///     one. A transport then acknowledges the dropped one.
  ///   - isTold: Whether the observers know already.
  final func countDropped(_ completion: Completion?, isReplaced: Bool, isTold: Bool = false) {
    dropped.wrappingAdd(1, ordering: .relaxed)
    guard let completion else { return }
    if isReplaced { completion.account?.noteReplaced() }
    if !isTold { unsafe completion.observed?.dropped(HandlerToken(record, anchor)) }
  }

  /// Whether the lane drops an occurrence only because the handler asked for the newest one.
  package var keepsOnlyTheNewest: Bool { record.place.buffering == .latest }

  /// Reports, to observers and waiters, that a lock holds an occurrence on the lane.
  final func reportHeld(_ completion: Completion, at node: WaitNode) {
    unsafe completion.observed?.held(HandlerToken(record, anchor))
    if completion.isAwaited { completion.arrive(node, .held) }
  }

  /// Asks the event to unregister a once handler that is used up: its slot is removed from the
  /// table, and what waits for it is skipped. Called directly after the claim, because the call may
  /// take long.
  @inline(__always) final func unregisterIfSpent() {
    if record.has(HandlerFlags.spent), !mutant(.usedUpHandlerStays) { unregister() }
  }

  @inline(never) private final func unregister() {
    anchor.core?.requestUnregistration(record)
    record.options.sharedClaim?.endIfSpent()
  }
}

/// The consequence for a call whose claim was refused.
@usableFromInline enum ClaimRefusal {
  /// The call is skipped.
  case skip
  /// The call is claimed again: the lock that was in the way has ended.
  case retry
  /// The lane pauses: a lock holds the call, and all items behind it.
  case pause
}

/// The calls of a lane that run, as a poll read them.
package struct RunningCount {
  package var count: Int
  /// A number that stays while the oldest running call is the same one.
  package var oldest: UInt64
}
