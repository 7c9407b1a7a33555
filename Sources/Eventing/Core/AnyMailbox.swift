public import Synchronization

/// What a mailbox has whatever its payload: the word that lets one thread in at a time, and the lock beside it.
///
/// The word is ``idle`` when the event is idle. Bit 0: exactly one thread, or one scheduled drain, is inside. Bit 1: something is queued. The rest names the
/// thread that is inside (nothing while a drain is only scheduled), so that a post knows whether a handler of its own event makes it.
// Safe: `word` and `homeReference` are atomic; what else there is says who guards it.
@safe @usableFromInline class AnyMailbox: @unchecked Sendable {
  // What those write who find the event busy.
  @usableFromInline final let word = Atomic<UInt>(0)
  /// Guards the backlog, and lets threads that are outside read the table: that is changed under the lock, and only from inside.
  @usableFromInline final let lock = Lock()
  /// The event's own lock. Under the lock.
  @usableFromInline @exclusivity(unchecked) final var isGated = false
  /// `finish()` was called. Under the lock.
  @usableFromInline @exclusivity(unchecked) final var isFinished = false

  /// Two facts in one byte, which keeps an event within 160 bytes. Only from inside, or before anybody else knows the event.
  @usableFromInline @exclusivity(unchecked) final var traits: UInt8 = 0
  /// How many handlers want to know the instant at which a delivery begins. Only from inside.
  @usableFromInline @exclusivity(unchecked) final var clocked: Int32 = 0
  @usableFromInline final let homeReference = OnceReference<Home>()
  /// The first handler that the occurrence that is being delivered met dead; its row holds it. Only from inside.
  @usableFromInline @exclusivity(unchecked) final var firstRetired: Unmanaged<Record>?

  /// Some handler had an owner, so adding looks for those that are gone.
  @inlinable final var hasOwners: Bool {
    get { unsafe traits & 1 != 0 }
    set { unsafe traits = newValue ? traits | 1 : traits & ~1 }
  }
  /// The event keeps a history, or is observed: an idle one is entered through its queue alone.
  @inlinable final var isKeeping: Bool {
    get { unsafe traits & 2 != 0 }
    set { unsafe traits = newValue ? traits | 2 : traits & ~2 }
  }

  @inlinable init() {}

  /// Tidies away a handler whose life is over.
  @usableFromInline func reclaim(_ record: Record) { preconditionFailure("a mailbox has a payload") }

  // MARK: The way in and out

  /// Inside: the word of an idle event.
  @inlinable final var idle: UInt { isKeeping ? Word.keeping : 0 }

  /// Lets the calling thread in if the event is idle; gives what the word is while it is inside, or 0.
  @inlinable @inline(__always) final func enter() -> UInt {
    let own = Thread.current | Word.busy
    return word.compareExchange(expected: 0, desired: own, ordering: .acquiring).exchanged ? own : enterSoon(own)
  }

  /// The same if it falls idle within 1,000 looks, about a microsecond, and nothing is queued: who is inside for a change, or for a few short calls, is soon outside,
  /// and to be queued costs both more. It waits for nobody: it looks so many times, and that is all.
  @usableFromInline @inline(never) final func enterSoon(_ own: UInt) -> UInt {
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
  @inlinable @inline(__always) final func tryLeave(_ own: UInt) -> Bool {
    edge(.leaving)
    return word.compareExchange(expected: own, desired: 0, ordering: .releasing).exchanged
  }

  // MARK: Home

  /// Made with the first handler.
  @inlinable final var home: Home { homeReference.load() ?? makeHome() }

  /// Lends it without a reference count: those who make and drop tokens count there, too.
  @inlinable @inline(__always) final func withHome<Result>(_ body: (Home) -> Result) -> Result {
    unsafe (homeReference.lend() ?? .passUnretained(makeHome()))._withUnsafeGuaranteedRef(body)
  }

  @usableFromInline @inline(never) final func makeHome() -> Home { homeReference.set(Home(self)) }

  @inlinable final func isHome(of token: HandlerToken) -> Bool { homeReference.isSame(as: token.home) }
}

/// The three lowest bits of the mailbox's word.
@usableFromInline enum Word {
  @inlinable static var busy: UInt { 1 }
  @inlinable static var queued: UInt { 2 }
  /// Of an idle event that keeps a history, or is observed: it makes ``AnyMailbox/enter()`` fail.
  @inlinable static var keeping: UInt { 4 }
  @inlinable static var flags: UInt { 7 }
}
