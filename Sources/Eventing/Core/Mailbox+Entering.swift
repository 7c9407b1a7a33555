public import Synchronization

// The way in and out, and the event's home.
extension Mailbox {
  /// Some handler had an owner, so adding looks for those that are gone.
  @inlinable var hasOwners: Bool {
    get { unsafe traits & 1 != 0 }
    set { unsafe traits = newValue ? traits | 1 : traits & ~1 }
  }
  /// The event keeps a history, or is observed: an idle one is entered through its queue alone.
  @inlinable var isKeeping: Bool {
    get { unsafe traits & 2 != 0 }
    set { unsafe traits = newValue ? traits | 2 : traits & ~2 }
  }

  // MARK: The way in and out

  /// Inside: the word of an idle event.
  @inlinable var idle: UInt { isKeeping ? Word.keeping : 0 }

  /// Lets the calling thread in if the event is idle; gives what the word is while it is inside, or 0.
  @inlinable @inline(__always) func enter() -> UInt {
    let own = Thread.current | Word.busy
    return word.compareExchange(expected: 0, desired: own, ordering: .acquiring).exchanged ? own : enterSoon(own)
  }

  /// The same if it falls idle within 1,000 looks, about a microsecond, and nothing is queued: who is inside for a change, or for a few short calls, is soon outside,
  /// and to be queued costs both more. It waits for nobody: it looks so many times, and that is all.
  @usableFromInline @inline(never) func enterSoon(_ own: UInt) -> UInt {
    for _ in 0..<1_000 {
      let seen = word.load(ordering: .relaxed)
      if seen == 0 {
        if word.compareExchange(expected: 0, desired: own, ordering: .acquiring).exchanged { return own }
      } else if seen & (Word.queued | Word.keeping) != 0 || seen == own || seen == Word.busy {
        return 0  // or who posts is a handler of this event, or its drain is to start
      }
    }
    return 0
  }

  /// True if nothing was queued meanwhile, and the thread is outside again.
  @inlinable @inline(__always) func tryLeave(_ own: UInt) -> Bool {
    edge(.leaving)
    return word.compareExchange(expected: own, desired: 0, ordering: .releasing).exchanged
  }

  // MARK: Home

  /// Made with the first handler.
  @inlinable var home: Home { homeReference.load() ?? makeHome() }

  /// Lends it without a reference count: those who make and drop tokens count there, too.
  @inlinable @inline(__always) func withHome<Result>(_ body: (Home) -> Result) -> Result {
    unsafe (homeReference.lend() ?? .passUnretained(makeHome()))._withUnsafeGuaranteedRef(body)
  }

  @usableFromInline @inline(never) func makeHome() -> Home { homeReference.set(Home(self)) }

  @inlinable func isHome(of token: HandlerToken) -> Bool { homeReference.isSame(as: token.home) }
}

/// The three lowest bits of the mailbox's word.
@usableFromInline enum Word {
  @inlinable static var busy: UInt { 1 }
  @inlinable static var queued: UInt { 2 }
  /// Of an idle event that keeps a history, or is observed: it makes ``Mailbox/enter()`` fail.
  @inlinable static var keeping: UInt { 4 }
  @inlinable static var flags: UInt { 7 }
}
