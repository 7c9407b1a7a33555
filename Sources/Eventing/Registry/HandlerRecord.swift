package import Synchronization

/// The record of a handler: its state, which any thread may change at any time, and its place in
/// the table. The handler's tokens hold the record.
///
/// A record holds no closure, or releases it when the handler is retired. So a token keeps nothing
/// else alive. In a release build a record takes 40 bytes, the most that fit into a block of 48
/// bytes of glibc's `malloc`.
// Safe: `state` is atomic, and `id` never changes. The other fields say what guards them.
@usableFromInline package class HandlerRecord: @unchecked Sendable {
  package final let state: Atomic<UInt32>
  /// The index of the slot in its bucket; -1 before the handler is added, and after it is
  /// unregistered. Read by the thread inside the core, or under `core.mutex`. Changed by the thread
  /// inside, under the mutex.
  @exclusivity(unchecked) package final var index: Int32 = -1
  /// A number that no other handler of any event has, had or will have.
  package final let id: UInt64
  /// The number of occurrences that the handler's table had when the handler was added, minus the
  /// payloads that the handler received outside of occurrences, such as replayed ones. A snapshot
  /// subtracts this number from the table's present one, to count what was offered to the handler.
  /// Changed only inside the core; read by any thread.
  package final let offeredBefore = Atomic<UInt64>(0)

  #if DEBUG
    /// The place in the source where the handler was made.
    @usableFromInline final let source: SourceLine
  #endif

  static let nextID = Atomic<UInt64>(1)

  /// - Parameter source: The place in the source. A release build forgets it, except in a
  ///   ``DetailedRecord``.
  init(_ flags: UInt32, _ source: SourceLine = .none) {
    state = Atomic(flags)
    #if DEBUG
      self.source = source
    #endif
    id = HandlerRecord.nextID.wrappingAdd(1, ordering: .relaxed).oldValue
  }

  package final func has(_ flags: UInt32) -> Bool { state.load(ordering: .acquiring) & flags != 0 }
  @discardableResult final func set(_ flags: UInt32) -> UInt32 {
    state.bitwiseOr(flags, ordering: .acquiringAndReleasing).oldValue
  }
  @discardableResult final func clear(_ flags: UInt32) -> UInt32 {
    state.bitwiseAnd(~flags, ordering: .acquiringAndReleasing).oldValue
  }

  /// Claims a call: the one atomic step directly before it. Returns false if the call must not
  /// begin.
  ///
  /// One step uses up a once handler and checks the other flags, so no claim has to be undone.
  @inline(__always) final func claim() -> Bool {
    syncPoint(.claiming)
    let needsMore = HandlerFlags.refusingClaims | HandlerFlags.once | HandlerFlags.sharesClaim
    return state.load(ordering: .acquiring) & needsMore == 0 || claimOnce()
  }

  /// Claims a call of a handler that may be used up, shares its claims, or may not be called.
  @inline(never) private final func claimOnce() -> Bool {
    var seen = state.load(ordering: .acquiring)
    while seen & HandlerFlags.refusingClaims == 0 {
      if seen & HandlerFlags.once == 0 { return claimShared() }
      let (done, now) = state.compareExchange(
        expected: seen, desired: seen | HandlerFlags.spentByClaim, ordering: .acquiringAndReleasing)
      if done { return claimShared() }
      seen = now
    }
    return false
  }

  /// Claims the call for the record that shares its claims, if there is one. If that record has
  /// ended, this one ends, too.
  private final func claimShared() -> Bool {
    guard let shared = details?.options.sharedClaim, !shared.claim() else { return true }
    shared.end(self)
    return false
  }

  /// Deactivates the handler: no call is claimed afterwards. Returns true to the one caller that
  /// ends the handler's life.
  final func deactivate() -> Bool { set(HandlerFlags.removed) & HandlerFlags.ended == 0 }

  /// Changes the flags of locks, unless the handler has a holding buffer.
  ///
  /// - Returns: The flags before the change; `nil` if there is a holding buffer.
  final func changeUnlessHolding(_ change: (UInt32) -> UInt32) -> UInt32? {
    var seen = state.load(ordering: .acquiring)
    while seen & HandlerFlags.hasHoldingBuffer == 0 {
      let (done, now) = state.compareExchange(expected: seen, desired: change(seen), ordering: .acquiringAndReleasing)
      if done { return seen }
      seen = now
    }
    return nil
  }

  /// Changes the flags. Returns the flags before the change.
  @discardableResult final func change(_ change: (UInt32) -> UInt32) -> UInt32 {
    var seen = state.load(ordering: .acquiring)
    while true {
      let (done, now) = state.compareExchange(expected: seen, desired: change(seen), ordering: .acquiringAndReleasing)
      if done { return seen }
      seen = now
    }
  }
}

