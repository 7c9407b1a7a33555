import Dispatch
public import Synchronization

/// The executor of an event. Only one thread at a time is inside.
///
/// 1. *Idle*: a sender enters, delivers and leaves with two atomic steps. Only the thread inside
///    changes the handler table, so it can read the table without the mutex and need not copy or
///    retain anything.
/// 2. *Busy*: a sender enqueues an item under the mutex and sets `busy` and `queued` in one step.
///    If the event had become idle by then, the same step lets the sender in.
/// 3. If leaving fails because work was enqueued, the thread drains the mailbox or hands it off.
///
/// A drain retains the core but not the ``Event``. A lane retains neither.
// Safe: each field says what guards it, here and in RareState.
@safe @usableFromInline package final class EventCore: SerialExecutor, @unchecked Sendable {
  // Written by contending threads.
  @usableFromInline package let stateWord = Atomic<UInt>(0)
  /// A thread outside may walk the handler table while holding the mutex.
  @usableFromInline package let mutex = UnfairMutex()
  // Guarded by: mutex.
  @exclusivity(unchecked) package var isEventLocked = false
  // Guarded by: mutex.
  @exclusivity(unchecked) package var isFinished = false

  /// Packs `hasOwners` and `mustEnqueue` into one byte, so that an event fits into 160 bytes.
  /// Isolation: core.
  @usableFromInline @exclusivity(unchecked) var traits: UInt8 = 0
  // Isolation: core.
  @usableFromInline @exclusivity(unchecked) var clockedCount: Int32 = 0
  @usableFromInline let anchorReference = OnceReference<EventAnchor>()
  /// The first handler that the current delivery found to have ended. Isolation: core.
  @exclusivity(unchecked) var firstDead: Unmanaged<HandlerRecord>?
  package let rareStateReference = OnceReference<RareState>()
  package let type: PayloadType
  /// Read inside the core or under `mutex`. Changed inside, under the mutex.
  @usableFromInline @exclusivity(unchecked) package var table = PriorityTable()
  /// Changed inside the core. A delivery uses this field and `table.first`. The state word and the
  /// mutex, which contending threads write, lie at least 64 bytes earlier and thus on other cache
  /// lines.
  @usableFromInline let sequenceWord = Atomic<UInt64>(0)

  @usableFromInline let name: String?

  init(_ type: PayloadType, _ name: String?) {
    self.type = type
    self.name = name
  }

  deinit {
    // No thread is inside, because senders, drains and waiters retain the core. The handlers' lanes
    // outlive it until they have made their waiting calls.
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
    if let rareState = rareStateReference.load() {
      for lane in unsafe rareState.retiringTargets { lane.endDelays() }
    }
    unsafe anchorReference.load()?.observers = nil  // a token may retain the anchor
  }

  private func deliverLeft(of paced: [Pacer]) {
    let left = paced.filter { $0.isLeft }
    if left.isEmpty { return }
    // A single block, because inline handlers of an event must not overlap.
    let observers = unsafe anchorReference.load()?.observers
    Scheduling.concurrentBlock { for target in left { target.deliverLeft(for: observers) } }
  }

  var rareState: RareState {
    rareStateReference.load() ?? makeRareState()
  }

  @inline(never) private func makeRareState() -> RareState { rareStateReference.set(RareState(type)) }

  // MARK: Executor

  // checkIsolated() isn't implemented. The default implementation traps if a thread outside the
  // core calls `assumeIsolated`; an empty implementation would allow data races.

  @usableFromInline package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe UnownedSerialExecutor(ordinary: self)
  }

  @usableFromInline package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let rareState = rareState
    let mustStart = mutex.withLock { unsafe rareState.isolatedCalls.append(job) }
    if mustStart { Scheduling.concurrentBlock { self.runIsolatedCalls(rareState) } }
  }

  /// A call doesn't enter the core until its block runs, so a busy pool doesn't keep the event
  /// busy, and no post has to wait for the call.
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

/// The bits above the flags hold the number of the thread inside the core, which tells a post
/// whether it comes from a handler of the event. They are 0 while a scheduled drain hasn't begun.
@usableFromInline package enum CoreState {
  @inlinable static var busy: UInt { 1 }
  /// Work has been enqueued since a drain last looked into the mailbox.
  @inlinable static var queued: UInt { 2 }
  /// Set on an idle event with a history, an observer or an `unhandled` event, so that
  /// ``EventCore/enter()`` fails. A drain clears the flag and sets it again when it leaves.
  @inlinable static var mustEnqueue: UInt { 4 }
  @inlinable package static var flags: UInt { 7 }
}

// Entering and leaving the core, and the event's anchor.
extension EventCore {
  // Isolation of the next three variables: core.
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

  /// A thread that is inside for a change or a few short calls leaves soon, and waiting for it
  /// costs both threads less than enqueueing.
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

  /// If an isolated call of the current task has just returned, the thread that ran it will leave
  /// without running more user code, so this waits for that thread. The wait ends early if the
  /// thread does other work.
  private func followLook(_ own: UInt) -> UInt {
    guard let look = rareStateReference.load()?.look else { return 0 }
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

  /// Doesn't retain the anchor, because threads that create and drop tokens contend for its
  /// reference count.
  @inlinable @inline(__always) func withAnchor<Result>(_ body: (EventAnchor) -> Result) -> Result {
    unsafe (anchorReference.lend() ?? .passUnretained(makeAnchor()))._withUnsafeGuaranteedRef(body)
  }

  @usableFromInline @inline(never) func makeAnchor() -> EventAnchor { anchorReference.set(EventAnchor(self)) }

  @inlinable func owns(_ token: HandlerToken) -> Bool { anchorReference.isSame(as: token.anchor) }

  @inlinable func remove(_ token: HandlerToken) -> Bool { owns(token) && remove(token.record) }
}
