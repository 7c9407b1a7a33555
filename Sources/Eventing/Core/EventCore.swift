public import Dispatch
public import Synchronization

/// The executor of an event: a core that lets one thread in at a time, and queues for the rest.
///
/// 1. *Idle*, the common case: enter, deliver, leave; two atomic steps. Who is inside alone touches the table, so a delivery takes no lock,
///    copies nothing and counts no references.
/// 2. *Busy*: the item is queued, and in the same step, under the lock, the word is marked busy and queued. If it turns out that the event fell
///    idle meanwhile, the thread that queued is inside now.
/// 3. Who cannot leave, because something is queued, settles: it works the queue off, or hands it over (see `drain`).
///
/// It is the handlers' part of an `Event` too, so that lanes and drains can hold it without holding the event.
///
/// The word is ``idle`` when the event is idle. HandlerFlags 0: exactly one thread, or one scheduled drain, is inside. HandlerFlags 1: something is queued. The rest names the
/// thread that is inside (nothing while a drain is only scheduled), so that a post knows whether a handler of its own event makes it.
// Safe: see the lines on guards in this class and PendingWork.
@safe @usableFromInline final class EventCore: SerialExecutor, @unchecked Sendable {
  // What those write who find the event busy.
  @usableFromInline let word = Atomic<UInt>(0)
  /// Guards the pendingWork, and lets threads that are outside read the table: that is changed under the lock, and only from inside.
  @usableFromInline let mutex = UnfairMutex()
  /// The event's own lock. Under the lock.
  @usableFromInline @exclusivity(unchecked) var isEventLocked = false
  /// `finish()` was called. Under the lock.
  @usableFromInline @exclusivity(unchecked) var isFinished = false

  /// Two facts in one byte, which keeps an event within 160 bytes. Only from inside, or before anybody else knows the event.
  @usableFromInline @exclusivity(unchecked) var traits: UInt8 = 0
  /// How many handlers want to know the instant at which a delivery begins. Only from inside.
  @usableFromInline @exclusivity(unchecked) var clocked: Int32 = 0
  @usableFromInline let identityReference = OnceReference<EventIdentity>()
  /// The first handler that the occurrence that is being delivered met dead; its slot holds it. Only from inside.
  @usableFromInline @exclusivity(unchecked) var firstDead: Unmanaged<HandlerRecord>?
  @usableFromInline let pendingWorkReference = OnceReference<PendingWork>()
  @usableFromInline let type: PayloadType
  /// Walked from inside. Changed from inside, and under the lock.
  @usableFromInline @exclusivity(unchecked) var table = HandlerTable()
  /// Of the last occurrence whose delivery began. Only from inside. With `table.first`, which is last in the table, 64 bytes behind the word and the lock: on another line
  /// of the cache, wherever the core is, so those who queue do not take from who delivers what it needs for each occurrence.
  @usableFromInline @exclusivity(unchecked) var sequence: UInt64 = 0

  @usableFromInline init(_ type: PayloadType) {
    self.type = type
  }

  deinit {
    // Nobody is inside: who posts, drains or awaits holds the core. What lanes hold is still delivered.
    unsafe forEachSlot { slot in
      let record = unsafe slot.pointee.record
      unsafe record.index = -1
      unsafe record.details?.keyTable = nil  // which holds the slot, which holds the record
      retire(record)
      tellOf(record, isAdded: false)
    }
    unsafe identityReference.load()?.observers = nil  // a token keeps the identity
  }

  // MARK: Executor

  // No checkIsolated(): the default one stops `assumeIsolated` from outside; an empty one would allow a data race.