/// The record of a handler that has options, or that is not simply called inline with the payload.
// Safe: `options`, `place` and `delays` never change, and `otherSkips` is atomic. The other fields
// are set before the record is shared. After that only the thread inside the core changes them. It
// changes `route`, `key` and `keyTable` under `core.mutex`, because polls read these three under
// that mutex.
@safe @usableFromInline package final class DetailedRecord: HandlerRecord, @unchecked Sendable {
  package let options: HandlerOptions
  package let place: ExecutionPlace
  /// The delays between attempts; `nil` for a handler that is not tried again.
  let delays: HandlerDelays?
  #if !DEBUG
    /// The place in the source where the handler was made.
    let detailedSource: SourceLine
  #endif
  /// The index of the handler's lane in `PendingWork.retiringLanes`; -1 if the lane is not there.
  /// Isolation: core.
  @exclusivity(unchecked) var retiringIndex: Int32 = -1
  /// How the handler runs; `nil` if it is called inline with the payload alone, or has been
  /// retired. Isolation: core.
  @exclusivity(unchecked) var route: HandlerRoute?
  /// The lane of `route`, if it has one and the handler has no owner. Not retained by this field,
  /// because `route` retains the lane. Isolation: core.
  @exclusivity(unchecked) var plainMember: Unmanaged<HandlerQueue>?
  /// The sink of `route`, if the handler is a sequence and has no owner. Not retained by this
  /// field, because `route` retains the sink. Isolation: core.
  @exclusivity(unchecked) var plainSequence: Unmanaged<SequenceSink>?
  /// The closure of an inline handler behind a view, which transforms the payload and calls the
  /// handler; `nil` if the handler has no such closure. Used unless the handler's flags demand
  /// `EventCore.decide`, which looks for locks and the end of the handler, and claims the call of a
  /// once handler. Isolation: core.
  @exclusivity(unchecked) var view: ErasedView?
  /// The number of skipped occurrences that `HandlerSlot.skipped` does not include: posts on the
  /// fast path for which the handler's view had no payload. If the handler is unregistered while
  /// its lane still holds items, its slot goes. Then the number in `HandlerSlot.skipped` is added
  /// to this one. Changed only inside the core; read by any thread.
  package let otherSkips = Atomic<Int>(0)
  /// Whether the closure of the slot is all that a post needs. The closure enqueues the payload on
  /// the lane, gives it to the sequence, or retains the owner of an inline handler and calls the
  /// handler.
  /// Isolation: core.
  @exclusivity(unchecked) var hasPostBody = false
  /// The key that the handler listens to; `nil` for all keys, or if the handler has been retired.
  ///
  /// The key is the user's, and the record may be released under a mutex. So the key is released
  /// earlier, when the handler is retired. Isolation: core.
  @exclusivity(unchecked) package var key: AnyKeyBox?
  /// The table of the handler's key; `nil` if the handler is in the core's own table, or has been
  /// unregistered.
  /// Isolation: core.
  @exclusivity(unchecked) package var keyTable: KeyTable?

  init(
    _ flags: UInt32, _ options: HandlerOptions, _ place: ExecutionPlace, _ source: SourceLine, isRetried: Bool = false
  ) {
    self.options = options
    self.place = place
    delays = isRetried ? HandlerDelays() : nil
    #if !DEBUG
      detailedSource = source
    #endif
    super.init(flags | HandlerFlags.detailed, source)
  }

  /// Counts skipped occurrences in ``otherSkips``. Isolation: core.
  func countOtherSkips(_ count: Int) {
    otherSkips.store(otherSkips.load(ordering: .relaxed) &+ count, ordering: .relaxed)
  }

  /// Whether the handler calls nothing, but hands the payload over: to a sequence, to another
  /// event, or out of the process.
  var isHandedOver: Bool { if case .sequence = place { true } else { options.isForward } }
}

extension HandlerRecord {
  /// The record with its details; `nil` if it has none.
  package final var details: DetailedRecord? {
    guard state.load(ordering: .relaxed) & HandlerFlags.detailed != 0 else { return nil }
    // Safe: only DetailedRecord.init sets the flag.
    return unsafe unsafeDowncast(self, to: DetailedRecord.self)
  }

  #if !DEBUG
    /// The place in the source where the handler was made; none if the record has no details.
    final var source: SourceLine { details?.detailedSource ?? .none }
  #endif

  /// The lane or sequence of the handler; `nil` if it is called inline, or has been retired.
  package final var target: DeliveryTarget? { unsafe details?.route?.target }

  /// The place in the source where the handler was made, if it is known.
  package final var fileAndLine: (fileID: String, line: Int)? {
    guard let fileID = source.fileID, let line = source.line else { return nil }
    return (fileID, line)
  }

  /// The name of the handler; without one, its file and line, or its number.
  package final var title: String {
    details?.options.name ?? SourceLine.text(source.fileID, source.line) ?? "handler \(id)"
  }

  /// Whether the handler is also called before a value changes.
  final var wantsPrior: Bool { details?.options.wantsPrior ?? false }
}
