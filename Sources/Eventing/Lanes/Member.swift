import Dispatch
import Synchronization

/// One handler on a lane: its closure, its modifiers, and what waits for it.
///
/// Also a node of the graph of waits: sends wait there for calls that have not begun.
// Safe: each field says what guards it. `lane.mutex` guards the fields from `inbox` on.
@safe @usableFromInline final class Member: DeliveryTarget, @unchecked Sendable {
  let lane: Lane
  let modifiers: HandlerModifiers
  let buffering: Buffering
  let type: PayloadType
  let layout: PayloadLayout
  /// The keys of the payloads that wait or run, if calls are in order by key.
  let keys: LaneKeys?
  /// The delays between attempts; `nil` for a handler that is not tried again.
  let delays: HandlerDelays?
  let retryQueue: (any DelayQueueing)?
  let limitQueue: (any DelayQueueing)?
  let batchQueue: (any DelayQueueing)?
  /// Whether a push appends to `inbox` and does no more: nothing is dropped, replaced or gathers
  /// for a batch, and the lane has no task for each call.
  private let isPlain: Bool
  /// Whether the lane notes the end of each call: calls overlap, have keys, or restart.
  let isTracked: Bool
  /// Whether a call may begin at once, in a delivery on the main queue. False for batches: a batch
  /// begins in a later block, with all payloads that wait by then.
  private let mayRunHere: Bool
  /// Whether a call lets the next one begin when it has opened the ``Entrance``.
  private let isPipeline: Bool
  /// The closure; `nil` when the handler is over. Read by workers only.
  @exclusivity(unchecked) private(set) var body: LaneHandler?
  /// The closure of an asynchronous handler, if each call is one attempt that needs the payload
  /// only.
  @exclusivity(unchecked) private(set) var direct: ErasedAsyncHandler?
  private let line = CacheLine()

  /// The items that wait.
  @exclusivity(unchecked) var inbox: PayloadQueue<Item>
  /// Whether a lock holds what waits.
  @exclusivity(unchecked) var isPaused = false
  /// Whether the handler ends after what it has.
  @exclusivity(unchecked) var isEnding = false
  /// Whether the end has been reached, and only calls that run and barriers are left.
  @exclusivity(unchecked) private(set) var isEnded = false
  /// Whether nothing is left, and no worker comes any more.
  @exclusivity(unchecked) var isClosed = false
  /// Whether delays end, because the handler was removed or the event has ended.
  @exclusivity(unchecked) var endsDelays = false
  /// The number of payloads that wait.
  @exclusivity(unchecked) var waiting = 0
  /// The number of items in `inbox` that are no calls.
  @exclusivity(unchecked) var followers = 0
  /// The number of payloads at the end of `inbox` that wait for a batch to fill.
  @exclusivity(unchecked) var gathering = 0
  @exclusivity(unchecked) var gatherTimer: LaneTimer?
  /// The number of places in the order of a shared lane whose occurrences have gone.
  @exclusivity(unchecked) var debt = 0
  /// The number of calls that have begun and have not ended, plus the number of payloads in the
  /// queues of keys. 0 if ``isTracked`` is false.
  @exclusivity(unchecked) var running = 0
  /// The number of the call that began last.
  @exclusivity(unchecked) var lastNumber: UInt64 = 0
  /// The number of the call that keeps the entrance of a pipeline closed; 0 for none.
  @exclusivity(unchecked) var entering: UInt64 = 0
  /// The keys with payloads that wait for their key, or for a batch.
  @exclusivity(unchecked) var parkedKeys: [ObjectIdentifier: KeyQueue] = [:]
  /// The calls that a lock holds, by ascending numbers.
  @exclusivity(unchecked) var held: [Call] = []
  /// The calls without a worker that no lock holds: between attempts, or about to go on.
  @exclusivity(unchecked) var away: [Call] = []
  /// The probes that wait until nothing but what gathers for a batch has not begun, each with the
  /// worker at which it waits.
  @exclusivity(unchecked) var probes: [(completion: Completion, node: WaitNode)] = []
  /// The call of a handler that restarts.
  @exclusivity(unchecked) private var current: Call?
  /// Whether the core has been asked to forget unused keys.
  private let isSweepWanted = Atomic<Bool>(false)

