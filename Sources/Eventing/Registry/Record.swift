public import Synchronization

/// The bits of a handler's state. With none of `Bit.decide` set, there is nothing to decide: call it.
@usableFromInline enum Bit {
  /// It was removed, or its owner or event is gone.
  @usableFromInline static var removed: UInt32 { 1 << 0 }
  /// A once handler whose call has begun.
  @usableFromInline static var spent: UInt32 { 1 << 1 }
  /// Under `lock(token)` and its like.
  @usableFromInline static var locked: UInt32 { 1 << 2 }
  /// Under the event's own lock: in every record, so that a call pays nothing for it.
  @usableFromInline static var gated: UInt32 { 1 << 3 }
  /// Called at most once.
  @usableFromInline static var once: UInt32 { 1 << 4 }
  /// It has an owner, or runs elsewhere, or wants more than the payload.
  @usableFromInline static var special: UInt32 { 1 << 5 }
  /// Its record is a ``DetailedRecord``. The one bit that calls for no decision.
  @usableFromInline static var detailed: UInt32 { 1 << 6 }
  /// A lock of it holds, or did: there is a ``Hold``, and its locks change under the mailbox's lock only, and end from inside.
  @usableFromInline static var held: UInt32 { 1 << 7 }
  /// What it is locked for is kept.
  @usableFromInline static var holds: UInt32 { 1 << 8 }
  /// One `withLocked` that is running; the bits from here up count them.
  @usableFromInline static var scope: UInt32 { 1 << 9 }

  @usableFromInline static var gone: UInt32 { removed | spent }
  @usableFromInline static var lockedOrInScope: UInt32 { locked | ~(scope - 1) }
  @usableFromInline static var silent: UInt32 { gated | lockedOrInScope }
  @usableFromInline static var mute: UInt32 { gone | silent }
  @usableFromInline static var decide: UInt32 { ~detailed }
}

/// What a token names: a handler's state, which any thread may change at any time, and its place in the table.
///
/// It holds no closure, so a token that is kept keeps nothing else alive. 40 bytes, the most that fit into malloc's block of 48.
// Safe: `state` is atomic, `id` never changes, and `slot` and `joined` are touched only from inside the mailbox.
@usableFromInline class Record: @unchecked Sendable {
  @usableFromInline final let state: Atomic<UInt32>
  /// The row in its band; -1 before it joined and after it was tidied away.
  @usableFromInline @exclusivity(unchecked) final var slot: Int32 = -1
  /// Never used again, by whatever event.
  @usableFromInline final let id: UInt64
  /// The sequence number of the last occurrence before it joined.
  @usableFromInline @exclusivity(unchecked) final var joined: UInt64 = 0

  @usableFromInline static let nextID = Atomic<UInt64>(1)

  @usableFromInline init(_ bits: UInt32) {
    state = Atomic(bits)
    id = Record.nextID.wrappingAdd(1, ordering: .relaxed).oldValue
  }

  @usableFromInline final func has(_ bits: UInt32) -> Bool { state.load(ordering: .acquiring) & bits != 0 }
  @usableFromInline @discardableResult final func set(_ bits: UInt32) -> UInt32 {
    state.bitwiseOr(bits, ordering: .acquiringAndReleasing).oldValue
  }
  @usableFromInline @discardableResult final func clear(_ bits: UInt32) -> UInt32 {
    state.bitwiseAnd(~bits, ordering: .acquiringAndReleasing).oldValue
  }

  /// The one atomic step directly before a call. A call that is refused spends nothing, so there is nothing to give back.
  @usableFromInline final func claim() -> Bool {
    edge(.claiming)
    var seen = state.load(ordering: .acquiring)
    while seen & Bit.mute == 0 || (mutant(.claimIgnoresLocks) && seen & Bit.gone == 0)
      || (mutant(.claimIgnoresRemovals) && seen & Bit.silent == 0)
    {
      if seen & Bit.once == 0 || mutant(.onceIsNotSpent) { return true }
      let (done, now) = state.compareExchange(expected: seen, desired: seen | Bit.spent, ordering: .acquiringAndReleasing)
      if done { return true }
      seen = now
    }
    return false
  }

  /// True for the one caller that ends the handler's life. A once handler that was not called by then never is.
  @usableFromInline final func end() -> Bool { set(Bit.removed) & Bit.gone == 0 }

  /// Changes the bits of its locks, unless one of them holds; gives what they were, or nil.
  final func changeUnlessHeld(_ change: (UInt32) -> UInt32) -> UInt32? {
    var seen = state.load(ordering: .acquiring)
    while seen & Bit.held == 0 {
      let (done, now) = state.compareExchange(expected: seen, desired: change(seen), ordering: .acquiringAndReleasing)
      if done { return seen }
      seen = now
    }
    return nil
  }

  /// Gives what they were.
  @discardableResult final func change(_ change: (UInt32) -> UInt32) -> UInt32 {
    var seen = state.load(ordering: .acquiring)
    while true {
      let (done, now) = state.compareExchange(expected: seen, desired: change(seen), ordering: .acquiringAndReleasing)
      if done { return seen }
      seen = now
    }
  }
}

/// The record of a handler that has a name, tags, a priority or an owner, or that is not simply called inline.
// Safe: what changes is touched only from inside the mailbox.
@safe @usableFromInline final class DetailedRecord: Record, @unchecked Sendable {
  @usableFromInline let options: HandlerOptions
  @usableFromInline let place: Place
  /// Where its lane is in `Backlog.ending`; -1 for nowhere.
  @usableFromInline @exclusivity(unchecked) var endingSlot: Int32 = -1
  /// How it runs, unless it is called inline with the payload alone. Given up when the handler goes.
  @usableFromInline @exclusivity(unchecked) var work: Work?
  /// The lane, if that is all there is to `work`: no owner to ask for. Lent without a retain; `work` holds it.
  @usableFromInline @exclusivity(unchecked) var plainLane: Unmanaged<SerialLane>?
  /// The same of a sequence.
  @usableFromInline @exclusivity(unchecked) var plainSequence: Unmanaged<SequenceLane>?
  /// It is a view, and how it is called if there is nothing to decide.
  @usableFromInline @exclusivity(unchecked) var viewer: ErasedView?
  /// How many posts said nothing to it.
  @usableFromInline @exclusivity(unchecked) var unheard = 0
  /// The body of its row gives posts to the lane.
  @usableFromInline @exclusivity(unchecked) var takesPosts = false
  /// What it listens to on a keyed event, unless that is every key: the user's, so it is given up before the record goes, which may be under the lock.
  @usableFromInline @exclusivity(unchecked) var address: Address?
  /// The table that it is in, if that is not the mailbox's own.
  @usableFromInline @exclusivity(unchecked) var addressTable: AddressTable?

  @usableFromInline init(_ bits: UInt32, _ options: HandlerOptions, _ place: Place) {
    self.options = options
    self.place = place
    super.init(bits | Bit.detailed)
  }

  /// It is no call: a sequence, or another event, gets it.
  var isHandedOver: Bool { if case .sequence = place { true } else { options.isForward } }
}

extension Record {
  /// The details, if it has any.
  @usableFromInline final var details: DetailedRecord? {
    guard state.load(ordering: .relaxed) & Bit.detailed != 0 else { return nil }
    // Safe: the bit is set by DetailedRecord.init alone.
    return unsafe unsafeDowncast(self, to: DetailedRecord.self)
  }

  /// Whether it is called before a value changes, too.
  @usableFromInline final var wantsPrior: Bool { details?.options.wantsPrior ?? false }
}
