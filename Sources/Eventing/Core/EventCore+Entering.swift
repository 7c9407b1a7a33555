public import Synchronization

// The way in and out, and the event's identity.
extension EventCore {
  /// Some handler had an owner, so adding looks for those that are gone.
  @inlinable var hasOwners: Bool {
    get { unsafe traits & 1 != 0 }
    set { unsafe traits = newValue ? traits | 1 : traits & ~1 }
  }
  /// The event keeps a history, or is observed: an idle one is entered through its queue alone.
  @inlinable var mustEnqueue: Bool {
    get { unsafe traits & 2 != 0 }
    set { unsafe traits = newValue ? traits | 2 : traits & ~2 }
  }

  // MARK: The way in and out

  /// Inside: the word of an idle event.
  @inlinable var idle: UInt { mustEnqueue ? CoreState.mustEnqueue : 0 }

  /// Lets the calling thread in if the event is idle; gives what the word is while it is inside, or 0.
  @inlinable @inline(__always) func enter() -> UInt {
    let own = Thread.current | CoreState.busy
    return word.compareExchange(expected: 0, desired: own, ordering: .acquiring).exchanged ? own : enterSoon(own)
  }

  /// The same if it falls idle within 1,000 looks, about a microsecond, and nothing is queued: who is inside for a change, or for a few short calls, is soon outside,
  /// and to be queued costs both more. It waits for nobody: it looks so many times, and that is all.
  @usableFromInline @inline(never) func enterSoon(_ own: UInt) -> UInt {
    for _ in 0..<1_000 {
      let seen = word.load(ordering: .relaxed)
      if seen == 0 {
        if word.compareExchange(expected: 0, desired: own, ordering: .acquiring).exchanged { return own }
      } else if seen & (CoreState.queued | CoreState.mustEnqueue) != 0 || seen == own || seen == CoreState.busy {
        return 0  // or who posts is a handler of this event, or its drain is to start
      }
    }
    return 0
  }

  /// True if nothing was queued meanwhile, and the thread is outside again.
  @inlinable @inline(__always) func tryLeave(_ own: UInt) -> Bool {
    syncPoint(.leaving)
    return word.compareExchange(expected: own, desired: 0, ordering: .releasing).exchanged
  }

  // MARK: EventIdentity

  /// Made with the first handler.
  @inlinable var identity: EventIdentity { identityReference.load() ?? makeIdentity() }

  /// Lends it without a reference count: those who make and drop tokens count there, too.
  @inlinable @inline(__always) func withIdentity<Result>(_ body: (EventIdentity) -> Result) -> Result {
    unsafe (identityReference.lend() ?? .passUnretained(makeIdentity()))._withUnsafeGuaranteedRef(body)
  }

  @usableFromInline @inline(never) func makeIdentity() -> EventIdentity { identityReference.set(EventIdentity(self)) }

  @inlinable func owns(_ token: HandlerToken) -> Bool { identityReference.isSame(as: token.identity) }
}

/// The three lowest flags of the core's word.
@usableFromInline enum CoreState {
  @inlinable static var busy: UInt { 1 }
  @inlinable static var queued: UInt { 2 }
  /// Of an idle event that keeps a history, or is observed: it makes ``EventCore/enter()`` fail.
  @inlinable static var mustEnqueue: UInt { 4 }
  @inlinable static var flags: UInt { 7 }
}
