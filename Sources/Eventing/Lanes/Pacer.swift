import Synchronization

// Safe: the mutable fields are accessed inside the core, where all functions except `needs(_:)` and
// `askCore()` are called. After the event has ended, they are accessed first by the core's `deinit`
// and then by the block that it starts: see `isLeft`.
@usableFromInline package final class Pacer: DeliveryTarget, @unchecked Sendable {
  private let pace: Pace
  let inner: HandlerRoute
  let lane: DeliveryTarget?
  private let queue: TimerQueue
  @exclusivity(unchecked) var pending: PayloadQueue<PacedOccurrence>
  @exclusivity(unchecked) var isHeldReported = false
  /// If it fires while a lock holds the waiting occurrence, no timer runs until the lock ends
  /// (throttle) or the next payload comes (debounce).
  @exclusivity(unchecked) private var timer: Delay?
  @exclusivity(unchecked) private var deadline = Duration.zero
  @exclusivity(unchecked) private var latest: Duration?

  init(
    _ record: DetailedRecord, _ anchor: EventAnchor, _ pace: Pace, _ inner: HandlerRoute, _ type: PayloadType
  ) {
    self.pace = pace
    self.inner = inner
    lane = inner.target
    queue = TimerQueues.of(pace.clock, for: anchor)
    unsafe pending = PayloadQueue(type)
    super.init(record, anchor)
  }

  package override func needs(_ goal: Invocation) -> WaitNeeds { lane.map { .any([$0]) } ?? .free }

  package override var counters: DeliveryTarget { lane ?? self }

  // MARK: For the core

  func deliver(
    _ payload: BorrowedPayload, _ owner: (any AnyObject & Sendable)?, _ delivery: inout Delivery
  ) -> Bool {
    switch pace.kind {
    case .throttle(let interval):
      // Even if no timer is running, an occurrence may be waiting because a lock held it when the
      // timer fired. The new occurrence must not overtake it but replaces it.
      if unsafe timer == nil, unsafe pending.isEmpty {
        startTimer(after: interval)
        return pass(payload, owner, &delivery)
      }
      keep(payload, &delivery)
    case .debounce(let pause, let limit):
      let isFirst = unsafe pending.isEmpty
      keep(payload, &delivery)
      let now = queue.now
      if isFirst { unsafe latest = limit.map { now.adding($0) } }
      unsafe deadline = min(now.adding(pause), latest ?? now.adding(pause))
      if unsafe timer == nil { startTimer(after: unsafe deadline - now) }
    }
    return true
  }

  @inline(never) func pass(
    _ payload: BorrowedPayload, _ owner: (any AnyObject & Sendable)?, _ delivery: inout Delivery
  ) -> Bool {
    let (delivered, failed) = (delivery.report.delivered, delivery.report.failures.count)
    guard inner.deliver(payload, owner, record, anchor, &delivery) else { return false }
    if lane == nil, delivery.report.delivered + delivery.report.failures.count > delivered + failed { countCallAlone() }
    return true
  }

  /// Returns whether the post was stored. If not, the slow path must handle it.
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

  private func keep(_ payload: BorrowedPayload, _ delivery: inout Delivery) {
    let completion = delivery.completionForLane()
    if let completion, completion.isAwaited { completion.expect(self) }
    dropPending()
    unsafe pending.append(PacedOccurrence(delivery, completion), payload)
    delivery.enqueued &+= 1
  }

  private func dropPending() {
    guard unsafe !pending.isEmpty else { return }
    unsafe isHeldReported = false
    let replaced = unsafe pending.takeFirst()
    unsafe pending.destroyTaken()
    unsafe pending.recycle()
    guard let completion = replaced.completion else {
      // No atomic addition is needed, because only the thread inside the core counts an inline
      // handler's drops.
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

  private func askCore() {
    guard let core = anchor.core else { return }
    _ = core.enqueue(drainer: Drainer.pool) { rareState in
      unsafe rareState.mailbox.items.append(.change({ self.timerEnded() }, by: Drainer.queue))
      return false
    }
    // Releasing the core may run user code, which the timer's thread must not do, so a block
    // releases it.
    Scheduling.concurrentBlock { withExtendedLifetime(core) {} }
  }

  private func timerEnded() {
    guard let timer = unsafe timer, !timer.isWaiting else { return }
    unsafe self.timer = nil
    // If a lock holds the occurrence, no timer is started, because resume() delivers it after the
    // lock.
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

  /// True if an occurrence waits for an inline handler of an event that is gone. The core's
  /// `deinit` starts a block to deliver it, because the thread that released the event must not run
  /// handlers.
  var isLeft: Bool { unsafe lane == nil && anchor.core == nil && !pending.isEmpty }

  func deliverLeft(for observers: Observers?) {
    deliverPending(.end, for: observers)
    record.set(HandlerFlags.removed)
  }

  /// A probe leaves the pending occurrence alone.
  override func sendBarrier(_ completion: Completion) {
    if completion.purpose != .probe, unsafe !pending.isEmpty, !holdPending() { deliverEarly() }
    lane?.sendBarrier(completion)
  }

  override func abandon() { lane?.abandon() }

  override func endDelays() { lane?.endDelays() }

  override func resume() {
    if unsafe timer == nil, unsafe !pending.isEmpty { deliverEarly() }
    lane?.resume()
  }

  private func deliverEarly() {
    if case .throttle(let interval) = pace.kind {
      unsafe timer?.cancel()
      startTimer(after: interval)
    }
    deliverPending(.early, for: unsafe anchor.observers)
  }
}

// Delivering the occurrence that the pace has held back.

extension Pacer {
  enum Reason {
    case inTime
    case early
    case end
  }

  /// The core unregisters an ended handler at its next `unregisterDead()`. Isolation: core.
  func deliverPending(_ reason: Reason, for observers: Observers?) {
    guard unsafe !pending.isEmpty, reason == .end || !holdPending() else { return }
    var taken = unsafe pending.takeAll()
    let occurrence = taken.takeFirst()
    let payload = taken.taken
    func deliver() -> Bool { self.deliver(payload, occurrence, for: observers, reason) }
    guard occurrence.completion?.context?.run(deliver) ?? deliver() else {
      unsafe isHeldReported = false
      return taken.destroyTaken()
    }
    // `pending` is still empty, because since the swap no handler has been called and no other
    // thread has entered the core.
    taken.untake(occurrence)
    unsafe swap(&taken, &pending)
    noteHeld()
  }

  /// Doesn't go through `EventCore.visit`, because the payload has already passed the handler's
  /// view.
  private func deliver(
    _ payload: BorrowedPayload, _ occurrence: PacedOccurrence, for observers: Observers?, _ reason: Reason
  ) -> Bool {
    let completion = occurrence.completion.flatMap { $0.isAwaited ? $0 : nil }
    completion?.notePassing(self)
    defer { completion?.notePassing(nil) }
    let letter = anchor.deadLetters == nil ? LetterPayload.lost : record.options.letter
    return letter.withPayload(from: payload) { whole in
      var delivery = occurrence.delivery(whole)
      // Only occurrences that wait for the pace may be replaced, not those that reached the lane in
      // time.
      if reason != .inTime { delivery.needNoRoom() }
      delivery.observed = observers.map { ObservedOccurrence(observers: $0, sequence: occurrence.sequence) }
      let box = record.options.owner.flatMap { $0.isElsewhere ? nil : $0 }
      let owner = box?.object
      if box != nil, owner == nil { record.set(HandlerFlags.removed) }
      attempts: while record.has(HandlerFlags.notCallable) || !passAlone(payload, owner, &delivery) {
        // A lock that holds occurrences ends inside the core, where this thread is. A lock seen here
        // therefore ends after this delivery, and its end calls resume().
        switch refusal(isEnding: reason == .end) {
        case .retry: continue
        case .pause: return true
        case .skip:
          delivery.report.skipped += 1
          counters.countSkipped(occurrence.completion)
          break attempts
        }
      }
      if record.has(HandlerFlags.ended), reason != .end { anchor.core?.noteDead(record) }
      completion?.arrive(self, delivery.outcomeOfOneHandler)
      return false
    }
  }

  private func passAlone(
    _ payload: BorrowedPayload, _ owner: (any AnyObject & Sendable)?, _ delivery: inout Delivery
  ) -> Bool {
    guard let cell = delivery.observed?.cell else { return pass(payload, owner, &delivery) }
    return CallCell.$current.withValue(cell) { pass(payload, owner, &delivery) }
  }

  func holdPending() -> Bool {
    guard case .pause = refusal(isEnding: false) else { return false }
    noteHeld()
    return true
  }

  private func noteHeld() {
    guard unsafe !isHeldReported else { return }
    unsafe isHeldReported = true
    let completion = unsafe pending.first.completion
    unsafe pending[0].completion = completion?.withoutWaiting
    if let completion, completion.isToBeTold { reportHeld(completion, at: self) }
  }
}

struct PacedOccurrence: PayloadHeader {
  let sequence: UInt64
  var completion: Completion?
  /// `nil` for most posts, which makes this struct cheap to copy and destroy.
  private let details: Details?

  private final class Details: Sendable {
    let instant: StableInstant?
    weak let sender: (any AnyObject & Sendable)?
    let path: ForwardingPath?
    let isLateSend: Bool

    init(_ delivery: borrowing Delivery) {
      (instant, path, isLateSend) = (delivery.instant, delivery.path, delivery.isLateSend)
      sender = delivery.sender
    }
  }

  init(_ delivery: borrowing Delivery, _ completion: Completion?) {
    sequence = delivery.sequence
    self.completion = completion
    let isPlain = delivery.instant == nil && delivery.sender == nil && delivery.path == nil && !delivery.isLateSend
    details = isPlain ? nil : Details(delivery)
  }

  init(_ sequence: UInt64, _ completion: Completion?) {
    self.sequence = sequence
    self.completion = completion
    details = nil
  }

  func delivery(_ payload: BorrowedPayload?) -> Delivery {
    Delivery(
      payload, paced: sequence, completion, from: details?.sender, along: details?.path, at: details?.instant,
      isLateSend: details?.isLateSend == true)
  }
}

extension Delivery {
  var outcomeOfOneHandler: Outcome? {
    if report.delivered > 0 { return .delivered }
    if report.held > 0 { return .held }
    if let failure = report.failures.first { return .failed(failure) }
    return report.skipped > 0 ? .skipped : nil
  }
}
