public import Dispatch
public import Synchronization

/// The lane of a handler that runs one call at a time, in order: on a queue, in a task, or on an
/// actor.
///
/// A sender that finds the lane idle schedules a drain: one block or task for many calls, which
/// costs less than one for each call. The drain dequeues in batches. It gives way after a
/// ``DrainQuota``: the main queue, and a pool that may have only two threads, have other work, too.
// Safe: `mutex` guards `items`, `bounded`, `isEnding` and each change of `phase`. The other state
// belongs to the one drain that runs, or is scheduled, while the phase is `running`. While it is
// `paused`, that state belongs to the thread that holds the mutex.
@usableFromInline final class SerialLane: DeliveryTarget, @unchecked Sendable {
  /// The handler's closure; `nil` when the lane is over. Read by the drain only.
  @exclusivity(unchecked) var body: LaneHandler?
  /// Whether the handler has no owner.
  let isPlain: Bool
  let type: PayloadType

  // Written by the drain, like the inherited counters.
  /// The items that the drain has dequeued.
  @exclusivity(unchecked) var batch: PayloadQueue<LaneItem>
  /// The queue of a `.background` handler; made when the first drain is scheduled.
  @usableFromInline @exclusivity(unchecked) var queue: DispatchQueue?
  private let line = CacheLine()
  // Written by senders.
  @usableFromInline let mutex = UnfairMutex()
  /// The items that wait, unless the lane is bounded. Guarded by: mutex.
  @exclusivity(unchecked) var items: PayloadQueue<LaneItem>
  @usableFromInline let phaseWord = Atomic<LanePhase>(.idle)
  /// A count from which ``waitingCount`` computes the number of waiting calls of an unbounded lane.
  /// `items.count` plus this count is the number of calls that the lane was ever given. So this
  /// count goes up by 1 for each item that leaves `items`, and for each call that the core makes at
  /// once. A barrier or the end of the lane is no call: when it is appended to `items`, this count
  /// goes down by 1. Guarded by: mutex.
  @exclusivity(unchecked) var takenCount = 0
  /// Whether the lane ends after the items that it holds. Guarded by: mutex.
  @exclusivity(unchecked) var isEnding = false
  /// Whether the next drain has to clear ``isParked`` before it looks at `batch`. Set by the thread
  /// that schedules the drain.
  @exclusivity(unchecked) var beginsParked = false
  /// Whether no drain uses `batch`, because the next one has not begun. Then `batch` belongs to the
  /// thread that holds the mutex. Guarded by: mutex.
  @exclusivity(unchecked) var isParked = false
  /// The items that wait, if the lane is bounded; otherwise `nil`. Guarded by: mutex.
  @exclusivity(unchecked) var bounded: LaneQueue?

  /// Whether the handler was added with a ``MainDelivery``.
  @usableFromInline let isMain: Bool
  /// Whether the handler runs on the main queue, with a ``MainDelivery`` or without.
  @usableFromInline let isOnMainQueue: Bool
  @usableFromInline let isBounded: Bool
  /// The execution slot of an asynchronous handler; `nil` for a synchronous one, which cannot wait.
  @usableFromInline let executionSlot: ExecutionSlot?
  @usableFromInline let executor: (any TaskExecutor)?

  /// The phase. It changes under `mutex`. An unlocked read is only a hint; check again under the
  /// mutex.
  @usableFromInline var phase: LanePhase {
    get { phaseWord.load(ordering: .relaxed) }
    set { phaseWord.store(newValue, ordering: .relaxed) }
  }

  init(_ record: DetailedRecord, _ anchor: EventAnchor, _ body: HandlerBody, _ type: PayloadType) {
    unsafe self.body = LaneHandler(body, type)
    self.type = type
    isPlain = record.options.owner == nil
    var isMain = false
    if case .main = record.place { isMain = true }
    switch body {
    case .direct, .sync:
      self.isMain = isMain
      executionSlot = nil
      executor = nil
    default:
      self.isMain = isMain
      executionSlot = ExecutionSlot(of: record.id)
      executor = Scheduling.executorOfThisTask
    }
    if case .queue(let queue, _) = record.place {
      isOnMainQueue = Scheduling.isMainQueue(queue)
    } else {
      isOnMainQueue = isMain
    }
    let buffering = record.place.buffering
    isBounded = buffering.isBounded
    unsafe bounded = isBounded ? LaneQueue(buffering, type) : nil
    unsafe batch = PayloadQueue(type)
    unsafe items = PayloadQueue(type)
    super.init(record, anchor)
    #if DEBUG
      executionSlot?.lane = self
    #endif
  }

  override func needs(_ goal: Invocation) -> WaitNeeds { executionSlot.map { .any([$0]) } ?? .free }

  override var runningCalls: RunningCount? {
    let ended = endedCalls  // before `begun`: a call that begins in between counts as running
    let begun = calls.load(ordering: .relaxed)
    return RunningCount(count: max(0, begun - ended), oldest: UInt64(begun))
  }

  // MARK: For the core

  /// Calls the handler at once, or enqueues a call. Isolation: core.
  @usableFromInline @inline(__always) func take(_ payload: BorrowedPayload, _ tally: inout DeliveryTally) {
    if mayCallHere, tally.completion?.staysInHand != true, let outcome = callHere(payload, tally.observed) {
      return tally.report.count(outcome)
    }
    let completion = tally.completionForLane()
    if let completion, completion.isAwaited { completion.expect(self) }
    if push(payload, completion) { tally.taken &+= 1 }
  }

