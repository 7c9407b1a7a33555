public import Dispatch
public import Synchronization

/// The executor of an event: a mailbox that lets one thread in at a time, and queues for the rest.
///
/// 1. *Idle*, the common case: enter, deliver, leave; two atomic steps. Who is inside alone touches the table, so a delivery takes no lock,
///    copies nothing and counts no references.
/// 2. *Busy*: the item is queued, and in the same step, under the lock, the word is marked busy and queued. If it turns out that the event fell
///    idle meanwhile, the thread that queued is inside now.
/// 3. Who cannot leave, because something is queued, settles: it works the queue off, or hands it over (see `settle`).
///
/// It is the handlers' part of an `Event` too, so that lanes and drains can hold it without holding the event.
///
/// The word is ``idle`` when the event is idle. Bit 0: exactly one thread, or one scheduled drain, is inside. Bit 1: something is queued. The rest names the
/// thread that is inside (nothing while a drain is only scheduled), so that a post knows whether a handler of its own event makes it.
// Safe: see the lines on guards in this class and Backlog.
@safe @usableFromInline final class Mailbox: SerialExecutor, @unchecked Sendable {
  // What those write who find the event busy.
  @usableFromInline let word = Atomic<UInt>(0)
  /// Guards the backlog, and lets threads that are outside read the table: that is changed under the lock, and only from inside.
  @usableFromInline let lock = Lock()
  /// The event's own lock. Under the lock.
  @usableFromInline @exclusivity(unchecked) var isGated = false
  /// `finish()` was called. Under the lock.
  @usableFromInline @exclusivity(unchecked) var isFinished = false

  /// Two facts in one byte, which keeps an event within 160 bytes. Only from inside, or before anybody else knows the event.
  @usableFromInline @exclusivity(unchecked) var traits: UInt8 = 0
  /// How many handlers want to know the instant at which a delivery begins. Only from inside.
  @usableFromInline @exclusivity(unchecked) var clocked: Int32 = 0
  @usableFromInline let homeReference = OnceReference<Home>()
  /// The first handler that the occurrence that is being delivered met dead; its row holds it. Only from inside.
  @usableFromInline @exclusivity(unchecked) var firstRetired: Unmanaged<Record>?
  @usableFromInline let backlogReference = OnceReference<Backlog>()
  @usableFromInline let type: PayloadType
  /// Walked from inside. Changed from inside, and under the lock.
  @usableFromInline @exclusivity(unchecked) var table = Table()
  /// Of the last occurrence whose delivery began. Only from inside. With `table.first`, which is last in the table, 64 bytes behind the word and the lock: on another line
  /// of the cache, wherever the mailbox is, so those who queue do not take from who delivers what it needs for each occurrence.
  @usableFromInline @exclusivity(unchecked) var sequence: UInt64 = 0

  @usableFromInline init(_ type: PayloadType) {
    self.type = type
  }

  deinit {
    // Nobody is inside: who posts, drains or awaits holds the mailbox. What lanes hold is still delivered.
    unsafe forEachRow { row in
      let record = unsafe row.pointee.record
      unsafe record.slot = -1
      unsafe record.details?.addressTable = nil  // which holds the row, which holds the record
      retire(record)
      tellOf(record, isAdded: false)
    }
    unsafe homeReference.load()?.observers = nil  // a token keeps the home
  }

  // MARK: Executor

  // No checkIsolated(): the default one stops `assumeIsolated` from outside; an empty one would allow a data race.

