import Synchronization

/// A lane shared by handlers of several events. Calls begin in the order in which the events
/// delivered the occurrences, and overlap only if ``limit`` is above 1.
///
///     let database = HandlerLane("database")
///     placed.addHandler(on: .lane(database)) { order in try await database.save(order) }
///     paid.addHandler(on: .lane(database)) { payment in try await database.save(payment) }
///
/// In all other respects, each handler behaves as on a lane of its own: locks, owners, bounds and
/// reports work the same, and no call begins after the handler's removal has returned. A lock that
/// holds occurrences pauses only the locked handler.
///
/// Inside a call on the lane, ``Event/send(_:from:)`` doesn't wait for handlers on the lane that
/// can't run until the call has returned: see ``SendReport/deferred``.
///
/// A lane lives as long as something, such as a handler on it, retains it.
// Safe: each field says what guards it. Unmanaged references refer to handlers and workers that the
// lane keeps until they end.
@safe public final class HandlerLane: @unchecked Sendable {
  // Connects handlers to the place where they run, and has the workers that make their calls. A
  // lane belongs to one handler or is shared by several. Items wait in the handlers' own queues
  // (``LaneQueue``). A shared lane records only the order in which the handlers take turns: one
  // ``Stretch`` for each run of successive items of one handler. A lane with a single handler needs
  // no order.
  //
  // No user code runs under `mutex`: no closures, no `hash(into:)` or `==`, no `deinit`s. Nor are
  // tasks resumed or started under it. A critical section changes the state and returns what
  // remains to be done.

  /// The name in snapshots and logs; `nil` if the lane has none.
  public let name: String?
  /// The maximum number of overlapping calls.
  public let limit: Int

  let executor: LaneExecutor
  let taskExecutor: (any TaskExecutor)?
  let isShared: Bool
  let isTaskForEachCall: Bool
  /// If true, a retried call comes before all later calls; if false, only before those of its key.
  let keepsWorkerInDelay: Bool
  let isMain: Bool
  // Workers read the fields above for each call, whereas senders write the fields below.
  private let line = CacheLine()
  let mutex = UnfairMutex()

  // The fields up to `nodes` are guarded by `mutex`.
  @exclusivity(unchecked) private var queues: [ObjectIdentifier: LaneQueue] = [:]
  @exclusivity(unchecked) private var onlyQueue: LaneQueue?
  @exclusivity(unchecked) private var only: Unmanaged<LaneQueue>?
  @exclusivity(unchecked) private var order = Deque<Stretch>()
  /// Calls that precede the order because their delay, or the lock that held them, has ended.
  @exclusivity(unchecked) private var urgent = Deque<Call>()
  /// With a limit or keys, all idle workers are kept, because the wait graph or the keys refer to
  /// them.
  @exclusivity(unchecked) private var mostIdle = Int.max
  @exclusivity(unchecked) private var idle: [Worker] = []
  @exclusivity(unchecked) private(set) var workers: [Worker] = []
  /// Only a hint if read without the mutex.
  private var busy: Int {
    get { busyCount.load(ordering: .relaxed) }
    set { busyCount.store(newValue, ordering: .relaxed) }
  }
  private let busyCount = Atomic<Int>(0)
  /// Busy workers, including spinning ones, that are about to look for a call.
  @exclusivity(unchecked) private var coming = 0
  // Guarded by: WaitGraph.mutex.
  @exclusivity(unchecked) private var nodes: [Worker] = []

  @safe struct Stretch {
    let queue: Unmanaged<LaneQueue>
    var count: Int
  }

  /// Creates a lane.
  ///
  /// - Parameters:
  ///   - name: The name in snapshots and logs.
  ///   - limit: The maximum number of overlapping calls, which still begin in order. With a limit
  ///     above 1, calls of the same handler may overlap. A limit below 1 counts as 1.
  public convenience init(_ name: String? = nil, limit: Int = 1) {
    self.init(.tasks(nil), limit: max(1, limit), named: name, isShared: true)
  }

  @inline(never) init(
    _ executor: LaneExecutor, limit: Int = 1, freesWorkerInDelay: Bool = false, named name: String? = nil,
    isShared: Bool = false
  ) {
    (self.executor, self.limit, self.name, self.isShared) = (executor, limit, name, isShared)
    taskExecutor = Scheduling.executor
    isTaskForEachCall = if case .taskForEachCall = executor { true } else { false }
    isMain = executor.isMain
    keepsWorkerInDelay = !freesWorkerInDelay
  }

