import Synchronization

// Safe: `lane.mutex` guards everything from `inbox` on; the notes on `body` and `ready` say who
// uses those. Callers of `noteDequeued`, `begunCalls`, `openCount` and `keysInOrder` hold the mutex.
@safe @usableFromInline package final class LaneQueue: DeliveryTarget, @unchecked Sendable {
  let lane: HandlerLane
  let modifiers: HandlerModifiers
  let buffering: Buffering
  let layout: PayloadLayout
  let keys: LaneKeys?
  let retryQueue: TimerQueue?
  let limitQueue: TimerQueue?
  let batchQueue: TimerQueue?
  let isPlain: Bool
  /// There is one call at a time, and no waiting item can be dropped or become part of a batch.
  let dequeuesAll: Bool
  /// The lane notes the end of each call, for instance because calls overlap, have keys or restart.
  let isTracked: Bool
  /// False for batches: a batch begins in a later block, with all payloads waiting by then.
  let mayRunHere: Bool
  let mayCallHere: Bool
  /// Asking `modifiers` would copy the pace.
  let isPaced: Bool
  let isPipeline: Bool
  /// A handler behind the batches makes the calls.
  let isPassage: Bool
  /// Read only by workers.
  @exclusivity(unchecked) private(set) var body: HandlerBody?
  @exclusivity(unchecked) private(set) var direct: DirectBody?
  /// Retained as long as `body`.
  @exclusivity(unchecked) private var keeper: (any AnyObject & Sendable)?
  /// Owned by the worker that took these items and, while a call runs, by the thread that holds the
  /// mutex if ``mayEmptyReady()`` returned true.
  @exclusivity(unchecked) var ready: PayloadQueue<LaneItem>
  private let line = CacheLine()

  @exclusivity(unchecked) var inbox: PayloadQueue<LaneItem>
  @exclusivity(unchecked) var isPaused = false
  @exclusivity(unchecked) var phase = Phase.active
  @exclusivity(unchecked) var endsDelays = false
  /// The number of waiting payloads or, if ``dequeuesAll``, of all payloads ever pushed.
  @exclusivity(unchecked) var waiting = 0
  @exclusivity(unchecked) var followers = 0
  /// Payloads at the end of `inbox` that wait for a batch to fill.
  @exclusivity(unchecked) var gathering = 0
  @exclusivity(unchecked) var gatherTimer: Delay?
  /// Places in a shared lane's order whose occurrences are gone.
  @exclusivity(unchecked) var debt = 0
  /// Includes payloads in the queues of keys. Maintained only if ``isTracked``.
  @exclusivity(unchecked) var running = 0
  @exclusivity(unchecked) var lastNumber: UInt64 = 0
  /// The number of the call that keeps a pipeline's entrance closed; 0 if none does.
  @exclusivity(unchecked) var entering: UInt64 = 0
  @exclusivity(unchecked) var parkedKeys: [ObjectIdentifier: KeyQueue] = [:]
  @exclusivity(unchecked) var held: [Call] = []
  /// Calls that have no worker and aren't held by a lock: between attempts or about to continue.
  @exclusivity(unchecked) var away: [Call] = []
  @exclusivity(unchecked) var probes: [(completion: Completion, node: WaitNode)] = []
  @exclusivity(unchecked) var current: Call?
  #if DEBUG
    @exclusivity(unchecked) var moves = 0
  #endif
  private let isSweepWanted = Atomic<Bool>(false)

  init(
    _ record: DetailedRecord, _ anchor: EventAnchor, _ body: HandlerBody, _ type: PayloadType,
    _ modifiers: HandlerModifiers
  ) {
    var modifiers = modifiers
    // Applies even if the place has no bound of its own, such as a task for each call.
    buffering = modifiers.isRestarting ? .latest : record.place.buffering
    if body.isSynchronous { modifiers.isRestarting = false }  // its calls cannot be cancelled
    self.modifiers = modifiers
    isPaced = modifiers.pace != nil
    let lane = record.place.makeLane(isSynchronous: body.isSynchronous)
    self.lane = lane
    layout = PayloadLayout(type)
    retryQueue = modifiers.retry.map { TimerQueues.of($0.clock, for: anchor) }
    limitQueue = modifiers.timeLimit.map { TimerQueues.of($0.clock, for: anchor) }
    batchQueue = modifiers.batch.flatMap { $0.within == nil ? nil : TimerQueues.of($0.clock, for: anchor) }
    // A restarting handler makes one call at a time on any lane, so all its payloads share one key.
    if modifiers.isRestarting, !lane.isInOrder {
      keys = TypedLaneKeys<Int> { _ in 0 }
    } else {
      let comesInOrder = lane.isInOrder && lane.keepsWorkerInDelay && modifiers.batch == nil
      keys = comesInOrder ? nil : modifiers.key?.makeKeys()
    }
    isPlain =
      !buffering.isBounded && !modifiers.isRestarting && !lane.isTaskForEachCall
      && (modifiers.batch == nil || keys == nil && batchQueue == nil)
    isTracked =
      !lane.isInOrder || keys != nil || modifiers.isRestarting || batchQueue != nil
      || !lane.keepsWorkerInDelay
    dequeuesAll =
      !isTracked && modifiers.batch == nil && !buffering.isBounded
      && !mutant(lane.isShared ? .sharedLaneOverlaps : .laneRunsTwice)
    mayRunHere = if case .mainBlocks = lane.executor { modifiers.batch == nil } else { false }
    isPipeline = record.options.isForward && !lane.isInOrder
    isPassage = if case .passing = body { true } else { false }
    unsafe self.body = body
    unsafe keeper = record.options.sharedClaim?.keeper
    if record.options.owner == nil, !isPipeline, modifiers.timeLimit == nil, !modifiers.isRestarting {
      unsafe direct = DirectBody(body)
    }
    mayCallHere = unsafe mayRunHere && dequeuesAll && modifiers.retry == nil && direct != nil
    unsafe inbox = PayloadQueue(layout)
    unsafe ready = PayloadQueue(layout)
    super.init(record, anchor)
    lane.insert(self)
  }

  /// Phases occur in this order; some may be skipped.
  enum Phase {
    case active
    /// The handler will end after its remaining items.
    case ending
    /// Only running calls and barriers are left.
    case ended
    /// Nothing is left, and no more workers will come.
    case closed
  }

  package override var keepsOnlyTheNewest: Bool { buffering == .latest }

  package override func needs(_ goal: Invocation) -> WaitNeeds { lane.needs }

  // MARK: Looks

  package override var waitingCount: Int { lane.mutex.withLock { waitingNow } }

  private var waitingNow: Int {
    guard dequeuesAll else { return unsafe waiting }
    return unsafe max(0, waiting - calls.load(ordering: .relaxed) - skipped.load(ordering: .relaxed))
  }

  @inline(__always) func noteDequeued(_ count: Int) { if !dequeuesAll { unsafe waiting &-= count } }

  package override var unbegunCount: Int {
    lane.mutex.withLock {
      unsafe parkedKeys.values.reduce(waitingNow - gathering) {
        unsafe $1.isOpen || batchQueue == nil ? $0 : $0 - $1.waitingCount
      }
    }
  }

  package override var runningCalls: RunningCount? {
    let ended = endedCalls  // before `begun`: a call that begins in between counts as running
    let begun = calls.load(ordering: .acquiring)
    let count = max(0, begun - ended)
    if count == 0 || !isTracked { return RunningCount(count: count, oldest: count == 0 ? 0 : UInt64(begun)) }
    // Other calls may begin and end while the oldest one hangs, so it is identified by its own
    // number rather than by the number of calls that have begun.
    let oldest = lane.mutex.withLock {
      unsafe (begunCalls + held).map { unsafe $0.number }.filter { $0 > 0 }.min()
    }
    return RunningCount(count: count, oldest: oldest ?? UInt64(begun))
  }

  package var isRetried: Bool { modifiers.retry != nil }

  package var delaysAndOldestCall: (delayed: Int, oldest: UInt64) {
    lane.mutex.withLock {
      let onWorkers = unsafe lane.workers.filter { $0.isBusy(with: self) }.map(\.call)
      var (delayed, oldest) = (0, UInt64.max)
      for call in unsafe onWorkers + away {
        if unsafe call.isDelayed {
          unsafe delayed += call.count
        } else if unsafe call.number > 0 {
          oldest = min(oldest, unsafe call.number)
        }
      }
      return (delayed, oldest < .max ? oldest : UInt64(calls.load(ordering: .relaxed)))
    }
  }

  private func has(_ worker: Worker) -> Bool { unsafe worker.owesEnd && worker.isBusy(with: self) }

  /// Maintained only if ``isTracked``. Without the calls that a lock holds.
  var begunCalls: [Call] { unsafe lane.workers.filter { has($0) }.map(\.call) + away }

  package var runningWorker: Worker? {
    lane.mutex.withLock {
      if !isTracked { return unsafe lane.isQuiet ? nil : lane.workers.first }
      return unsafe lane.workers.filter { has($0) }.min { unsafe $0.call.number < $1.call.number }
    }
  }

  @inline(__always) var openCount: Int {
    if unsafe isPaused || entering != 0 { return 0 }
    return unsafe inbox.count &- gathering
  }

  /// The order of a hashed collection would differ from run to run.
  var keysInOrder: [KeyQueue] {
    unsafe parkedKeys.isEmpty ? [] : parkedKeys.values.sortedUnspecialized { $0.firstNumber < $1.firstNumber }
  }

  // MARK: Keys

  func sweepKeys() {
    guard let keys, !isSweepWanted.exchange(true, ordering: .relaxed), let core = anchor.core else { return }
    core.enqueue(
      .change(
        {
          self.isSweepWanted.store(false, ordering: .relaxed)
          keys.sweep()
        }, by: Thread.current))
  }

  // MARK: The end, barriers and locks

  override func finish() -> Bool { enqueueEnd() }
  override func sendBarrier(_ completion: Completion) { enqueueBarrier(completion) }
  override func resume() { resumeWaiting() }
  override func abandon() { skipWaiting() }
  override func awaitEmptying() { lane.mutex.withLock { clearEmptyingFlag() } }

  override func endDelays() {
    lane.mutex.withLock { unsafe endsDelays = true }
    record.delays?.end()
  }

  /// Releases the closure, so never called under a mutex.
  func close() {
    record.set(HandlerFlags.removed)
    over.publish(true)
    unsafe (body, direct, keeper) = (nil, nil, nil)
    lane.remove(self)
  }

  func closeLate() {
    close()
    anchor.core?.requestUnregistration(record)
  }
}

enum DirectBody {
  case now(ErasedHandler)
  case async(ErasedAsyncHandler)

  init?(_ body: HandlerBody) {
    switch body {
    case .direct(let body): self = .now(body)
    case .directAsync(let body): self = .async(body)
    default: return nil
    }
  }
}