  init(
    _ record: DetailedRecord, _ anchor: EventAnchor, _ body: HandlerBody, _ type: PayloadType,
    _ modifiers: HandlerModifiers
  ) {
    var modifiers = modifiers
    if case .restarting = record.place { modifiers.isRestarting = true }
    self.modifiers = modifiers
    let lane = record.place.makeLane(isSynchronous: body.isSynchronous)
    self.lane = lane
    // A handler that restarts keeps the latest occurrence only, whatever bound `on:` gives.
    buffering = modifiers.isRestarting ? .latest : record.place.buffering
    self.type = type
    layout = PayloadLayout(type)
    delays = record.delays
    retryQueue = modifiers.retry.map { DelayQueues.of($0.clock, for: anchor) }
    limitQueue = modifiers.timeLimit.map { DelayQueues.of($0.clock, for: anchor) }
    batchQueue = modifiers.batch.flatMap { $0.within == nil ? nil : DelayQueues.of($0.clock, for: anchor) }
    // One key for all payloads: a handler that restarts has one call at a time on any lane.
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
    mayRunHere = if case .mainBlocks = lane.executor { modifiers.batch == nil } else { false }
    isPipeline = record.options.isForward && !lane.isInOrder
    unsafe self.body = LaneHandler(body, type)
    if case .directAsync(let body) = body, record.options.owner == nil, !isPipeline, modifiers.retry == nil,
      modifiers.timeLimit == nil, !modifiers.isRestarting
    {
      unsafe direct = body
    }
    unsafe inbox = PayloadQueue(type)
    super.init(record, anchor)
    lane.insert(self)
  }

  override var keepsOnlyTheNewest: Bool { buffering == .latest }

  override func needs(_ goal: Invocation) -> WaitNeeds { lane.needs }

  // MARK: Looks

  override var waitingCount: Int { lane.mutex.withLock { unsafe waiting } }

  override var unbegunCount: Int {
    lane.mutex.withLock {
      unsafe parkedKeys.values.reduce(waiting - gathering) {
        unsafe $1.isOpen || batchQueue == nil ? $0 : $0 - $1.waitingCount
      }
    }
  }

  override var runningCalls: RunningCount? {
    let ended = endedCalls  // before `begun`: a call that begins in between counts as running
    let begun = calls.load(ordering: .acquiring)
    let count = max(0, begun - ended)
    if count == 0 || !isTracked { return RunningCount(count: count, oldest: count == 0 ? 0 : UInt64(begun)) }
    // Other calls may begin and end while the oldest call hangs. So the oldest call is identified
    // by its own number, and not by the number of calls that have begun.
    let oldest = lane.mutex.withLock { () -> UInt64? in
      var numbers = unsafe away.map { unsafe $0.number } + held.map { unsafe $0.number }
      for worker in unsafe lane.workers where has(worker) { unsafe numbers.append(worker.call.number) }
      return numbers.filter { $0 > 0 }.min()
    }
    return RunningCount(count: count, oldest: oldest ?? UInt64(begun))
  }

  /// The number of payloads whose calls are between two attempts, and the number of the oldest call
  /// that is not.
  var delaysAndOldestCall: (delayed: Int, oldest: UInt64) {
    lane.mutex.withLock {
      let own = unsafe Unmanaged.passUnretained(self).toOpaque()
      let onWorkers = unsafe lane.workers.map(\.call).filter { unsafe $0.member?.toOpaque() == own }
      var (delayed, oldest) = (0, UInt64.max)
      for call in unsafe onWorkers + away {
        if unsafe call.rare.isDelayed {
          unsafe delayed += call.count
        } else if unsafe call.number > 0 {
          oldest = min(oldest, unsafe call.number)
        }
      }
      return (delayed, oldest < .max ? oldest : UInt64(calls.load(ordering: .relaxed)))
    }
  }

  /// Whether a worker makes a call of this handler. The caller holds the mutex.
  func has(_ worker: Worker) -> Bool {
    unsafe worker.owesEnd && worker.call.member?.toOpaque() == Unmanaged.passUnretained(self).toOpaque()
  }

  /// The worker of the oldest running call; `nil` if none runs.
  var runningWorker: Worker? {
    lane.mutex.withLock {
      if !isTracked { return unsafe lane.isQuiet ? nil : lane.workers.first }
      return unsafe lane.workers.filter { has($0) }.min { unsafe $0.call.number < $1.call.number }
    }
  }