  var isInOrder: Bool { limit == 1 }

  @inline(__always) var isQuiet: Bool { busy == 0 }

  /// The caller holds `WaitGraph.mutex`.
  var needs: WaitNeeds { unsafe nodes.count >= limit ? .all(nodes) : .free }

  func insert(_ queue: LaneQueue) {
    mutex.withLock {
      guard isShared else {
        unsafe onlyQueue = queue
        if limit == .max, queue.keys == nil { unsafe mostIdle = queue.layout.keptCount(atMost: 256) }
        unsafe only = .passUnretained(queue)
        return
      }
      unsafe queues[ObjectIdentifier(queue)] = queue
    }
  }

  func remove(_ queue: LaneQueue) {
    let removed = mutex.withLock { () -> LaneQueue? in
      guard isShared else {
        unsafe only = nil
        return unsafe onlyQueue.take()
      }
      if queue.modifiers.batch != nil { removeFromOrder(queue) }  // an earlier batch may have left places there
      return unsafe queues.removeValue(forKey: ObjectIdentifier(queue))
    }
    withExtendedLifetime(removed) {}  // released after unlocking
  }

  // MARK: What comes next. The caller holds `mutex`

  @inline(__always) func addToOrder(_ queue: LaneQueue, _ count: Int = 1) {
    if isShared { addToSharedOrder(queue, count) }
  }

  private func addToSharedOrder(_ queue: LaneQueue, _ count: Int) {
    let reference = unsafe Unmanaged.passUnretained(queue)
    var isAdded = false
    unsafe order.updateLast {
      guard unsafe $0.queue.toOpaque() == reference.toOpaque() else { return }
      $0.count &+= count
      isAdded = true
    }
    if !isAdded { unsafe order.append(Stretch(queue: reference, count: count)) }
  }

  func removeFromOrder(_ queue: LaneQueue) {
    guard isShared else { return }
    unsafe queue.debt = 0
    let queue = unsafe Unmanaged.passUnretained(queue).toOpaque()
    unsafe order.removeAll { unsafe $0.queue.toOpaque() == queue }
  }

  func putFirst(_ held: [Call], _ queue: LaneQueue, _ count: Int) {
    unsafe urgent.prepend(held)
    if isShared, count > 0 { unsafe order.prepend([Stretch(queue: .passUnretained(queue), count: count)]) }
  }

  func addUrgent(_ call: Call) { unsafe urgent.append(call) }

  func removeUrgent(where isRemoved: (Call) -> Bool) { unsafe urgent.removeAll(where: isRemoved) }

  @inline(__always) private func nextStretch(_ most: Int) -> Stretch? {
    guard !isShared else { return nextSharedStretch(most) }
    guard let only = unsafe only else { return nil }
    let count = unsafe only._withUnsafeGuaranteedRef { $0.openCount }
    return unsafe count > 0 ? Stretch(queue: only, count: count) : nil
  }

  private func nextSharedStretch(_ most: Int) -> Stretch? {
    while unsafe !order.isEmpty {
      var next: Stretch?
      var isUsedUp = false
      unsafe order.updateFirst { first in
        unsafe first.queue._withUnsafeGuaranteedRef { queue in
          // Places of occurrences that were dropped or taken by an earlier batch.
          let void = unsafe min(queue.debt, first.count)
          unsafe queue.debt -= void
          first.count -= void
        }
        if first.count > 0 {
          let count = unsafe first.queue._withUnsafeGuaranteedRef { $0.dequeueCount(of: first.count, most) }
          first.count -= count
          unsafe next = Stretch(queue: first.queue, count: count)
        }
        isUsedUp = first.count == 0
      }
      if isUsedUp { _ = unsafe order.popFirst() }
      if let next { return next }
    }
    return nil
  }

  private var openCount: Int {
    if isShared { return unsafe order.count + urgent.count }
    return unsafe (only?._withUnsafeGuaranteedRef { $0.openCount } ?? 0) + urgent.count
  }

  // MARK: Workers. The functions up to `free(_:)` are called under `mutex`, the others under none

