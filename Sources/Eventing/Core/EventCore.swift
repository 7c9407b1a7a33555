import Dispatch
public import Synchronization

/// The executor of an event: one thread at a time is inside.
///
/// 1. *Idle*: a sender enters, delivers and leaves, with two atomic steps. Only the thread inside
///    changes the handler table, so it reads the table without the mutex, copies and retains
///    nothing.
/// 2. *Busy*: a sender enqueues an item under the mutex, and sets `busy` and `queued` in one step.
///    If the event became idle meanwhile, the sender is inside now.
/// 3. If leaving fails because work was enqueued, the thread drains the mailbox or hands it off.
///
/// A lane or a drain retains the core, but not the ``Event``.
// Safe: each field says what guards it, here and in RareState.
@safe @usableFromInline package final class EventCore: SerialExecutor, @unchecked Sendable {
  // Written by contending threads.
  @usableFromInline package let stateWord = Atomic<UInt>(0)
  /// A thread outside may walk the handler table while it holds the mutex.
  @usableFromInline package let mutex = UnfairMutex()
  /// Guarded by: mutex.
  @exclusivity(unchecked) package var isEventLocked = false
  /// Guarded by: mutex.
  @exclusivity(unchecked) package var isFinished = false

  /// `hasOwners` and `mustEnqueue` in one byte, so that an event fits 160 bytes. Isolation: core.
  @usableFromInline @exclusivity(unchecked) var traits: UInt8 = 0
  /// Isolation: core.
  @usableFromInline @exclusivity(unchecked) var clockedCount: Int32 = 0
  @usableFromInline let anchorReference = OnceReference<EventAnchor>()
  /// The first handler that the delivery found to have ended. Isolation: core.
  @exclusivity(unchecked) var firstDead: Unmanaged<HandlerRecord>?
  package let pendingWorkReference = OnceReference<RareState>()
  package let type: PayloadType
  /// Read inside the core or under `mutex`. Changed inside, under the mutex.
  @usableFromInline @exclusivity(unchecked) package var table = PriorityTable()
  /// Changed inside the core. A delivery uses this field and `table.first`: the state word and the
  /// mutex, which contending threads write, come at least 64 bytes earlier, so on other cache
  /// lines.
  @usableFromInline let sequenceWord = Atomic<UInt64>(0)

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
    if let rareState = pendingWorkReference.load() {
      for lane in unsafe rareState.retiringTargets { lane.endDelays() }
    }
    unsafe anchorReference.load()?.observers = nil  // a token may retain the anchor
  }

  private func deliverLeft(of paced: [Pacer]) {
    let left = paced.filter { $0.isLeft }
    if left.isEmpty { return }
    // One block, because inline handlers of an event must not overlap.
    let observers = unsafe anchorReference.load()?.observers
    Scheduling.concurrentBlock { for target in left { target.deliverLeft(for: observers) } }
  }

  var rareState: RareState {
    pendingWorkReference.load() ?? makePendingWork()
  }

  @inline(never) private func makePendingWork() -> RareState { pendingWorkReference.set(RareState(type)) }

  // MARK: Executor

  // There is no checkIsolated(). The default implementation traps if a thread outside calls
  // `assumeIsolated`; an empty implementation would allow a data race.

  @usableFromInline package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe UnownedSerialExecutor(ordinary: self)
  }

  @usableFromInline package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let rareState = rareState
    let mustStart = mutex.withLock { unsafe rareState.isolatedCalls.append(job) }
    if mustStart { Scheduling.concurrentBlock { self.runIsolatedCalls(rareState) } }
  }

  /// A call enters the core only when the block runs. So while the pool is busy, the event is not,
  /// and no post waits for the call.
  private func runIsolatedCalls(_ rareState: RareState) {
    while let job = mutex.withLock({ unsafe rareState.isolatedCalls.next() }) {
      let own = enter()
      if own != 0 {
        let look = rareState.look.begin(job)
        unsafe job.runSynchronously(on: asUnownedSerialExecutor())
        if tryLeave(own) {
          rareState.look.end(look)
        } else {
          rareState.look.end(look)  // before the drain does other work
          drain(Drainer.pool)
        }
      } else {
        _ = enqueue(drainer: Drainer.pool) { rareState in
          unsafe rareState.mailbox.items.append(.job(job))
          return false
        }
      }
    }
  }
}