  /// The number of items that may be taken now. The caller holds the mutex.
  @inline(__always) var openCount: Int {
    if unsafe isPaused || entering != 0 { return 0 }
    return unsafe inbox.count &- gathering
  }

  /// The keys of ``parkedKeys``, in the order of their first payloads: the order of a hashed
  /// collection would differ from run to run.
  var keysInOrder: [KeyQueue] {
    unsafe parkedKeys.isEmpty ? [] : parkedKeys.values.sorted { $0.firstNumber < $1.firstNumber }
  }

  // MARK: Pushing. Isolation: core

  /// Enqueues an occurrence.
  @usableFromInline func take(_ payload: BorrowedPayload, _ tally: inout DeliveryTally) {
    if push(payload, tally.completionForLane()) { tally.taken &+= 1 }
  }

  /// Enqueues a post on the event's fast path, which has no waiters and no observers.
  func takePost(_ payload: BorrowedPayload) {
    if isPlain, !CarriedContext.isCarrying { return pushPlain(payload) }
    _ = push(payload, CarriedContext.isCarrying ? Completion(.post) : nil)
  }

  @inline(__always) private func pushPlain(_ payload: BorrowedPayload) {
    let key = unsafe keys?.key(of: payload, on: self)
    lane.mutex.lock()
    unsafe waiting &+= 1
    unsafe inbox.append(Item(nil, key), payload)
    var worker: Worker?
    if unsafe !isPaused {
      lane.addToOrder(self)
      if unsafe entering == 0 { worker = lane.wakeWorker() }
    }
    lane.mutex.unlock()
    if let worker { begin(worker) }
  }

  /// Enqueues an occurrence. Returns false if it was dropped.
  private func push(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    if completion == nil, addToBatch(payload) { return true }
    let key = unsafe keys?.key(of: payload, on: self)
    if lane.isTaskForEachCall, unsafe key == nil, beginTask(payload, completion) { return true }
    let node: WaitNode = unsafe key?.takeUnretainedValue() ?? self
    if let completion, completion.isAwaited { completion.expect(node) }
    var effects = Effects()
    lane.mutex.lock()
    switch buffering.decision(waiting: unsafe waiting, completion) {
    case .keep: break
    case .dropIt: effects.isDropped = true
    case .dropOldest: dropOldest(&effects)
    }
    if effects.isDropped {
      unsafe key?._withUnsafeGuaranteedRef { $0.noteEnd() }
    } else {
      unsafe append(payload, completion, key, &effects)
    }
    lane.mutex.unlock()
    return finish(effects, completion, at: node)
  }

  /// Adds a payload to the batch that gathers, if nothing else has to be done. Returns whether it
  /// was added.
  private func addToBatch(_ payload: BorrowedPayload) -> Bool {
    guard batchQueue != nil, keys == nil, !buffering.isBounded, let batch = modifiers.batch else { return false }
    lane.mutex.lock()
    defer { lane.mutex.unlock() }
    guard unsafe gathering > 0, unsafe gathering &+ 1 < batch.count else { return false }
    unsafe inbox.append(Item(nil), payload)
    unsafe gathering &+= 1
    unsafe waiting &+= 1
    return true
  }

  /// Gives the task of a call the payload at once. Returns false if the occurrence has to wait: a
  /// lock holds it.
  private func beginTask(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    lane.mutex.lock()
    guard unsafe !isPaused, !buffering.isBounded else {
      lane.mutex.unlock()
      return false
    }
    let worker = lane.occupyWorker()
    unsafe running &+= 1
    unsafe lastNumber &+= 1
    let call = worker.call
    call.reserve(for: self)
    unsafe call.begin(Item(completion))
    unsafe (call.number, call.hasMoved) = unsafe (lastNumber, true)
    unsafe (worker.owesEnd, worker.hasCall) = (true, true)
    lane.mutex.unlock()
    unsafe layout.copy(payload, to: call.place)
    if let completion, completion.isAwaited { completion.expect(call) }
    lane.start(worker)
    return true
  }

