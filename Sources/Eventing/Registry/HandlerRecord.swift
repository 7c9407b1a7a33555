public import Synchronization

/// The flags of a handler's state. With none of `HandlerFlags.slowPathMask` set, there is nothing to decide: call it.
@usableFromInline enum HandlerFlags {
  /// It was removed, or its owner or event is gone.
  @usableFromInline static var removed: UInt32 { 1 << 0 }
  /// A once handler whose call has begun.
  @usableFromInline static var spent: UInt32 { 1 << 1 }
  /// Under `lock(token)` and its like.
  @usableFromInline static var locked: UInt32 { 1 << 2 }
  /// Under the event's own lock: in every record, so that a call pays nothing for it.
  @usableFromInline static var eventLocked: UInt32 { 1 << 3 }
  /// Called at most once.
  @usableFromInline static var once: UInt32 { 1 << 4 }
  /// It has an owner, or runs elsewhere, or wants more than the payload.
  @usableFromInline static var needsSlowPath: UInt32 { 1 << 5 }
  /// Its record is a ``DetailedRecord``. The one bit that calls for no decision.
  @usableFromInline static var detailed: UInt32 { 1 << 6 }
  /// A lock of it holds, or did: there is a ``HoldingBuffer``, and its locks change under the core's lock only, and end from inside.
  @usableFromInline static var hasHoldingBuffer: UInt32 { 1 << 7 }
  /// What it is locked for is kept.
  @usableFromInline static var isHolding: UInt32 { 1 << 8 }
  /// One `withLocked` that is running; the flags from here up count them.
  @usableFromInline static var scopedLock: UInt32 { 1 << 9 }

  @usableFromInline static var ended: UInt32 { removed | spent }
  @usableFromInline static var lockedByCaller: UInt32 { locked | ~(scopedLock - 1) }
  @usableFromInline static var lockedAtAll: UInt32 { eventLocked | lockedByCaller }
  @usableFromInline static var notCallable: UInt32 { ended | lockedAtAll }
  @usableFromInline static var slowPathMask: UInt32 { ~detailed }
}

/// What a token names: a handler's state, which any thread may change at any time, and its place in the table.
///
/// It holds no closure, so a token that is kept keeps nothing else alive. 40 bytes, the most that fit into malloc's block of 48.
// Safe: `state` is atomic, `id` never changes, and `index` and `offeredBefore` are touched only from inside the core.
@usableFromInline class HandlerRecord: @unchecked Sendable {
  @usableFromInline final let state: Atomic<UInt32>
  /// The slot in its bucket; -1 before it joined and after it was tidied away.
  @usableFromInline @exclusivity(unchecked) final var index: Int32 = -1
  /// Never used again, by whatever event.
  @usableFromInline final let id: UInt64
  /// The sequence number of the last occurrence before it joined.
  @usableFromInline @exclusivity(unchecked) final var offeredBefore: UInt64 = 0

  @usableFromInline static let nextID = Atomic<UInt64>(1)

  @usableFromInline init(_ flags: UInt32) {
    state = Atomic(flags)
    id = HandlerRecord.nextID.wrappingAdd(1, ordering: .relaxed).oldValue
  }

  @usableFromInline final func has(_ flags: UInt32) -> Bool { state.load(ordering: .acquiring) & flags != 0 }
  @usableFromInline @discardableResult final func set(_ flags: UInt32) -> UInt32 {
    state.bitwiseOr(flags, ordering: .acquiringAndReleasing).oldValue
  }
  @usableFromInline @discardableResult final func clear(_ flags: UInt32) -> UInt32 {
    state.bitwiseAnd(~flags, ordering: .acquiringAndReleasing).oldValue
  }

  /// The one atomic step directly before a call. A call that is refused spends nothing, so there is nothing to give back.
  @usableFromInline final func claim() -> Bool {
    syncPoint(.claiming)
    var seen = state.load(ordering: .acquiring)
    while seen & HandlerFlags.refusingClaims == 0 {
      if seen & HandlerFlags.once == 0 { return true }
      let (done, now) = state.compareExchange(
        expected: seen, desired: seen | HandlerFlags.spentByClaim, ordering: .acquiringAndReleasing)
      if done { return true }
      seen = now
    }
    return false
  }

  /// True for the one caller that ends the handler's life. A once handler that was not called by then never is.
  @usableFromInline final func deactivate() -> Bool { set(HandlerFlags.removed) & HandlerFlags.ended == 0 }

  /// Changes the flags of its locks, unless one of them holds; gives what they were, or nil.
  final func changeUnlessHeld(_ change: (UInt32) -> UInt32) -> UInt32? {
    var seen = state.load(ordering: .acquiring)
    while seen & HandlerFlags.hasHoldingBuffer == 0 {
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
// Safe: what changes is touched only from inside the core.
@safe @usableFromInline final class DetailedRecord: HandlerRecord, @unchecked Sendable {
  @usableFromInline let options: HandlerOptions
  @usableFromInline let place: ExecutionPlace
  /// Where its lane is in `PendingWork.ending`; -1 for nowhere.
  @usableFromInline @exclusivity(unchecked) var retiringIndex: Int32 = -1
  /// How it runs, unless it is called inline with the payload alone. Given up when the handler goes.
  @usableFromInline @exclusivity(unchecked) var runner: HandlerRunner?
  /// The lane, if that is all there is to `runner`: no owner to ask for. Lent without a retain; `runner` holds it.
  @usableFromInline @exclusivity(unchecked) var plainLane: Unmanaged<SerialLane>?
  /// The same of a sequence.
  @usableFromInline @exclusivity(unchecked) var plainSequence: Unmanaged<SequenceSink>?
  /// It is a view, and how it is called if there is nothing to decide.
  @usableFromInline @exclusivity(unchecked) var view: ErasedView?
  /// How many posts said nothing to it.
  @usableFromInline @exclusivity(unchecked) var unheard = 0
  /// The body of its slot gives posts to the lane.
  @usableFromInline @exclusivity(unchecked) var takesPosts = false
  /// What it listens to on a keyed event, unless that is every key: the user's, so it is given up before the record goes, which may be under the lock.
  @usableFromInline @exclusivity(unchecked) var key: AnyKeyBox?
  /// The table that it is in, if that is not the core's own.
  @usableFromInline @exclusivity(unchecked) var keyTable: KeyTable?

  @usableFromInline init(_ flags: UInt32, _ options: HandlerOptions, _ place: ExecutionPlace) {
    self.options = options
    self.place = place
    super.init(flags | HandlerFlags.detailed)
  }

  /// It is no call: a sequence, or another event, gets it.
  var isHandedOver: Bool { if case .sequence = place { true } else { options.isForward } }
}

extension HandlerRecord {
  /// The details, if it has any.
  @usableFromInline final var details: DetailedRecord? {
    guard state.load(ordering: .relaxed) & HandlerFlags.detailed != 0 else { return nil }
    // Safe: the bit is set by DetailedRecord.init alone.
    return unsafe unsafeDowncast(self, to: DetailedRecord.self)
  }

  /// Whether it is called before a value changes, too.
  @usableFromInline final var wantsPrior: Bool { details?.options.wantsPrior ?? false }
}
