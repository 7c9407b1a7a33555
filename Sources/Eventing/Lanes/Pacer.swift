import Synchronization

/// The pace of a handler: lets through only some of the occurrences, and some of them later.
///
/// The pace decides inside the core. A timer that rings asks the core to call `timerEnded()`.
// Safe: the fields that change are touched inside the core. After the end of the event, the core's
// `deinit` touches them, and then the block that the `deinit` starts: see `isLeft`.
@usableFromInline package final class Pacer: DeliveryTarget, @unchecked Sendable {
  private let pace: Pace
  /// The handler behind the pace.
  let inner: HandlerRoute
  /// The lane of the handler; `nil` if it runs inline.
  let lane: DeliveryTarget?
  private let queue: DelayQueue
  let type: PayloadType
  /// The occurrence that waits, if there is one.
  @exclusivity(unchecked) var pending: PayloadQueue<PacedOccurrence>
  /// Whether observers and waiters know that a lock holds the occurrence that waits.
  @exclusivity(unchecked) var isHeldReported = false
  /// The timer that runs, if any. If a timer rings while a lock holds the occurrence that waits, a
  /// throttle starts its next timer when the lock ends; a debounce, with the next payload.
  @exclusivity(unchecked) private var timer: Delay?
  /// The time at which a debounce ends, on the clock of `queue`.
  @exclusivity(unchecked) private var deadline = Duration.zero
  /// The time at which a debounce ends at the latest; `nil` if there is no such limit.
  @exclusivity(unchecked) private var latest: Duration?

  init(
    _ record: DetailedRecord, _ anchor: EventAnchor, _ pace: Pace, _ inner: HandlerRoute, _ type: PayloadType
  ) {
    self.pace = pace
    self.inner = inner
    lane = inner.target
    self.type = type
    queue = DelayQueues.of(pace.clock, for: anchor)
    unsafe pending = PayloadQueue(type)
    super.init(record, anchor)
  }

  /// Returns what the occurrence in `pending` waits for in the wait graph: the lane of the handler,
  /// or nothing if the handler runs inline.
  package override func needs(_ goal: Invocation) -> WaitNeeds { lane.map { .any([$0]) } ?? .free }

  /// The target that counts the calls: the lane of the handler if there is one, otherwise this one.
  package override var counters: DeliveryTarget { lane ?? self }

  // MARK: For the core

  /// Passes an occurrence to the handler, or stores it in `pending`. Returns false if the handler
  /// must be skipped. Isolation: core.
  func deliver(
    _ payload: BorrowedPayload, _ owner: (any AnyObject & Sendable)?, _ tally: inout Delivery
  ) -> Bool {
    switch pace.kind {
    case .throttle(let interval):
      // If no timer runs, an occurrence may still wait, because a lock held it when the timer rang.
      // The new occurrence must not overtake that one, but replaces it: the older one is dropped.
      if unsafe timer == nil, unsafe pending.isEmpty {
        startTimer(after: interval)
        return pass(payload, owner, &tally)
      }
      keep(payload, &tally)
    case .debounce(let pause, let limit):
      let isFirst = unsafe pending.isEmpty
      keep(payload, &tally)
      let now = queue.now
      if isFirst { unsafe latest = limit.map { now.adding($0) } }
      unsafe deadline = min(now.adding(pause), latest ?? now.adding(pause))
      if unsafe timer == nil { startTimer(after: unsafe deadline - now) }
    }
    return true
  }

  @inline(never) func pass(
    _ payload: BorrowedPayload, _ owner: (any AnyObject & Sendable)?, _ tally: inout Delivery
  ) -> Bool {
    let (delivered, failed) = (tally.report.delivered, tally.report.failures.count)
    guard inner.deliver(payload, owner, record, anchor, &tally) else { return false }
    if lane == nil, tally.report.delivered + tally.report.failures.count > delivered + failed { countCallAlone() }
    return true
  }

  /// Stores the payload of a post until the timer fires, in place of the payload that waits. The
  /// fast path calls this. Isolation: core.
  ///
  /// - Returns: `false` if nothing was stored, and the slow path must handle the post: no timer
  ///   runs, or the pace is a debounce and no payload waits.
  func keepPost(_ payload: BorrowedPayload, _ sequence: UInt64) -> Bool {
    guard unsafe timer != nil else { return false }
    if case .debounce(let pause, _) = pace.kind {
      guard unsafe !pending.isEmpty else { return false }
      let now = queue.now
      unsafe deadline = min(now.adding(pause), latest ?? now.adding(pause))
    }
    dropPending()
    let completion = CarriedContext.isCarrying ? Completion(.post) : nil
    unsafe pending.append(PacedOccurrence(sequence, completion), payload)
    return true
  }

  /// Stores an occurrence in `pending`, in place of the one that waits.
  private func keep(_ payload: BorrowedPayload, _ tally: inout Delivery) {
    let completion = tally.completionForLane()
    if let completion, completion.isAwaited { completion.expect(self) }
    dropPending()
    unsafe pending.append(PacedOccurrence(tally, completion), payload)
    tally.enqueued &+= 1
  }

  private func dropPending() {
    guard unsafe !pending.isEmpty else { return }
    unsafe isHeldReported = false
    let replaced = unsafe pending.takeFirst()
    unsafe pending.destroyTaken()
    unsafe pending.recycle()
    guard let completion = replaced.completion else {
      // No atomic addition: only the thread inside the core counts the drops of an inline handler.
      guard let lane else { return dropped.store(dropped.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }
      return lane.countDropped(nil, isReplaced: true)
    }
    counters.countDropped(completion, isReplaced: true)
    if completion.isAwaited { completion.arrive(self, .dropped) }
  }

  // MARK: The timer

  private func startTimer(after delay: Duration) {
    let timer = Delay(queue, delaying: [self]) { self.askCore() }  // finish() cancels it
    unsafe self.timer = timer
    timer.start(after: delay)
  }

  /// Asks the core to call `timerEnded()`.
  private func askCore() {
    guard let core = anchor.core else { return }
    _ = core.enqueue(drainer: Drainer.pool) { pendingWork in
      unsafe pendingWork.mailbox.items.append(.change({ self.timerEnded() }, by: Drainer.queue))
      return false
    }
    // Releasing the core may run user code. The timer's thread must not, so a block releases it.
    Scheduling.concurrentBlock { withExtendedLifetime(core) {} }
  }

  /// Delivers the occurrence that waits. If later payloads have put off the end of a debounce,
  /// starts the timer again instead. Isolation: core.
  private func timerEnded() {
    guard let timer = unsafe timer, !timer.isWaiting else { return }
    unsafe self.timer = nil
    // If a lock holds the occurrence, no timer starts: resume() delivers it after the lock.
    guard unsafe !pending.isEmpty, !holdPending() else { return }
    switch pace.kind {
    case .throttle(let interval): startTimer(after: interval)
    case .debounce:
      let left = unsafe deadline - queue.now
      if left > .zero { return startTimer(after: left) }
    }
    if mutant(.paceForgetsTheLast) { return dropPending() }
    let core = anchor.core
    deliverPending(.inTime, for: unsafe anchor.observers)
    core?.unregisterDead()
  }

  // MARK: The end, barriers and locks

  /// Delivers the occurrence that waits, and ends the lane of the handler. Isolation: core.
  override func finish() -> Bool {
    unsafe timer?.cancel()
    unsafe timer = nil
    if isLeft {
      over.publish(true)
      return true
    }
    deliverPending(.end, for: unsafe anchor.observers)
    guard let lane else {
      record.set(HandlerFlags.removed)
      over.publish(true)
      return true
    }
    return lane.finish()
  }

  /// Whether an occurrence waits for an inline handler of an event that is gone. The core's
  /// `deinit` starts a block that delivers it: the thread that released the event runs no handler.
  var isLeft: Bool { unsafe lane == nil && anchor.core == nil && !pending.isEmpty }

  /// Delivers the occurrence that still waited when the event was released: see ``isLeft``.
  func deliverLeft(for observers: Observers?) {
    deliverPending(.end, for: observers)
    record.set(HandlerFlags.removed)
  }

  /// Delivers the occurrence that waits, unless a lock holds it, and begins the interval of a
  /// throttle anew. For a probe, does nothing of this. Then sends the completion through the
  /// handler's lane, if there is one. Isolation: core.
  override func sendBarrier(_ completion: Completion) {
    if completion.purpose != .probe, unsafe !pending.isEmpty, !holdPending() {
      if case .throttle(let interval) = pace.kind {
        unsafe timer?.cancel()
        startTimer(after: interval)
      }
      deliverPending(.early, for: unsafe anchor.observers)
    }
    lane?.sendBarrier(completion)
  }

  override func abandon() { lane?.abandon() }

  override func endDelays() { lane?.endDelays() }

  override func resume() {
    if unsafe timer == nil, unsafe !pending.isEmpty {
      if case .throttle(let interval) = pace.kind { startTimer(after: interval) }
      deliverPending(.early, for: unsafe anchor.observers)
    }
    lane?.resume()
  }
}