  /// Starts a worker; at once, in this block, if the event delivers on the main queue, and the
  /// handler runs there.
  private func begin(_ worker: Worker) {
    // If `anchor.core` is `nil`, this thread releases the last reference to the event. Such a
    // thread runs no handlers.
    if mayRunHere, Scheduling.isOnMainQueue, anchor.core != nil {
      lane.register(worker)
      lane.drain(worker)
    } else {
      lane.start(worker)
    }
  }

  /// The work that remains after the unlock.
  private struct Effects: ~Copyable {
    var isDropped = false
    var isHeld = false
    /// An occurrence that was dropped to make room, with the node at which it waited.
    var dropped: (completion: Completion?, node: WaitNode)?
    var droppedPayload: OwnedPayload?
    var droppedCall: Call?
    var start: Worker?
    var gathering: Gathering?
    var timers: [LaneTimer] = []
    /// The delay and the attempt of the call that the new occurrence replaces.
    var replaced: (delay: LaneTimer?, attempt: CancellableAttempt?)?
    var wakes = false
  }

  /// The caller holds the mutex.
  private func append(
    _ payload: BorrowedPayload, _ completion: Completion?, _ key: Unmanaged<KeyQueue>?, _ effects: inout Effects
  ) {
    // Nothing waits for what a lock holds.
    effects.isHeld = unsafe isPaused && completion?.isToBeTold == true
    let item = unsafe Item(effects.isHeld ? completion?.withoutWaiting : completion, key)
    unsafe waiting &+= 1
    if let batch = modifiers.batch {
      effects.gathering = unsafe gather(item, payload, batch, key?.takeUnretainedValue(), &effects.timers)
    } else {
      unsafe inbox.append(item, payload)
      if unsafe !isPaused { lane.addToOrder(self) }
    }
    if modifiers.isRestarting, let current = unsafe current {
      unsafe current.isReplaced = true
      effects.replaced = unsafe (current.rare.timer, current.rare.attempt)
    }
    if unsafe isPaused || entering != 0 { return }
    if lane.isTaskForEachCall { effects.wakes = true } else if openCount > 0 { effects.start = lane.wakeWorker() }
  }

  /// Drops the occurrence that has waited longest. O(1), with keys O(keys that wait). The caller
  /// holds the mutex.
  private func dropOldest(_ effects: inout Effects) {
    unsafe waiting -= 1
    let oldestKey = keysInOrder.first
    if let index = unsafe held.firstIndex(where: { unsafe $0.attempts == 0 }),
      unsafe held[index].number < oldestKey?.firstNumber ?? .max
    {
      return dropHeld(index, &effects)
    }
    let memory = unsafe layout.allocate(1)
    let item: Item
    if let key = oldestKey, let popped = unsafe key.popCall(to: memory) {
      item = popped
      unsafe running -= 1
      if !key.hasCalls {
        unsafe parkedKeys[ObjectIdentifier(key)] = nil
        unsafe key.isOpen = false
      }
    } else {
      let leavesHole = unsafe !inbox.first.isCall
      let isOpen = unsafe inbox.count - followers > gathering
      item = unsafe inbox.popCall(to: memory)
      if leavesHole { unsafe followers += 1 }
      if !isOpen {
        unsafe gathering -= 1
        // The hole gets a place in the order, as the payloads that gather have none.
        if leavesHole, unsafe !isPaused { lane.addToOrder(self) }
      } else if lane.isShared, unsafe !isPaused, !leavesHole {
        unsafe debt += 1
      }
    }
    effects.droppedPayload = unsafe OwnedPayload(adopting: memory, layout)
    unsafe item.key?._withUnsafeGuaranteedRef { $0.noteEnd() }
    effects.dropped = unsafe (item.completion, item.key?.takeUnretainedValue() ?? self)
  }

  private func dropHeld(_ index: Int, _ effects: inout Effects) {
    let call = unsafe held[index]
    unsafe call.key?._withUnsafeGuaranteedRef { $0.noteEnd() }
    if unsafe call.isRare, unsafe call.rare.isBatch, unsafe call.count > 1 {
      effects.droppedPayload = call.dropFirstOfBatch(&effects.dropped)
      return
    }
    effects.dropped = (call.completions.first, call.node)
    effects.droppedCall = unsafe held.remove(at: index)
    if isTracked { unsafe running -= 1 }
    if unsafe entering == call.number { unsafe entering = 0 }
    unsafe call.number = 0
    unsafe call.key?._withUnsafeGuaranteedRef { unsafe $0.isActive = false }
  }