/// Above the flags is the number of the thread inside the core, by which a post knows whether it
/// comes from a handler of the event. No number while a scheduled drain has not begun.
@usableFromInline package enum CoreState {
  @inlinable static var busy: UInt { 1 }
  /// A thread has enqueued work, and no drain has looked into the mailbox since.
  @inlinable static var queued: UInt { 2 }
  /// Set on an idle event with a history, an observer or an `unhandled` event, so that
  /// ``EventCore/enter()`` fails. A drain clears the flag, and sets it again when it leaves.
  @inlinable static var mustEnqueue: UInt { 4 }
  @inlinable package static var flags: UInt { 7 }
}

// Entering and leaving a core, and the event's anchor.
extension EventCore {
  // Isolation of the three variables: core.
  @inlinable var hasOwners: Bool {
    get { unsafe traits & 1 != 0 }
    set { unsafe traits = newValue ? traits | 1 : traits & ~1 }
  }

  @inlinable var mustEnqueue: Bool {
    get { unsafe traits & 2 != 0 }
    set { unsafe traits = newValue ? traits | 2 : traits & ~2 }
  }

  @inlinable var idle: UInt { mustEnqueue ? CoreState.mustEnqueue : 0 }

  @inlinable @inline(__always) func enter() -> UInt {
    let own = Thread.current | CoreState.busy
    return stateWord.compareExchange(expected: 0, desired: own, ordering: .acquiring).exchanged ? own : enterSoon(own)
  }

  /// A thread that is inside for a change or a few short calls soon leaves, and enqueueing would
  /// cost both threads more.
  @usableFromInline @inline(never) func enterSoon(_ own: UInt) -> UInt {
    let entered = spin(toEnter: own)
    if entered != 0 || stateWord.load(ordering: .relaxed) == CoreState.mustEnqueue { return entered }
    return followLook(own)
  }

  private func spin(toEnter own: UInt) -> UInt {
    for _ in 0..<Thread.spinLimit {
      let seen = stateWord.load(ordering: .relaxed)
      if seen == 0 {
        if stateWord.compareExchange(expected: 0, desired: own, ordering: .acquiring).exchanged { return own }
      } else if seen & (CoreState.queued | CoreState.mustEnqueue) != 0 || seen == own || seen == CoreState.busy {
        // Work is enqueued, the caller is a handler of this event, or a drain is scheduled.
        return 0
      }
    }
    return 0
  }

  /// The call has returned, because its task is here, so the thread inside leaves without running
  /// more user code. If it goes on with other work, this wait ends.
  private func followLook(_ own: UInt) -> UInt {
    guard let look = pendingWorkReference.load()?.look else { return 0 }
    let task = look.task.load(ordering: .acquiring)
    guard task != 0, task == TaskID.current else { return 0 }
    let thread = look.thread.load(ordering: .relaxed)
    var rounds = 0
    while look.task.load(ordering: .acquiring) == task {
      let seen = stateWord.load(ordering: .relaxed) & ~CoreState.flags
      guard seen == thread, seen | CoreState.busy != own else { break }
      rounds += 1
      if rounds < 100 { Thread.giveWay() } else { Thread.nap(microseconds: 10) }
    }
    return stateWord.compareExchange(expected: 0, desired: own, ordering: .acquiring).exchanged ? own : 0
  }

  @inlinable @inline(__always) func tryLeave(_ own: UInt) -> Bool {
    syncPoint(.leaving)
    return stateWord.compareExchange(expected: own, desired: 0, ordering: .releasing).exchanged
  }

  @inlinable @inline(__always) func leave(_ own: UInt) {
    if !tryLeave(own) { leaveWithWork(own & ~CoreState.flags) }
  }

  @usableFromInline @inline(never) func leaveWithWork(_ thread: UInt) {
    if stateWord.load(ordering: .relaxed) & ~CoreState.flags == thread { drain(thread) }
  }

  /// The number of the last occurrence whose delivery began. Changed only inside the core.
  @inlinable package var sequence: UInt64 {
    @inline(__always) get { sequenceWord.load(ordering: .relaxed) }
    @inline(__always) set { sequenceWord.store(newValue, ordering: .relaxed) }
  }

  // MARK: Anchor

  @inlinable package var anchor: EventAnchor { anchorReference.load() ?? makeAnchor() }

  /// Without a retain: threads that create and drop tokens contend for the reference count.
  @inlinable @inline(__always) func withAnchor<Result>(_ body: (EventAnchor) -> Result) -> Result {
    unsafe (anchorReference.lend() ?? .passUnretained(makeAnchor()))._withUnsafeGuaranteedRef(body)
  }

  @usableFromInline @inline(never) func makeAnchor() -> EventAnchor { anchorReference.set(EventAnchor(self)) }

  @inlinable func owns(_ token: HandlerToken) -> Bool { anchorReference.isSame(as: token.anchor) }

  @inlinable func remove(_ token: HandlerToken) -> Bool { owns(token) && remove(token.record) }
}
