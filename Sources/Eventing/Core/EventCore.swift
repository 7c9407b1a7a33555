import Dispatch
public import Synchronization

/// The executor of an event. It lets one thread in at a time, and enqueues for the others.
///
/// 1. *Idle*, the common case: a sender enters, delivers and leaves, with two atomic steps. The
///    thread inside alone touches the handler table. So a delivery takes no mutex, copies nothing and
///    counts no references.
/// 2. *Busy*: a sender enqueues an item under the mutex, and marks the core state busy and queued in
///    one step. If the event fell idle meanwhile, the sender is inside now.
/// 3. If leaving fails because work was enqueued, the thread drains the queue or hands it off: see
///    ``drain(_:)``.
///
/// A lane or a drain holds the core without holding the ``Event``.
// Safe: each field says what guards it, here and in PendingWork.
@safe @usableFromInline final class EventCore: SerialExecutor, @unchecked Sendable {
  // Written by contending threads.
  /// The state of the core: ``CoreState`` says what its bits mean.
  @usableFromInline let stateWord = Atomic<UInt>(0)
  /// Guards the mailbox. A thread outside that holds the mutex may read the handler table: the table
  /// is changed by the thread inside, under the mutex.
  @usableFromInline let mutex = UnfairMutex()
  /// Whether the event is locked by `lock()`. Guarded by: mutex.
  @usableFromInline @exclusivity(unchecked) var isEventLocked = false
  /// Whether `finish()` was called. Guarded by: mutex.
  @usableFromInline @exclusivity(unchecked) var isFinished = false

  /// Two flags in one byte, so that an event fits 160 bytes. Isolation: core, once it is shared.
  @usableFromInline @exclusivity(unchecked) var traits: UInt8 = 0
  /// The number of handlers that need the instant at which a delivery begins. Isolation: core.
  @usableFromInline @exclusivity(unchecked) var clockedCount: Int32 = 0
  @usableFromInline let identityReference = OnceReference<EventIdentity>()
  /// The first handler that the current occurrence found dead; its slot holds it. Isolation: core.
  @usableFromInline @exclusivity(unchecked) var firstDead: Unmanaged<HandlerRecord>?
  @usableFromInline let pendingWorkReference = OnceReference<PendingWork>()
  @usableFromInline let type: PayloadType
  /// Walked by the thread inside. Changed by the thread inside, under the mutex.
  @usableFromInline @exclusivity(unchecked) var table = HandlerTable()
  /// The sequence number of the last occurrence whose delivery began. Isolation: core.
  ///
  /// The number and `table.first`, the last field of the table, lie 64 bytes behind the state word
  /// and the mutex. So contending threads never take the cache line that a delivery needs.
  @usableFromInline @exclusivity(unchecked) var sequence: UInt64 = 0

  @usableFromInline init(_ type: PayloadType) { self.type = type }

  deinit {
    // No thread is inside: senders, drains and waiters hold the core. Lanes deliver what they have.
    unsafe forEachSlot { slot in
      let record = unsafe slot.pointee.record
      unsafe record.index = -1
      unsafe record.details?.keyTable = nil  // which holds the slot, which holds the record
      retire(record)
      reportHandler(record, isAdded: false)
    }
    unsafe identityReference.load()?.observers = nil  // a token keeps the identity
  }

  /// The pending work; made when it is first needed.
  @usableFromInline var pendingWork: PendingWork {
    pendingWorkReference.load() ?? pendingWorkReference.set(PendingWork(type))
  }

  // MARK: Executor

  // There is no checkIsolated(). The default one stops `assumeIsolated` from outside; an empty one
  // would allow a data race.

  @usableFromInline func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe UnownedSerialExecutor(ordinary: self)
  }

  @usableFromInline func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let pendingWork = pendingWork
    let mustStart = mutex.withLock { unsafe pendingWork.isolatedCalls.append(job) }
    if mustStart { Scheduling.concurrentBlock { self.runIsolatedCalls(pendingWork) } }
  }

  /// Runs isolated calls, each between two occurrences, in a block of the pool.
  ///
  /// Only a thread that runs enters the core or enqueues the call. While a call waits for a thread,
  /// the event is idle. So however busy the pool is, no post waits for an isolated call.
  private func runIsolatedCalls(_ pendingWork: PendingWork) {
    while let job = mutex.withLock({ unsafe pendingWork.isolatedCalls.next() }) {
      let own = enter()
      if own != 0 {
        unsafe job.runSynchronously(on: asUnownedSerialExecutor())
        if !tryLeave(own) { drain(Drainer.pool) }
      } else {
        _ = enqueue(drainer: Drainer.pool) { pendingWork in
          unsafe pendingWork.mailbox.items.append(.job(job))
          return false
        }
      }
    }
  }
}
