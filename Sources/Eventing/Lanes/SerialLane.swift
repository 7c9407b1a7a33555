public import Dispatch
public import Synchronization

/// The lane of a handler that runs one call at a time, in order: on a queue, in a task, or on an actor.
///
/// It is scheduled when something comes and it had run dry, drains what there is in batches, and gives way after some hundred calls,
/// because the main queue, or a pool of two threads, is also for others: 25 ns a call instead of 300 for a block each.
// Safe: `items`, `isEnding` and every change of `phase` are guarded by `mutex`; the rest belongs to the one drain that runs, or is scheduled, while the phase
// is `running`, and to whoever has the lock while it is `paused`.
@usableFromInline final class SerialLane: HandlerLane, @unchecked Sendable {
  // The drain's, as all that is inherited.
  @exclusivity(unchecked) var batch: PayloadQueue<LaneItem>
  @usableFromInline @exclusivity(unchecked) var queue: DispatchQueue?
  private let line = CacheLine()
  // Of those who send.
  @usableFromInline let mutex = UnfairMutex()
  // Under the lock.
  @exclusivity(unchecked) var items: PayloadQueue<LaneItem>
  @usableFromInline let phaseWord = Atomic<LanePhase>(.idle)
  @exclusivity(unchecked) var isEnding = false
  /// Instead of `items`, if the lane is bounded: what is dropped may be anywhere in line, so the drain takes one by one.
  @exclusivity(unchecked) var bounded: LaneQueue?

  @usableFromInline let isMain: Bool
  /// It runs on the main queue, as a handler of the main actor or not.
  @usableFromInline let isOnMainQueue: Bool
  @usableFromInline let isBounded: Bool
  /// There for asynchronous handlers: only they can wait.
  @usableFromInline let executionSlot: ExecutionSlot?
  @usableFromInline let executor: (any TaskExecutor)?

  /// Who looks without the lock may only spare itself a question that is asked again under it.
  @usableFromInline var phase: LanePhase {
    get { phaseWord.load(ordering: .relaxed) }
    set { phaseWord.store(newValue, ordering: .relaxed) }
  }

  @usableFromInline override init(
    _ record: DetailedRecord, _ identity: EventIdentity, _ body: HandlerBody, _ type: PayloadType
  ) {
    var isMain = false
    if case .main = record.place { isMain = true }
    switch body {
    case .direct, .sync:
      self.isMain = isMain
      executionSlot = nil
      executor = nil
    default:
      self.isMain = isMain
      executionSlot = ExecutionSlot()
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
    super.init(record, identity, body, type)
    #if DEBUG
      executionSlot?.lane = self
    #endif
  }

  override func needs(_ goal: Invocation) -> WaitNeeds { executionSlot.map { .any([$0]) } ?? .free }

  // MARK: For the event, from inside it

  /// Takes a handler's part in an occurrence: calls it, or queues it.
  @usableFromInline @inline(__always) func take(_ payload: BorrowedPayload, _ tally: inout DeliveryTally) {
    if mayCallHere, let outcome = callHere(payload, tally.observed) {
      return tally.report.count(outcome)
    }
    let completion = tally.completionForLane()
    if let completion, completion.isAwaited { completion.expect(self) }
    if push(payload, completion) { tally.taken &+= 1 }
  }

  /// Takes its part in a post for which there was nothing to decide: nobody waits, and nobody observes the event.
  @usableFromInline @inline(__always) func takePost(_ payload: BorrowedPayload) {
    if mayCallHere, callHere(payload, nil) != nil { return }
    push(payload, CarriedContext.isCarrying ? Completion(.post) : nil)
  }

  @usableFromInline override func finish() -> Bool {
    mutex.lock()
    unsafe isEnding = true
    let (isRunning, wasPaused) = (phase == .running, phase == .paused)
    if isRunning {
      if isBounded { unsafe bounded?.append(.end) } else { unsafe items.append(.end) }
    } else {
      phase = .idle
    }
    mutex.unlock()
    if wasPaused { skipAll() }
    if !isRunning { close() }
    return !isRunning
  }

  override func resume() {
    mutex.lock()
    let isPaused = phase == .paused
    if isPaused { phase = .running }
    mutex.unlock()
    if isPaused { schedule() }
  }

  @usableFromInline override func sendBarrier(_ completion: Completion) {
    if mutant(.barrierOvertakes) { return }
    completion.expect(self)
    pushBarrier(completion)
  }

  /// False if there is no room.
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
    /// The planted fault ``Mutant/laneRunsTwice``: calls beside the one that runs.
    private func runBeside(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
      guard phase == .running, executionSlot != nil else { return false }
      let call = OverlappingCall(OwnedPayload(copying: payload, type), completion)
      Scheduling.task(priority: nil, on: executor) {
        unsafe self.conclude(
          await self.callNow(call.payload.loan, self.body, call.completion, on: nil), call.completion, at: self)
      }
      return true
    }
  #endif

  private func pushBarrier(_ completion: Completion) {
    mutex.lock()
    let (isPaused, start) = (phase == .paused, phase == .idle)
    if !isPaused {
      if isBounded { unsafe bounded?.append(.barrier(completion)) } else { unsafe items.append(.barrier(completion)) }
      phase = .running
    }
    mutex.unlock()
    if isPaused { completion.arrive(self, nil) } else if start { schedule() }
  }

  /// Which queue this is, is asked last: it takes a hundred instructions.
  @usableFromInline @inline(__always) var mayCallHere: Bool {
    isMain && executionSlot == nil && phase == .idle && Scheduling.isOnMainQueue
  }

  /// On main: calls at once if nothing is queued and no call is running, since a call that posts must not be entered again. Nil: queue it.
  @usableFromInline func callHere(_ payload: BorrowedPayload, _ observed: ObservedOccurrence?) -> HandlerOutcome? {
    mutex.lock()
    let isFree = phase == .idle
    if isFree { phase = .running }
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

/// What a serial lane is doing.
@usableFromInline enum LanePhase: UInt8, AtomicRepresentable {
  case idle
  /// A drain runs, or is scheduled.
  case running
  /// A lock of its handler holds what waits.
  case paused
}