  /// One worker that is about to look for a call is enough for every 16 items in ``openCount``.
  @inline(__always) func wakeWorker() -> Worker? {
    let overlaps = !isInOrder || mutant(isShared ? .sharedLaneOverlaps : .laneRunsTwice)
    guard busy < limit || isInOrder && overlaps, unsafe coming == 0 || overlaps && openCount > 16 * coming
    else { return nil }
    let worker = occupyWorker()
    beginComing(worker)
    return worker
  }

  func occupyWorker() -> Worker {
    busy += 1
    if let worker = unsafe idle.popLast() { return worker }
    let worker = Worker(of: isShared ? 0 : unsafe onlyQueue?.record.id ?? 0)
    #if DEBUG
      worker.target = unsafe onlyQueue ?? queues.values.first
    #endif
    unsafe worker.index = workers.count
    unsafe workers.append(worker)
    return worker
  }

  private func beginComing(_ worker: Worker) {
    unsafe worker.isComing = true
    unsafe coming += 1
  }

  private func endComing(_ worker: Worker) {
    guard unsafe worker.isComing else { return }
    unsafe worker.isComing = false
    unsafe coming -= 1
  }

  /// Returns whether the lane keeps the worker. If not, the caller calls ``forget(_:)`` after
  /// unlocking.
  private func free(_ worker: Worker) -> Bool {
    if !mutant(.laneIsNotWoken) { busy -= 1 }
    if unsafe idle.count < mostIdle {
      unsafe idle.append(worker)
      return true
    }
    let last = unsafe workers.removeLast()
    guard last !== worker else { return false }
    unsafe last.index = unsafe worker.index
    unsafe workers[worker.index] = last
    return false
  }

  /// The wait graph must not find a worker that the lane has dropped.
  private func forget(_ worker: Worker) { WaitGraph.mutex.withLock { worker.call.worker.clear() } }

  private struct Work: TaskWork {
    let lane: HandlerLane
    let worker: Worker

    @inline(__always) func run() async { await lane.drain(worker, on: nil) }
  }

  func start(_ worker: Worker) {
    register(worker)
    switch executor {
    case .queue(let queue): Scheduling.block(on: queue) { self.drain(worker) }
    case .mainBlocks:
      Scheduling.mainBlock {
        Scheduling.checkMain()
        self.drain(worker)
      }
    case .mainTasks:
      Scheduling.task(priority: nil, on: taskExecutor) { await self.drain(worker, on: MainActor.shared) }
    case .tasks(let priority):
      Scheduling.task(priority: priority, on: taskExecutor, for: Work(lane: self, worker: worker))
    case .taskForEachCall(let priority):
      if let completion = unsafe worker.call.completion, completion.purpose == .send {
        let isAdopted = completion.adoptUnlessDeferred(worker.call.node, priority: priority) {
          await self.drainChild(worker)
        }
        if isAdopted { return }
      }
      Scheduling.task(priority: priority, on: taskExecutor, for: Work(lane: self, worker: worker))
    }
  }

  func register(_ worker: Worker) {
    guard unsafe worker.isNew else { return }
    unsafe worker.isNew = false
    if limit < .max { WaitGraph.mutex.withLock { unsafe nodes.append(worker) } }
  }

  func wake() {
    while let worker = mutex.withLock({ openCount > 0 ? isTaskForEachCall ? occupyWorker() : wakeWorker() : nil }) {
      guard isTaskForEachCall else { return start(worker) }
      var quota = DrainQuota(isMain: false, spins: false)
      _ = search(worker, &quota)  // starts a task for the call
    }
  }

  func beginHere(_ queue: LaneQueue) -> Bool {
    mutex.withLock {
      guard busy == 0, unsafe queue.inbox.isEmpty, unsafe !queue.isPaused, unsafe urgent.isEmpty else {
        return false
      }
      busy = 1
      return true
    }
  }

  func endHere(_ queue: LaneQueue, calls: Int) {
    let worker = mutex.withLock { () -> Worker? in
      unsafe queue.waiting &+= calls
      busy = 0
      return openCount > 0 ? wakeWorker() : nil
    }
    if let worker { start(worker) }
  }

  // MARK: The next call of a worker

  struct After {
    var start: Worker?
    var moves = false
    private var rare: Rare?

