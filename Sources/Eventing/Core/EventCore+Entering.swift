public import Synchronization

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