  @usableFromInline func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let pendingWork = pendingWork
    let mustStart = mutex.withLock {
      unsafe pendingWork.jobs.append(job)
      defer { unsafe pendingWork.areJobsRun = true }
      return unsafe !pendingWork.areJobsRun
    }
    if mustStart { Scheduling.concurrentBlock { self.runJobs(pendingWork) } }
  }

  /// In a block of the pool: runs the isolated calls, each between two occurrences.
  ///
  /// The event is entered, or the call queued, only by a thread that runs. A call that waits for a thread leaves the event
  /// idle: however busy the pool is, no post waits for a look.
  private func runJobs(_ pendingWork: PendingWork) {
    while let job = mutex.withLock({ pendingWork.nextJob() }) {
      let own = enter()
      if own != 0 {
        unsafe job.runSynchronously(on: asUnownedSerialExecutor())
        if !tryLeave(own) { drain(Drainer.pool) }
      } else {
        _ = queue(isInPool: true) { pendingWork in
          unsafe pendingWork.queue.append(.job(job))
          return false
        }
      }
    }
  }

  @usableFromInline func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe UnownedSerialExecutor(ordinary: self)
  }

  // MARK: In, out, and in the queue

  @inlinable @inline(__always) func leave(_ own: UInt) {
    if !tryLeave(own) { drain(own & ~CoreState.flags) }
  }

  /// A post that found the event busy, or with a history.
  @usableFromInline @inline(never) func postBusy(_ payload: BorrowedPayload, from sender: (any AnyObject & Sendable)?) {
    let isCarrying = CarriedContext.isCarrying
    if word.load(ordering: .relaxed) == CoreState.mustEnqueue, !isCarrying, sender == nil, postWithReplay(payload) {
      return
    }
    let completion = sender == nil && !isCarrying ? nil : Completion(.post, from: sender)
    if enqueue(payload, completion) { OverloadControl.slowDown() }
  }

  /// Delivers a send to the rest of the handlers, and leaves.
  @usableFromInline @inline(never) func sendSlowPath(
    _ payload: BorrowedPayload, from position: DeliveryCursor, _ own: UInt, _ sender: (any AnyObject & Sendable)?
  ) -> PendingSend {
    let tally = unsafe deliverSlowPath(payload, from: position, isAwaited: true, sender: sender)
    leave(own)
    let report = tally.report
    tally.completion?.finishDelivery(report)
    return PendingSend(report: report, completion: tally.completion)
  }

  @usableFromInline @inline(never) func sendBusy(_ payload: BorrowedPayload, from sender: (any AnyObject & Sendable)?)
    -> PendingSend
  {
    let completion = Completion(.send, from: sender)
    enqueue(payload, completion)
    return PendingSend(report: SendReport(), completion: completion)
  }

  /// Made when first needed.
  @usableFromInline var pendingWork: PendingWork {
    pendingWorkReference.load() ?? pendingWorkReference.set(PendingWork(type))
  }

  /// Queues an item, and settles if the event fell idle meanwhile.
  ///
  /// - Returns: whether whoever posts this should slow down: there is a flood, and it is not a handler of this event that posts.
  @inline(never) @discardableResult func enqueue(_ item: WorkItem) -> Bool {
    queue { pendingWork in
      unsafe pendingWork.queue.append(item)
      return item.isChange && pendingWork.isFloodedByChanges
    }
  }

  /// Queues an occurrence.
  ///
  /// - Parameter thread: who may deliver it at once: the thread that posts, or ``Drainer/drain``.
  @inline(never) @discardableResult func enqueue(
    _ payload: BorrowedPayload, _ completion: Completion?, by thread: UInt = Thread.current
  )
    -> Bool
  {
    if mutant(.nestedPostIsLost), completion?.isAwaited != true,
      word.load(ordering: .relaxed) & ~CoreState.flags == Thread.current
    {
      return false
    }
    var before: OwnedPayload?
    let mustSlowDown = queue { pendingWork in
      unsafe pendingWork.queue.append(.occurrence(by: thread, completion), payload)
      unsafe pendingWork.occurrences &+= 1
      if let history = pendingWork.history { before = history.replaceLatest(payload) }
      return pendingWork.isFlooded
    }
    _ = consume before  // destroyed after the lock
    return mustSlowDown
  }

  /// Queues what `append` appends, under the lock, and settles if the event fell idle meanwhile.
  ///
  /// Both flags are set in one step: with a test and then a store, an owner who leaves in between is missed, and the event is dead for ever.
  /// - Parameter isInPool: whether it is ``Drainer/pool`` that settles.
  /// - Returns: whether `append` says that there is a flood, and it is not a handler of this event that queues: that would wait for itself.
  @usableFromInline @inline(__always) func queue(isInPool: Bool = false, _ append: (PendingWork) -> Bool) -> Bool {
    syncPoint(.foundBusy)
    // Safe: the core holds it.
    let pendingWork = unsafe pendingWorkReference.lend() ?? .passUnretained(pendingWork)
    mutex.lock()
    let isFlooded = unsafe pendingWork._withUnsafeGuaranteedRef(append)
    syncPoint(.queued)
    let old = word.bitwiseOr(CoreState.busy | CoreState.queued, ordering: .acquiringAndReleasing).oldValue
    mutex.unlock()
    if old & ~CoreState.mustEnqueue == 0 {
      drain(isInPool ? Drainer.pool : Thread.current)
      return false
    }
    return isFlooded && old & ~CoreState.flags != Thread.current
  }

  @usableFromInline func requestUnregistration(_ record: HandlerRecord) {
    requestUnregistration(CollectionOfOne(record))
  }

  /// Tidies handlers away whose life is over.
  func requestUnregistration(_ records: some Collection<HandlerRecord>) {
    guard !records.isEmpty else { return }
    let own = enter()
    guard own != 0 else { return enqueueUnregistration(records) }
    for record in records { unregister(record) }
    leave(own)
  }

  /// Ends a handler's life, from any thread; false if it was over.
  @usableFromInline func remove(_ record: HandlerRecord) -> Bool {
    let own = enter()
    if own != 0 {
      let isMine = record.deactivate()  // nothing is being delivered: no need to note the change
      // Not mine, but its slot is there: whoever ended it may not have noted the change yet.
      if isMine { unregister(record) } else if unsafe record.index >= 0 { withIdentity { $0.invalidateFastPath() } }
      leave(own)
      return isMine
    }
    let isMine = record.deactivate()
    withIdentity { $0.noteChange() }  // even if another thread ended it: it may not have noted that yet
    guard isMine else { return false }
    enqueueUnregistration(CollectionOfOne(record))
    return true
  }

  @usableFromInline @inline(never) func enqueueUnregistration(_ records: some Collection<HandlerRecord>) {
    let mustSlowDown = queue { pendingWork in
      for record in records { unsafe pendingWork.unregistering.append((record, Thread.current)) }
      return unsafe pendingWork.unregistering.count > OverloadControl.changeLimit
    }
    if mustSlowDown { OverloadControl.slowDown() }
  }

  // MARK: Changing a value

  /// Inside: takes the lock, if a value may change at once: nothing is queued, and no handler wants to know before a change.
  ///
  /// - Parameter isHeldUp: whether it may not, for another reason; read under the lock.
  @usableFromInline func beginChange(_ pendingWork: PendingWork, unless isHeldUp: inout Bool) -> Bool {
    mutex.lock()
    if unsafe pendingWork.queue.isEmpty && pendingWork.wantPrior == 0 && !isHeldUp { return true }
    mutex.unlock()
    return false
  }

  /// Releases the lock after the change: a new handler is told the value as it is.
  @usableFromInline func endChange(_ pendingWork: PendingWork) {
    unsafe pendingWork.isReplayValueCurrent = true
    let replayValue = unsafe pendingWork.replayValue == nil ? nil : pendingWork.takeReplayValue()
    mutex.unlock()
    _ = consume replayValue  // destroyed after the lock
  }

  // MARK: Settling

  /// Inside: works the queue off, in order, and leaves.
  ///
  /// `poster` is the thread that is inside because it posted: it makes changes, some of other threads' too, and delivers what its own handlers
  /// posted. At the first occurrence of another thread, or isolated call, it hands all the rest over. ``Drainer/drain`` does everything, ``Drainer/pool`` isolated calls only.
  @usableFromInline func drain(_ poster: UInt) {
    let own = Thread.current | CoreState.busy
    if word.load(ordering: .relaxed) | CoreState.queued != own | CoreState.queued {
      word.bitwiseOr(own, ordering: .relaxed)
    }
    let pendingWork = pendingWork
    var foreignChanges = 0
    while true {
      var plain = unsafe plainIdentity
      while unsafe !pendingWork.pending.isEmpty {
        if poster != Drainer.drain {
          if foreignChanges > OverloadControl.foreignChanges || !mayDrain(poster, unsafe pendingWork.pending.first) {
            return handOver(pendingWork)
          }
        }
        let item = unsafe pendingWork.pending.takeFirst()
        if case .occurrence(_, let completion) = item {
          let payload = unsafe pendingWork.pending.taken
          if completion == nil, let identity = unsafe plain {
            unsafe deliverPlainly(payload, identity)
          } else {
            deliverQueued(payload, completion)
          }
          unsafe pendingWork.pending.destroyTaken()  // a payload goes when it is delivered, not with its batch
          continue
        }
        switch item {
        case .join(let count, let thread):
          if thread != poster { foreignChanges += count }
          join(count)
        case .barrier(let completion):
          foreignChanges += 1
          barrier(completion)
        case .job(let job): unsafe job.runSynchronously(on: asUnownedSerialExecutor())
        case .release(let records, _): release(records)
        case .change(let change, let thread):
          if thread != poster { foreignChanges += 1 }
          change()
        case .finish:
          foreignChanges += 1
          finishTable()
        case .occurrence: break
        }
        unsafe plain = plainIdentity
      }
      unsafe pendingWork.pending.recycle()
      var unregistering: ContiguousArray<(record: HandlerRecord, by: UInt)> = []
      syncPoint(.draining)
      mutex.lock()
      unsafe swap(&pendingWork.queue, &pendingWork.pending)
      if poster != Drainer.pool { unsafe swap(&pendingWork.unregistering, &unregistering) }
      let mustTidy = unsafe !pendingWork.unregistering.isEmpty
      unsafe pendingWork.occurrences = 0
      if poster == Drainer.drain { pendingWork.overload.isOn.store(false, ordering: .relaxed) }
      let isEmpty = unsafe pendingWork.pending.isEmpty && unregistering.isEmpty && !mustTidy
      word.publish(isEmpty ? idle : own)
      mutex.unlock()
      if isEmpty { return }  // outside: touch nothing from here on
      if mustTidy { return handOver(pendingWork) }
      for (record, thread) in unregistering {
        if thread != poster { foreignChanges += 1 }
        unregister(record)
      }
      if poster != Drainer.drain, foreignChanges > OverloadControl.foreignChanges { return handOver(pendingWork) }
    }
  }

  @inline(__always) func mayDrain(_ poster: UInt, _ item: WorkItem) -> Bool {
    switch item {
    case .occurrence(let thread, _), .release(_, let thread): thread == poster
    case .job: poster == Drainer.pool
    default: poster != Drainer.pool  // closures may be released, and run whatever is in a `deinit`
    }
  }

  /// Hands the rest over to a serial queue of the event's own. Handlers may block: on `DispatchQueue.global()` two blocked blocks delay the third by
  /// a second, in Swift's pool for as long as they block.
  @usableFromInline func handOver(_ pendingWork: PendingWork) {
    word.bitwiseAnd(CoreState.flags, ordering: .relaxed)  // nobody is inside until the drain starts
    Scheduling.block(on: drains(pendingWork)) { self.drain(Drainer.drain) }
  }

  @usableFromInline func drains(_ pendingWork: PendingWork) -> DispatchQueue {
    if let queue = unsafe pendingWork.drains { return queue }
    // Dispatch on Apple's systems would run a drain at the quality of service of the thread that happened to hand it over. A background
    // thread would so delay what the main thread posts.
    let queue = DispatchQueue(label: "eventing.event", qos: .userInitiated)
    queue.setSpecific(key: OverloadControl.drained, value: pendingWork.overload)
    unsafe pendingWork.drains = queue
    return queue
  }
}

/// What becomes of a send that needs more than calls.
@usableFromInline final class PendingSend: Sendable {
  private let report: SendReport
  /// To be awaited, if there is one: its report is the report then.
  private let completion: Completion?

  init(report: SendReport, completion: Completion?) {
    self.report = report
    self.completion = completion
  }

  @usableFromInline nonisolated(nonsending) func wait() async -> SendReport {
    if let completion { await completion.wait() } else { report }
  }
}

/// Who settles, if not a thread that posted: no thread has these numbers.
@usableFromInline enum Drainer {
  /// The event's own queue.
  @usableFromInline static var drain: UInt { 0 }
  /// A thread of the pool that runs isolated calls. They do not block; handlers, and what they capture, may.
  @usableFromInline static var pool: UInt { .max }
}