    /// A separate object, because its fields would otherwise cost each call 60 instructions.
    final class Rare {
      var timers: [Delay] = []
      var held: [(completion: Completion, node: WaitNode, queue: LaneQueue)] = []
      var passed: [(completion: Completion, node: WaitNode)] = []
      var reached: [(completion: Completion, node: WaitNode, queue: LaneQueue)] = []
      var over: [LaneQueue] = []
      var idle: [LaneQueue] = []
      var gathering: (queue: LaneQueue, key: KeyQueue?)?
    }

    @inline(never) mutating func add(_ change: (Rare) -> Void) {
      let rare = rare ?? Rare()
      self.rare = rare
      change(rare)
    }

    mutating func cancel(_ timer: Delay?) {
      if let timer { add { $0.timers.append(timer) } }
    }

    /// Returns what stays with an occurrence that a lock holds. After the mutex is unlocked,
    /// observers are notified, and sends count the occurrence as held.
    mutating func detach(_ completion: Completion?, at node: WaitNode, of queue: LaneQueue) -> Completion? {
      guard let completion, completion.isToBeTold else { return completion }
      add { $0.held.append((completion, node, queue)) }
      return completion.withoutWaiting
    }

    @inline(__always) func run(_ lane: HandlerLane, _ worker: Worker?) {
      if moves, let worker { worker.call.moveCompletions() }
      if let start { lane.start(start) }
      if rare != nil { runRare() }
    }

    @inline(never) private func runRare() {
      guard let rare else { return }
      for timer in rare.timers { timer.cancel() }
      for (completion, node, queue) in rare.held { queue.reportHeld(completion, at: node) }
      for (completion, node) in rare.passed { completion.arrive(node, nil) }
      for (completion, node, queue) in rare.reached { queue.pass(completion, at: node) }
      for queue in rare.over { queue.closeLate() }
      for queue in rare.idle { queue.sweepKeys() }
      if let (queue, key) = rare.gathering { queue.startTimer(key) }
    }
  }

  enum Found {
    case call
    case ready
    case follower
    case nothing
  }

  @inline(__always) func next(_ worker: Worker, _ quota: inout DrainQuota) -> Bool {
    if dequeueReady(worker, &quota) { return true }
    return search(worker, &quota)
  }

  @inline(__always) private func dequeueReady(_ worker: Worker, _ quota: inout DrainQuota) -> Bool {
    guard let queue = unsafe worker.ready else { return false }
    return unsafe queue._withUnsafeGuaranteedRef { queue in
      if unsafe !queue.ready.isEmpty, quota.isOver { return false }
      guard queue.dequeueReady(worker) else {
        unsafe worker.ready = nil
        return false
      }
      quota.left &-= 1
      return true
    }
  }

  @inline(never) func search(_ worker: Worker, _ quota: inout DrainQuota) -> Bool {
    // Before taking everything that waits again, the worker spins without touching memory that
    // senders write. Senders append calls during the spin, so each search finds more of them, and
    // senders seldom have to start a block or a task, which costs 150 to 300 ns on x86-64 Linux.
    var hasSpun = unsafe worker.dequeuedAll && quota.hasBegun
    if hasSpun, quota.spins, !quota.isOver { Thread.spin(Thread.spinLimit) }
    while true {
      var after = After()
      mutex.lock()
      endComing(worker)
      if unsafe worker.owesEnd { worker.end(&after) }
      if let queue = unsafe worker.ready.take() { unsafe queue._withUnsafeGuaranteedRef { putBackReady(of: $0) } }
      if unsafe openCount > 0 || worker.released != nil, quota.isOver {
        // The worker must not keep a released key until its next run, because the handler may end
        // first.
        if unsafe worker.released != nil, assign(worker, 1, &after) == .call { unsafe worker.hasCall = true }
        mutex.unlock()
        after.run(self, worker)
        start(worker)
        return false
      }
      let found = assign(worker, max(1, quota.left), &after)
      unsafe worker.dequeuedAll = found == .ready && (!isShared || order.isEmpty)
      if found == .nothing {
        // One worker at a time spins while waiting for a call, which costs less than starting
        // another task.
        if !hasSpun, quota.hasBegun, unsafe coming == 0, quota.spins, !isMain {
          beginComing(worker)
          mutex.unlock()
          after.run(self, nil)
          hasSpun = true
          Thread.spin(Thread.spinLimit)
          continue
        }
        let isKept = free(worker)
        mutex.unlock()
        if !isKept { forget(worker) }
        after.run(self, nil)
        return false
      }
      if !isInOrder, found == .call, busy < limit, openCount > 0 { after.start = wakeWorker() }
      mutex.unlock()
      after.run(self, worker)
      if found == .call {
        if isTaskForEachCall {
          unsafe worker.hasCall = true
          start(worker)
          return false
        }
        quota.left &-= 1
        return true
      }
      if found == .ready, dequeueReady(worker, &quota) { return true }
      hasSpun = false
    }
  }

