public import Synchronization

// Entering and leaving a core, and the event's anchor.
extension EventCore {
  /// Whether some handler has had an owner. If so, each addition of a handler also searches for
  /// handlers whose owner is gone. Isolation: core.
  @inlinable var hasOwners: Bool {
    get { unsafe traits & 1 != 0 }
    set { unsafe traits = newValue ? traits | 1 : traits & ~1 }
  }

  /// Whether the event keeps a history, is observed or has an `unhandled` event, so that
  /// ``enter()`` fails even if the event is idle. Isolation: core.
  @inlinable var mustEnqueue: Bool {
    get { unsafe traits & 2 != 0 }
    set { unsafe traits = newValue ? traits | 2 : traits & ~2 }
  }

  /// The state word of this event while it is idle. Isolation: core.
  @inlinable var idle: UInt { mustEnqueue ? CoreState.mustEnqueue : 0 }

  /// Enters the core with the calling thread if the event is idle, or soon becomes idle.
  ///
  /// - Returns: The state word while the thread is inside, for ``leave(_:)``; 0 if the event is
  ///   busy.
  @inlinable @inline(__always) func enter() -> UInt {
    let own = Thread.current | CoreState.busy
    return stateWord.compareExchange(expected: 0, desired: own, ordering: .acquiring).exchanged ? own : enterSoon(own)
  }

  /// Spins for about a microsecond for the event to become idle, and enters it then. Never blocks.
  ///
  /// A thread that is inside for a change, or for a few short calls, soon leaves. Enqueueing would
  /// cost both threads more.
  ///
  /// - Returns: The state word, as ``enter()`` returns it; 0 if the event is still busy.
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

  /// Waits for the thread inside to leave, and enters the core, if that thread has just run an
  /// isolated call, such as that of ``HandlerRegistry/handlers(where:)``, for the calling task.
  ///
  /// The call has returned, because its task is here. So the thread inside only has to leave: it
  /// runs no more code of the user's before. If it goes on with other work, this wait ends.
  ///
  /// - Returns: The state word, as ``enter()`` returns it; 0 if the event is busy for another
  ///   reason, or every occurrence must be enqueued.
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

  /// Leaves the core unless work was enqueued meanwhile. Returns whether the thread has left.
  @inlinable @inline(__always) func tryLeave(_ own: UInt) -> Bool {
    syncPoint(.leaving)
    return stateWord.compareExchange(expected: own, desired: 0, ordering: .releasing).exchanged
  }

  /// Leaves the core. If that fails because work was enqueued, drains the mailbox or hands it off.
  @inlinable @inline(__always) func leave(_ own: UInt) {
    if !tryLeave(own) { leaveWithWork(own & ~CoreState.flags) }
  }

  /// Drains the mailbox, or hands it off, if the calling thread is inside the core. It is not if it
  /// has handed its occurrence off: see ``setAside(_:_:)``.
  @usableFromInline @inline(never) func leaveWithWork(_ thread: UInt) {
    if stateWord.load(ordering: .relaxed) & ~CoreState.flags == thread { drain(thread) }
  }

  /// The sequence number of the last occurrence whose delivery began. Only the thread inside the
  /// core changes it. Any thread may read it.
  @inlinable package var sequence: UInt64 {
    @inline(__always) get { sequenceWord.load(ordering: .relaxed) }
    @inline(__always) set { sequenceWord.store(newValue, ordering: .relaxed) }
  }

  // MARK: Anchor

  /// The anchor. It is created when it is first needed.
  @inlinable package var anchor: EventAnchor { anchorReference.load() ?? makeAnchor() }

  /// Lends the anchor to a closure without a retain, because threads that create and drop tokens
  /// contend for the anchor's reference count.
  @inlinable @inline(__always) func withAnchor<Result>(_ body: (EventAnchor) -> Result) -> Result {
    unsafe (anchorReference.lend() ?? .passUnretained(makeAnchor()))._withUnsafeGuaranteedRef(body)
  }

  @usableFromInline @inline(never) func makeAnchor() -> EventAnchor { anchorReference.set(EventAnchor(self)) }

  /// Returns whether a token names a handler of this event.
  @inlinable func owns(_ token: HandlerToken) -> Bool { anchorReference.isSame(as: token.anchor) }

  /// Removes a handler: see ``HandlerRegistry/remove(_:)``. Views call this, as it needs no
  /// conformance of the generic event.
  @inlinable func remove(_ token: HandlerToken) -> Bool { owns(token) && remove(token.record) }
}