  private func finish(_ effects: consuming Effects, _ completion: Completion?, at node: WaitNode) -> Bool {
    effects.droppedCall?.clear()
    for timer in effects.timers { timer.cancel() }  // before the next line, which may start a batch
    if let start = effects.start { begin(start) }
    if effects.wakes { lane.wake() }
    if let gathering = effects.gathering { startTimer(gathering.key) }
    if effects.isHeld, let completion { reportHeld(completion, at: node) }
    if let replaced = effects.replaced {
      // Cancellation handlers are the user's code, and must not delay the thread that delivers.
      if let attempt = replaced.attempt { Scheduling.concurrentBlock { attempt.cancel() } }
      replaced.delay?.fireNow()
    }
    if let dropped = effects.dropped { conclude(.dropped, dropped.completion, at: dropped.node) }
    guard effects.isDropped else { return true }
    conclude(.dropped, completion, at: node)
    return false
  }

  // MARK: The next call. The caller holds the mutex

  /// Gives a worker the next call of this handler, or does what an item says that is no call.
  func assign(_ worker: Worker, _ after: inout Lane.After) -> Lane.Found {
    defer {
      if unsafe !probes.isEmpty, openCount <= 0 {
        after.add { unsafe $0.reached += probes.map { ($0.completion, $0.node, self) } }
        unsafe probes = []
      }
    }
    worker.withCall { $0.reserve(for: self) }
    if unsafe inbox.isEmpty || isPaused { return .nothing }
    if let batch = modifiers.batch, unsafe inbox.first.isCall { return assignBatch(batch, worker, &after) }
    guard unsafe inbox.first.isCall else { return reach(unsafe inbox.takeFirst(), worker, &after) }
    let item = worker.withCall { unsafe inbox.takeFirst(to: $0.place) }
    unsafe inbox.recycle()
    if let key = unsafe item.key {
      let isParked = unsafe key._withUnsafeGuaranteedRef { key in worker.withCall { unsafe park(item, $0.place, key) } }
      if isParked { return .nothing }
    }
    unsafe waiting &-= 1
    worker.withCall { $0.begin(item) }
    return begun(worker, item.completion != nil, &after)
  }

  /// If a call of the key runs, or is between two attempts, keeps an occurrence in the queue of the
  /// key, and returns true. Otherwise makes the key active.
  private func park(_ item: Item, _ payload: UnsafeMutableRawPointer, _ key: KeyQueue) -> Bool {
    guard unsafe key.isActive, !mutant(.keysOverlap) else {
      unsafe key.isActive = true
      return false
    }
    unsafe running &+= 1
    unsafe lastNumber &+= 1
    unsafe key.park(item, lastNumber, moving: payload)
    unsafe parkedKeys[ObjectIdentifier(key)] = key
    return true
  }

  /// Notes that a worker has taken a call.
  @inline(__always) func begun(_ worker: Worker, _ hasCompletion: Bool, _ after: inout Lane.After) -> Lane.Found {
    guard isTracked else { return .call }
    unsafe running &+= 1
    unsafe lastNumber &+= 1
    unsafe worker.owesEnd = true
    worker.withCall { call in
      unsafe call.number = unsafe lastNumber
      unsafe call.key?._withUnsafeGuaranteedRef { $0.worker.set(worker) }
    }
    after.moves = hasCompletion
    if modifiers.isRestarting { unsafe current = worker.call }
    if isPipeline { unsafe entering = unsafe lastNumber }
    return .call
  }

  /// Gives a worker the next call of a key that it has just released.
  func assignParked(_ key: KeyQueue, _ worker: Worker, _ after: inout Lane.After) -> Bool {
    if let batch = modifiers.batch {
      // Payloads that gather wait for their time, or for more of them.
      if unsafe key.isOpen || isEnding, assignBatch(batch, of: key, worker, &after) == .call { return true }
      unsafe key.isActive = false
      settle(&after)
      return false
    }
    key.popFollowers(&after)
    worker.withCall { $0.reserve(for: self) }
    guard unsafe !isPaused, let item = worker.withCall({ unsafe key.popCall(to: $0.place) }) else {
      unsafe key.isActive = false  // the end of the lock lets the first call of the key begin
      settle(&after)
      return false
    }
    unsafe waiting &-= 1
    unsafe running &-= 1
    if !key.hasCalls { unsafe parkedKeys[ObjectIdentifier(key)] = nil }
    worker.withCall { $0.begin(item) }
    return begun(worker, item.completion != nil, &after) == .call
  }