  /// Calls the handler at once, or enqueues a call, for a post on the fast path, which has no
  /// waiters and no observers. Isolation: core.
  @usableFromInline @inline(__always) func takePost(_ payload: BorrowedPayload) {
    if mayCallHere, callHere(payload, nil) != nil { return }
    push(payload, CarriedContext.isCarrying ? Completion(.post) : nil)
  }

  @usableFromInline override func finish() -> Bool {
    mutex.lock()
    unsafe isEnding = true
    let (isRunning, wasPaused) = (phase == .running, phase == .paused)
    if isRunning {
      if isBounded { unsafe bounded?.append(.end) } else { appendFollower(.end) }
    } else {
      phase = .idle
    }
    let items = wasPaused ? takeAll() : nil
    mutex.unlock()
    if let items { skip(items) }
    if !isRunning { close() }
    return !isRunning
  }

  override func abandon() { skipWaiting() }
  @usableFromInline override func awaitTaker() { awaitEndOfTaking() }

  override func resume() {
    mutex.lock()
    let isPaused = phase == .paused
    if isPaused {
      phase = .running
      unsafe (isParked, beginsParked) = (true, true)
    }
    mutex.unlock()
    if isPaused { schedule() }
  }

  @usableFromInline override func sendBarrier(_ completion: Completion) {
    if mutant(.barrierOvertakes) { return }
    completion.expect(self)
    pushBarrier(completion)
  }

  /// Enqueues a call. Returns false if there is no room, and the call is dropped.
  @discardableResult func push(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    #if DEBUG
      if mutant(.laneRunsTwice), runBeside(payload, completion) { return true }
    #endif
    if isBounded { return pushBounded(payload, completion) }
    mutex.lock()
    guard phase != .paused else {
      mutex.unlock()
      return pushPaused(payload, completion)
    }
    unsafe items.append(.call(completion), payload)
    let start = phase == .idle
    phase = .running
    mutex.unlock()
    if start { schedule() }
    return true
  }

  #if DEBUG
    private final class PayloadCopy: Sendable {
      let payload: OwnedPayload
      init(_ payload: BorrowedPayload, _ type: PayloadType) { self.payload = OwnedPayload(copying: payload, type) }
    }

    /// Plants ``Mutant/laneRunsTwice``: calls the handler beside the call that runs.
    private func runBeside(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
      guard phase == .running, executionSlot != nil else { return false }
      let copy = PayloadCopy(payload, type)
      Scheduling.task(priority: nil, on: executor) {
        unsafe self.conclude(
          await self.callNow(copy.payload.borrowed, self.body, completion, on: nil), completion, at: self)
      }
      return true
    }
  #endif

  /// Appends an item that is no call: a barrier, or the end of the lane. The caller holds `mutex`.
  func appendFollower(_ item: LaneItem) {
    unsafe items.append(item)
    unsafe takenCount &-= 1
  }

  override var waitingCount: Int {
    mutex.withLock {
      if let waiting = unsafe bounded?.callCount { return waiting }
      let left = calls.load(ordering: .relaxed) + skipped.load(ordering: .relaxed)
      return unsafe max(0, items.count + takenCount - left)
    }
  }

  private func pushBarrier(_ completion: Completion) {
    mutex.lock()
    let (isPaused, start) = (phase == .paused, phase == .idle)
    if !isPaused {
      if isBounded { unsafe bounded?.append(.barrier(completion)) } else { appendFollower(.barrier(completion)) }
      phase = .running
    }
    mutex.unlock()
    if isPaused { return completion.arrive(self, nil) }
    if start { schedule() }
  }

  /// Whether the handler may be called at once: on the main queue, if the lane looks idle.
  ///
  /// The check of the queue comes last: it takes about 110 instructions on x86-64 Linux.
  @usableFromInline @inline(__always) var mayCallHere: Bool {
    isMain && executionSlot == nil && phase == .idle && Scheduling.isOnMainQueue
  }

  /// Calls the handler at once, on the main queue, if no item waits and no call runs.
  ///
  /// If a call runs, that call may have posted the occurrence, and the handler must not be
  /// re-entered.
  ///
  /// - Returns: `nil` if the payload must be enqueued.
  @usableFromInline func callHere(_ payload: BorrowedPayload, _ observed: ObservedOccurrence?) -> HandlerOutcome? {
    mutex.lock()
    let isFree = phase == .idle
    if isFree {
      phase = .running
      unsafe takenCount &+= 1
    }
    mutex.unlock()
    guard isFree else { return nil }
    var outcome = unsafe callNow(payload, body, observed)
    while case .skipped = outcome {
      switch refused(payload, .late(observed), isTaken: false) {
      case .skip: break
      case .retry:
        outcome = unsafe callNow(payload, body, observed)
        continue
      case .pause: return .held
      }
      break
    }
    conclude(outcome, nil, at: self)
    mutex.lock()
    let isDry = unsafe isBounded ? isBoundedDry : items.isEmpty
    if isDry { phase = .idle }
    mutex.unlock()
    if !isDry { schedule() }
    return outcome
  }
}

/// The state of a serial lane.
@usableFromInline enum LanePhase: UInt8, AtomicRepresentable {
  /// No item waits, and no call runs.
  case idle
  /// A drain runs or is scheduled, or the core calls the handler.
  case running
  /// A lock of the handler holds the items that wait.
  case paused
}