  private func putBackReady(of queue: LaneQueue) {
    putFirst([], queue, queue.putBackReady())
  }

  /// The caller holds `mutex`.
  @inline(__always) private func assign(_ worker: Worker, _ most: Int, _ after: inout After) -> Found {
    if let key = unsafe worker.released {
      unsafe worker.released = nil
      if unsafe key._withUnsafeGuaranteedRef({ unsafe $0.queue.assignParked($0, worker, &after) }) { return .call }
    }
    if unsafe !urgent.isEmpty, let call = unsafe urgent.popFirst() {
      worker.adopt(call)
      return .call
    }
    while let stretch = nextStretch(most) {
      let found = unsafe stretch.queue._withUnsafeGuaranteedRef { $0.assign(stretch.count, worker, &after) }
      if found != .nothing { return found }
    }
    return .nothing
  }
}

extension HandlerLane {
  /// Waits until no call for an earlier occurrence is running or queued on the lane.
  ///
  /// Batches and paces on the lane stop waiting and deliver what they have. Occurrences held by a
  /// lock don't count. Inside a call on the lane, `quiesce()` waits neither for that call nor for
  /// work that waits for it. Cancelling the task doesn't shorten the wait.
  ///
  /// - Complexity: O(handlers and waiting calls).
  public nonisolated(nonsending) func quiesce() async { _ = await barrier().wait() }

  /// Waits like ``quiesce()``, but no longer than the given limit.
  ///
  /// Calls still running when the limit is reached continue. If the task is cancelled, this returns
  /// immediately.
  ///
  /// - Parameters:
  ///   - limit: The maximum time to wait. More than a hundred years means forever.
  ///   - clock: The clock that measures the limit.
  /// - Returns: Whether all calls have ended.
  /// - Complexity: O(handlers and waiting calls).
  public nonisolated(nonsending) func quiesce(
    within limit: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) async -> Bool {
    let completion = barrier()
    return await Sleeping.result(within: limit, on: clock) { await completion.waitUnlessCancelled() }
  }

  private func barrier() -> Completion {
    let completion = Completion(.ticket)
    for queue in allQueues {
      completion.expect(queue)
      let record = queue.record
      guard let core = queue.anchor.core else {
        queue.sendBarrier(completion)
        completion.arrive(queue, nil)
        continue
      }
      // Enqueued behind the occurrences posted before this call.
      core.enqueue(
        .change(
          {
            // If the handler has a pace, the barrier goes through it: the pace delivers its waiting
            // occurrence, unless a lock holds it, and passes the barrier on to the lane. A handler
            // without a slot hasn't joined the table yet or has left it, so no occurrence waits in
            // its pace, and the barrier goes directly to the lane.
            let target: DeliveryTarget = unsafe record.index >= 0 ? record.route?.target ?? queue : queue
            target.sendBarrier(completion)
            core.unregisterDead()
            completion.arrive(queue, nil)
          }, by: Thread.current))
    }
    completion.finishDelivery(SendReport())
    return completion
  }

  private var allQueues: [LaneQueue] {
    mutex.withLock { unsafe Array(queues.values) }.sortedUnspecialized { $0.record.id < $1.record.id }
  }

  /// Callable from any thread that holds no mutex.
  package var waitingCount: Int { allQueues.reduce(0) { $0 + $1.waitingCount } }
}

extension HandlerLane: CustomStringConvertible {
  /// One line for a log.
  public var description: String {
    "lane\(name.map { " \"\($0)\"" } ?? "")\(limit > 1 ? " (limit: \(limit))" : "")"
  }
}

extension AsyncDelivery {
  /// Returns a delivery on a lane shared by several handlers.
  ///
  /// - Parameter lane: The lane.
  public static func lane(_ lane: HandlerLane) -> AsyncDelivery { AsyncDelivery(.lane(lane, .unbounded)) }
}