  @usableFromInline func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let backlog = backlog
    let mustStart = lock.withLock {
      unsafe backlog.jobs.append(job)
      defer { unsafe backlog.areJobsRun = true }
      return unsafe !backlog.areJobsRun
    }
    if mustStart { Scheduling.concurrentBlock { self.runJobs(backlog) } }
  }

  /// In a block of the pool: runs the isolated calls, each between two occurrences.
  ///
  /// The event is entered, or the call queued, only by a thread that runs. A call that waits for a thread leaves the event
  /// idle: however busy the pool is, no post waits for a look.
  private func runJobs(_ backlog: Backlog) {
    while let job = lock.withLock({ backlog.nextJob() }) {
      let own = enter()
      if own != 0 {
        unsafe job.runSynchronously(on: asUnownedSerialExecutor())
        if !tryLeave(own) { settle(Settler.pool) }
      } else {
        _ = queue(isInPool: true) { backlog in
          unsafe backlog.queue.append(.job(job))
          return false
        }
      }
    }
  }

  @usableFromInline func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }

  // MARK: In, out, and in the queue

  @inlinable @inline(__always) func leave(_ own: UInt) {
    if !tryLeave(own) { settle(own & ~Word.flags) }
  }

  /// A post that found the event busy, or with a history.
  @usableFromInline @inline(never) func postBusy(_ payload: Loan, from sender: (any AnyObject & Sendable)?) {
    let isCarrying = CarriedContext.isCarrying
    if word.load(ordering: .relaxed) == Word.keeping, !isCarrying, sender == nil, postKept(payload) { return }
    let flight = sender == nil && !isCarrying ? nil : Flight(.post, from: sender)
    if put(payload, flight) { Flood.slowDown() }
  }

  /// Delivers a send to the rest of the handlers, and leaves.
  @usableFromInline @inline(never) func sendRest(
    _ payload: Loan, from position: Position, _ own: UInt, _ sender: (any AnyObject & Sendable)?
  ) -> RestOfSend {
    let tally = unsafe deliverRest(payload, from: position, isAwaited: true, sender: sender)
    leave(own)
    let report = tally.report
    tally.flight?.finishDelivery(report)
    return RestOfSend(report: report, flight: tally.flight)
  }

  @usableFromInline @inline(never) func sendBusy(_ payload: Loan, from sender: (any AnyObject & Sendable)?) -> RestOfSend {
    let flight = Flight(.send, from: sender)
    put(payload, flight)
    return RestOfSend(report: SendReport(), flight: flight)
  }

  /// Made when first needed.
  @usableFromInline var backlog: Backlog { backlogReference.load() ?? backlogReference.set(Backlog(type)) }

  /// Queues an item, and settles if the event fell idle meanwhile.
  ///
  /// - Returns: whether whoever posts this should slow down: there is a flood, and it is not a handler of this event that posts.
  @inline(never) @discardableResult func put(_ item: Item) -> Bool {
    queue { backlog in
      unsafe backlog.queue.append(item)
      return item.isChange && backlog.isFloodedByChanges
    }
  }

  /// Queues an occurrence.
  ///
  /// - Parameter thread: who may deliver it at once: the thread that posts, or ``Settler/drain``.
  @inline(never) @discardableResult func put(_ payload: Loan, _ flight: Flight?, by thread: UInt = Thread.current) -> Bool {
    if mutant(.nestedPostIsLost), flight?.isAwaited != true, word.load(ordering: .relaxed) & ~Word.flags == Thread.current {
      return false
    }
    var before: Parcel?
    let mustSlowDown = queue { backlog in
      unsafe backlog.queue.append(.occurrence(by: thread, flight), payload)
      unsafe backlog.occurrences &+= 1
      if let history = backlog.history { before = history.replaceLatest(payload) }
      return backlog.isFlooded
    }
    _ = consume before  // destroyed after the lock
    return mustSlowDown
  }

  /// Queues what `append` appends, under the lock, and settles if the event fell idle meanwhile.
  ///
  /// Both bits are set in one step: with a test and then a store, an owner who leaves in between is missed, and the event is dead for ever.
  /// - Parameter isInPool: whether it is ``Settler/pool`` that settles.
  /// - Returns: whether `append` says that there is a flood, and it is not a handler of this event that queues: that would wait for itself.
  @usableFromInline @inline(__always) func queue(isInPool: Bool = false, _ append: (Backlog) -> Bool) -> Bool {
    edge(.foundBusy)
    // Safe: the mailbox holds it.
    let backlog = unsafe backlogReference.lend() ?? .passUnretained(backlog)
    lock.lock()
    let isFlooded = unsafe backlog._withUnsafeGuaranteedRef(append)
    edge(.queued)
    let old = word.bitwiseOr(Word.busy | Word.queued, ordering: .acquiringAndReleasing).oldValue
    lock.unlock()
    if old & ~Word.keeping == 0 {
      settle(isInPool ? Settler.pool : Thread.current)
      return false
    }
    return isFlooded && old & ~Word.flags != Thread.current
  }

  @usableFromInline func reclaim(_ record: Record) { reclaim(CollectionOfOne(record)) }

  /// Tidies handlers away whose life is over.
  func reclaim(_ records: some Collection<Record>) {
    guard !records.isEmpty else { return }
    let own = enter()
    guard own != 0 else { return queueLeaving(records) }
    for record in records { tidy(record) }
    leave(own)
  }

  /// Ends a handler's life, from any thread; false if it was over.
  @usableFromInline func remove(_ record: Record) -> Bool {
    let own = enter()
    if own != 0 {
      let isMine = record.end()  // nothing is being delivered: no need to note the change
      // Not mine, but its row is there: whoever ended it may not have noted the change yet.
      if isMine { tidy(record) } else if unsafe record.slot >= 0 { withHome { $0.unsettle() } }
      leave(own)
      return isMine
    }
    let isMine = record.end()
    withHome { $0.noteChange() }  // even if another thread ended it: it may not have noted that yet
    guard isMine else { return false }
    queueLeaving(CollectionOfOne(record))
    return true
  }

  @usableFromInline @inline(never) func queueLeaving(_ records: some Collection<Record>) {
    let mustSlowDown = queue { backlog in
      for record in records { unsafe backlog.leaving.append((record, Thread.current)) }
      return unsafe backlog.leaving.count > Flood.changeLimit
    }
    if mustSlowDown { Flood.slowDown() }
  }

  // MARK: Changing a value

  /// Inside: takes the lock, if a value may change at once: nothing is queued, and no handler wants to know before a change.
  ///
  /// - Parameter isHeldUp: whether it may not, for another reason; read under the lock.
  @usableFromInline func beginChange(_ backlog: Backlog, unless isHeldUp: inout Bool) -> Bool {
    lock.lock()
    if unsafe backlog.queue.isEmpty && backlog.wantPrior == 0 && !isHeldUp { return true }
    lock.unlock()
    return false
  }

  /// Releases the lock after the change: a new handler is told the value as it is.
  @usableFromInline func endChange(_ backlog: Backlog) {
    unsafe backlog.isGreetingCurrent = true
    let greeting = unsafe backlog.greeting == nil ? nil : backlog.takeGreeting()
    lock.unlock()
    _ = consume greeting  // destroyed after the lock
  }

  // MARK: Settling

  /// Inside: works the queue off, in order, and leaves.
  ///
  /// `poster` is the thread that is inside because it posted: it makes changes, some of other threads' too, and delivers what its own handlers
  /// posted. At the first occurrence of another thread, or isolated call, it hands all the rest over. ``Settler/drain`` does everything, ``Settler/pool`` isolated calls only.
  @usableFromInline func settle(_ poster: UInt) {
    let own = Thread.current | Word.busy
    if word.load(ordering: .relaxed) | Word.queued != own | Word.queued { word.bitwiseOr(own, ordering: .relaxed) }
    let backlog = backlog
    var foreignChanges = 0
    while true {
      var plain = unsafe plainHome
      while unsafe !backlog.pending.isEmpty {
        if poster != Settler.drain {
          if foreignChanges > Flood.foreignChanges || !isForSettler(poster, unsafe backlog.pending.first) {
            return handOver(backlog)
          }
        }
        let item = unsafe backlog.pending.takeFirst()
        if case .occurrence(_, let flight) = item {
          let payload = unsafe backlog.pending.taken
          if flight == nil, let home = unsafe plain { unsafe deliverPlainly(payload, home) } else { deliverQueued(payload, flight) }
          unsafe backlog.pending.destroyTaken()  // a payload goes when it is delivered, not with its batch
          continue
        }
        switch item {
        case .join(let count, let thread):
          if thread != poster { foreignChanges += count }
          join(count)
        case .barrier(let flight):
          foreignChanges += 1
          barrier(flight)
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
        unsafe plain = plainHome
      }
      unsafe backlog.pending.recycle()
      var leaving: ContiguousArray<(record: Record, by: UInt)> = []
      edge(.settling)
      lock.lock()
      unsafe swap(&backlog.queue, &backlog.pending)
      if poster != Settler.pool { unsafe swap(&backlog.leaving, &leaving) }
      let mustTidy = unsafe !backlog.leaving.isEmpty
      unsafe backlog.occurrences = 0
      if poster == Settler.drain { backlog.pressure.isOn.store(false, ordering: .relaxed) }
      let isEmpty = unsafe backlog.pending.isEmpty && leaving.isEmpty && !mustTidy
      word.publish(isEmpty ? idle : own)
      lock.unlock()
      if isEmpty { return }  // outside: touch nothing from here on
      if mustTidy { return handOver(backlog) }
      for (record, thread) in leaving {
        if thread != poster { foreignChanges += 1 }
        tidy(record)
      }
      if poster != Settler.drain, foreignChanges > Flood.foreignChanges { return handOver(backlog) }
    }
  }

  @inline(__always) func isForSettler(_ poster: UInt, _ item: Item) -> Bool {
    switch item {
    case .occurrence(let thread, _), .release(_, let thread): thread == poster
    case .job: poster == Settler.pool
    default: poster != Settler.pool  // closures may be released, and run whatever is in a `deinit`
    }
  }

  /// Hands the rest over to a serial queue of the event's own. Handlers may block: on `DispatchQueue.global()` two blocked blocks delay the third by
  /// a second, in Swift's pool for as long as they block.
  @usableFromInline func handOver(_ backlog: Backlog) {
    word.bitwiseAnd(Word.flags, ordering: .relaxed)  // nobody is inside until the drain starts
    Scheduling.block(on: drains(backlog)) { self.settle(Settler.drain) }
  }

  @usableFromInline func drains(_ backlog: Backlog) -> DispatchQueue {
    if let queue = unsafe backlog.drains { return queue }
    // Dispatch on Apple's systems would run a drain at the quality of service of the thread that happened to hand it over. A background
    // thread would so delay what the main thread posts.
    let queue = DispatchQueue(label: "eventing.event", qos: .userInitiated)
    queue.setSpecific(key: Flood.drained, value: backlog.pressure)
    unsafe backlog.drains = queue
    return queue
  }
}

/// What becomes of a send that needs more than calls.
@usableFromInline final class RestOfSend: Sendable {
  private let report: SendReport
  /// To be awaited, if there is one: its report is the report then.
  private let flight: Flight?

  init(report: SendReport, flight: Flight?) {
    self.report = report
    self.flight = flight
  }

  @usableFromInline nonisolated(nonsending) func wait() async -> SendReport {
    if let flight { await flight.wait() } else { report }
  }
}

/// Who settles, if not a thread that posted: no thread has these numbers.
@usableFromInline enum Settler {
  /// The event's own queue.
  @usableFromInline static var drain: UInt { 0 }
  /// A thread of the pool that runs isolated calls. They do not block; handlers, and what they capture, may.
  @usableFromInline static var pool: UInt { .max }
}
