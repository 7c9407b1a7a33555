import Dispatch
public import Synchronization

/// The executor of an event. One thread at a time is inside; other threads enqueue their work.
///
/// 1. *Idle*, the common case: a sender enters, delivers and leaves, with two atomic steps. Only
///    the thread inside changes the handler table. So a delivery reads the table without the mutex,
///    copies nothing and counts no references.
/// 2. *Busy*: a sender enqueues an item under the mutex, and sets the flags `busy` and `queued` in
///    one step. If the event became idle meanwhile, the sender is inside now.
/// 3. If leaving fails because work was enqueued, the thread drains the mailbox or hands it off:
///    see ``drain(_:)``.
///
/// A lane or a drain retains the core without retaining the ``Event``.
// Safe: each field says what guards it, here and in PendingWork.
@safe @usableFromInline package final class EventCore: SerialExecutor, @unchecked Sendable {
  // Written by contending threads.
  /// The state of the core: ``CoreState`` says what its bits mean.
  @usableFromInline package let stateWord = Atomic<UInt>(0)
  /// Guards the mailbox, and the handler table against changes: a thread outside may walk the table
  /// while it holds the mutex.
  @usableFromInline package let mutex = UnfairMutex()
  /// Whether the event is locked by `lock()`. Guarded by: mutex.
  @exclusivity(unchecked) package var isEventLocked = false
  /// Whether `finish()` was called. Guarded by: mutex.
  @exclusivity(unchecked) package var isFinished = false

  /// `hasOwners` and `mustEnqueue` in one byte, so that an event fits 160 bytes. Isolation: core.
  @usableFromInline @exclusivity(unchecked) var traits: UInt8 = 0
  /// The number of handlers that need the instant at which a delivery begins. Isolation: core.
  @usableFromInline @exclusivity(unchecked) var clockedCount: Int32 = 0
  @usableFromInline let anchorReference = OnceReference<EventAnchor>()
  /// The first handler that the current delivery found to have ended. It is unregistered when the
  /// delivery ends. Until then its slot retains the record. `PendingWork.deadRecords` has the
  /// others. Isolation: core.
  @exclusivity(unchecked) var firstDead: Unmanaged<HandlerRecord>?
  package let pendingWorkReference = OnceReference<PendingWork>()
  /// The type of the payloads.
  package let type: PayloadType
  /// The handlers. Walked by the thread inside the core, or under `mutex`. Changed by the thread
  /// inside, under the mutex.
  @usableFromInline @exclusivity(unchecked) package var table = PriorityTable()
  /// The value of ``sequence``. The thread inside the core changes it, with a load and a store that
  /// the compiler merges into one plain instruction. Any thread may read it.
  ///
  /// A delivery uses this field and `table.first`. Contending threads write the state word and the
  /// mutex, which come at least 64 bytes earlier in memory. So contending threads never take the
  /// cache line that a delivery needs.
  @usableFromInline let sequenceWord = Atomic<UInt64>(0)

  /// The name of the event.
  @usableFromInline let name: String?

  init(_ type: PayloadType, _ name: String?) {
    self.type = type
    self.name = name
  }

  deinit {
    // No thread is inside: senders, drains and waiters retain the core. The handlers' lanes outlive
    // the core until they have made the calls that wait on them.
    var paced: [Pacer] = []
    unsafe forEachSlot { slot in
      let record = unsafe slot.pointee.record
      unsafe record.index = -1
      unsafe record.details?.keyTable = nil  // breaks a cycle: the table retains the slot, which retains the record
      let lane = unsafe record.details?.route?.target
      if let target = lane as? Pacer { paced.append(target) }
      retire(record)
      lane?.endDelays()
      if record.has(HandlerFlags.hasHoldingBuffer) { dropHoldingBuffer(of: record) }
      reportHandler(record, isAdded: false)
    }
    if !paced.isEmpty { deliverLeft(of: paced) }
    if let pendingWork = pendingWorkReference.load() {
      for lane in unsafe pendingWork.retiringLanes { lane.endDelays() }
    }
    unsafe anchorReference.load()?.observers = nil  // a token may retain the anchor
  }

  /// Delivers, after the end of the event, the occurrences that paces still keep for inline
  /// handlers.
  private func deliverLeft(of paced: [Pacer]) {
    let left = paced.filter { $0.isLeft }
    if left.isEmpty { return }
    // One block delivers, one after the other, the occurrences that the paces in `left` still keep:
    // inline handlers of an event must not overlap.
    let observers = unsafe anchorReference.load()?.observers
    Scheduling.concurrentBlock { for target in left { target.deliverLeft(for: observers) } }
  }

  /// The pending work. It is created when it is first needed.
  var pendingWork: PendingWork {
    pendingWorkReference.load() ?? makePendingWork()
  }

  @inline(never) private func makePendingWork() -> PendingWork { pendingWorkReference.set(PendingWork(type)) }

  // MARK: Executor

  // There is no checkIsolated(). The default implementation traps if a thread outside calls
  // `assumeIsolated`; an empty implementation would allow a data race.

  @usableFromInline package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe UnownedSerialExecutor(ordinary: self)
  }

  /// Enqueues a call of an isolated method. Called by Swift's runtime.
  @usableFromInline package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let pendingWork = pendingWork
    let mustStart = mutex.withLock { unsafe pendingWork.isolatedCalls.append(job) }
    if mustStart { Scheduling.concurrentBlock { self.runIsolatedCalls(pendingWork) } }
  }

  /// Runs isolated calls, each between two occurrences, in a block of Dispatch's pool.
  ///
  /// A call enters the core, or is enqueued there, only when the block runs. While the block waits
  /// for a thread of the pool, it does not make the event busy. So however busy the pool is, no
  /// post waits for an isolated call.
  private func runIsolatedCalls(_ pendingWork: PendingWork) {
    while let job = mutex.withLock({ unsafe pendingWork.isolatedCalls.next() }) {
      let own = enter()
      if own != 0 {
        let look = pendingWork.look.begin(job)
        unsafe job.runSynchronously(on: asUnownedSerialExecutor())
        if tryLeave(own) {
          pendingWork.look.end(look)
        } else {
          pendingWork.look.end(look)  // before the drain does other work
          drain(Drainer.pool)
        }
      } else {
        _ = enqueue(drainer: Drainer.pool) { pendingWork in
          unsafe pendingWork.mailbox.items.append(.job(job))
          return false
        }
      }
    }
  }
}