  /// Does what an item says that is no call, and that has been taken out of `inbox`.
  private func reach(_ item: Item, _ worker: Worker, _ after: inout Lane.After) -> Lane.Found {
    unsafe followers -= 1
    unsafe inbox.recycle()
    switch item.kind {
    case .barrier:
      guard let completion = item.completion else { break }
      after.add {
        if isTracked { $0.reached.append((completion, self, self)) } else { $0.barriers.append((completion, self)) }
      }
    case .end: unsafe isEnded = true
    case .key:
      if let key = unsafe item.key, let batch = modifiers.batch {
        return unsafe key._withUnsafeGuaranteedRef { key in
          unsafe key.isQueued = false
          return assignBatch(batch, of: key, worker, &after)
        }
      }
    case .call, .hole: break
    }
    settle(&after)
    return .follower
  }

  /// Does what follows when nothing is left.
  private func settle(_ after: inout Lane.After) {
    guard unsafe running == 0, unsafe inbox.isEmpty else { return }
    if unsafe isEnded, unsafe !isClosed {
      unsafe isClosed = true
      after.add { $0.over = self }
    }
    if let keys, keys.count > LaneKeys.leastLimit { after.add { $0.idle = self } }
  }

  /// Notes that a worker has got a call that had no worker.
  func noteAdopted(_ call: Call) {
    unsafe away.removeAll { $0 === call }
    if modifiers.isRestarting { unsafe current = call }
  }

  /// Notes that a call has ended.
  func noteEnd(of call: Call, on worker: Worker, _ after: inout Lane.After) {
    if isPipeline, unsafe entering == call.number { unsafe entering = 0 }
    unsafe call.number = 0
    unsafe running &-= 1
    if let key = unsafe call.key {
      unsafe call.key = nil
      unsafe key._withUnsafeGuaranteedRef { unsafe release($0, worker, call.count, &after) }
    }
    if modifiers.isRestarting, unsafe current === call { unsafe (current, call.isReplaced) = (nil, false) }
    settle(&after)
  }

  /// Lets the next call of a key begin, on the same worker.
  private func release(_ key: KeyQueue, _ worker: Worker, _ count: Int, _ after: inout Lane.After) {
    key.noteEnd(count)
    key.worker.clear()
    key.popFollowers(&after)
    if unsafe key.parked.isEmpty {
      unsafe (key.isActive, key.isOpen) = (false, false)
    } else {
      unsafe worker.released = .passUnretained(key)
    }
  }

  // MARK: Pipelines

  /// Lets the next call begin, if a call still keeps the entrance closed.
  ///
  /// - Parameter number: The number of that call.
  func openEntrance(of number: UInt64) {
    let worker = lane.mutex.withLock { () -> Worker? in
      guard unsafe entering == number else { return nil }
      unsafe entering = 0
      return openCount > 0 ? lane.wakeWorker() : nil
    }
    if let worker { lane.start(worker) }
  }

  /// The entrance that the call of a worker keeps closed; `nil` if the handler is no pipeline.
  func entrance(of worker: Worker) -> Entrance? {
    isPipeline ? Entrance(self, of: unsafe worker.call.number) : nil
  }

  // MARK: Keys

  /// Asks the core to forget unused keys, after a burst with many keys.
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

  @usableFromInline override func finish() -> Bool { enqueueEnd() }
  @usableFromInline override func sendBarrier(_ completion: Completion) { enqueueBarrier(completion) }
  override func resume() { resumeWaiting() }
  override func abandon() { skipWaiting() }

  override func endDelays() {
    lane.mutex.withLock { unsafe endsDelays = true }
    delays?.end()
  }

  /// Ends the handler: no call begins any more. Releases the closure, so never called under a
  /// mutex.
  func close() {
    record.set(HandlerFlags.removed)
    over.publish(true)
    unsafe (body, direct) = (nil, nil)
    lane.remove(self)
  }

  /// Ends the handler when its last call has ended, and asks the event to unregister it.
  func closeLate() {
    close()
    anchor.core?.requestUnregistration(record)
  }
}
