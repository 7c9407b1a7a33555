package import Synchronization

/// Tokens retain the record. It has no closure or releases it when the handler is retired, so a
/// token keeps nothing else alive. Takes 40 bytes in a release build, the most that fits a 48-byte
/// block of glibc's `malloc`.
// Safe: `state` is atomic, and `id` never changes. The other fields say what guards them.
@usableFromInline package class HandlerRecord: ComparedByIdentity, @unchecked Sendable {
  package final let state: Atomic<UInt32>
  /// Read inside the core or under `core.mutex`. Changed inside, under the mutex.
  @exclusivity(unchecked) package final var index: Int32 = -1
  package final let id: UInt64
  /// A snapshot subtracts this from the table's occurrences. Changed only inside the core.
  package final let offeredBefore = Atomic<UInt64>(0)

  #if DEBUG
    @usableFromInline final let source: SourceLine
  #endif

  static let nextID = Atomic<UInt64>(1)

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

  /// A single atomic step, so that no claim has to be undone.
  @inline(__always) final func claim() -> Bool {
    syncPoint(.claiming)
    let needsMore = HandlerFlags.refusingClaims | HandlerFlags.once | HandlerFlags.sharesClaim
    return state.load(ordering: .acquiring) & needsMore == 0 || claimOnce()
  }

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

  private final func claimShared() -> Bool {
    guard let shared = details?.options.sharedClaim, !shared.claim() else { return true }
    shared.end(self)
    return false
  }

  final func deactivate() -> Bool { set(HandlerFlags.removed) & HandlerFlags.ended == 0 }

  /// `nil` if the record has one of `flags`; it isn't changed in that case.
  @discardableResult final func change(unless flags: UInt32 = 0, _ change: (UInt32) -> UInt32) -> UInt32? {
    var seen = state.load(ordering: .acquiring)
    while seen & flags == 0 {
      let (done, now) = state.compareExchange(expected: seen, desired: change(seen), ordering: .acquiringAndReleasing)
      if done { return seen }
      seen = now
    }
    return nil
  }
}

// Safe: `options`, `place` and `delays` never change, and `otherSkips` is atomic. The other fields
// are set before the record is shared and then changed only by the thread inside the core. It
// changes `route`, `key` and `keyTable` under `core.mutex`, because polls read them under that
// mutex.
@safe @usableFromInline package final class DetailedRecord: HandlerRecord, @unchecked Sendable {
  package let options: HandlerOptions
  package let place: ExecutionPlace
  let delays: HandlerDelays?
  #if !DEBUG
    let detailedSource: SourceLine
  #endif
  @exclusivity(unchecked) var retiringIndex: Int32 = -1
  @exclusivity(unchecked) var route: HandlerRoute?
  /// Retained by `route`. Isolation: core.
  @exclusivity(unchecked) var queueWithoutOwner: Unmanaged<LaneQueue>?
  /// Retained by `route`. Isolation: core.
  @exclusivity(unchecked) var plainSequence: Unmanaged<SequenceSink>?
  @exclusivity(unchecked) var view: ErasedView?
  /// Changed only inside the core.
  package let otherSkips = Atomic<Int>(0)
  @exclusivity(unchecked) var hasPostBody = false
  /// Released when the handler is retired, because the record itself may be released under a mutex.
  /// Isolation: core.
  @exclusivity(unchecked) package var key: AnyKeyBox?
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

  // Isolation: core.
  func countOtherSkips(_ count: Int) {
    otherSkips.store(otherSkips.load(ordering: .relaxed) &+ count, ordering: .relaxed)
  }

  var isHandedOver: Bool { if case .sequence = place { true } else { options.isForward } }
}

extension HandlerRecord {
  package final var details: DetailedRecord? {
    guard state.load(ordering: .relaxed) & HandlerFlags.detailed != 0 else { return nil }
    // Safe: only DetailedRecord.init sets the flag.
    return unsafe unsafeDowncast(self, to: DetailedRecord.self)
  }

  #if !DEBUG
    final var source: SourceLine { details?.detailedSource ?? .none }
  #endif

  package final var target: DeliveryTarget? { unsafe details?.route?.target }

  package final var fileAndLine: (fileID: String, line: Int)? {
    guard let fileID = source.fileID, let line = source.line else { return nil }
    return (fileID, line)
  }

  package final var title: String {
    details?.options.name ?? SourceLine.text(source.fileID, source.line) ?? "handler \(id)"
  }

  final var wantsPrior: Bool { details?.options.wantsPrior ?? false }

  /// Never read under a mutex: see ``Owner/object``.
  final var hasLostOwner: Bool { details?.options.owner.map { !$0.isAlive } ?? false }
}

@usableFromInline package struct HandlerOptions: Sendable {
  @usableFromInline package var name: String?
  @usableFromInline package var priority = 0
  @usableFromInline package var tags: Set<String>?
  @usableFromInline package var owner: Owner?
  @usableFromInline var isOwnerBound = false
  @usableFromInline var letter = LetterPayload.same
  @usableFromInline var key: AnyKeyBox?
  @usableFromInline var isClocked = false
  @usableFromInline var wantsReplayValue = false
  @usableFromInline var wantsPrior = false
  package var isForward = false
  var isInterceptor = false
  @usableFromInline var sharedClaim: SharedClaim?
  package var bridge: Bridge?

  /// Always `nil` in a record: see `EventCore.pendingHandler(_:_:)`.
  @usableFromInline var modifierBox: ModifierBox?

  @inlinable init() {}

  @inlinable var isEmpty: Bool {
    name == nil && priority == 0 && tags == nil && owner == nil && key == nil && !isClocked && modifierBox == nil
      && sharedClaim == nil
  }
}

@usableFromInline package enum HandlerFlags {
  static var removed: UInt32 { 1 << 0 }
  @usableFromInline static var spent: UInt32 { 1 << 1 }
  static var locked: UInt32 { 1 << 2 }
  /// Set in every record, so that a call need not check the event.
  static var eventLocked: UInt32 { 1 << 3 }
  package static var once: UInt32 { 1 << 4 }
  static var needsSlowPath: UInt32 { 1 << 5 }
  static var detailed: UInt32 { 1 << 6 }
  /// A lock holds occurrences or has held some. From then on, locks begin only under the core's
  /// mutex and end only inside the core.
  package static var hasHoldingBuffer: UInt32 { 1 << 7 }
  static var isHolding: UInt32 { 1 << 8 }
  static var sharesClaim: UInt32 { 1 << 9 }
  /// The number of running `withLocked` calls occupies this bit and all higher ones.
  static var scopedLock: UInt32 { 1 << 10 }

  @usableFromInline package static var ended: UInt32 { removed | spent }
  package static var lockedByCaller: UInt32 { locked | ~(scopedLock - 1) }
  @usableFromInline package static var lockedAtAll: UInt32 { eventLocked | lockedByCaller }
  @usableFromInline static var notCallable: UInt32 { ended | lockedAtAll }
  static var slowPathMask: UInt32 { ~detailed }
}

/// Each of a bus handler's handlers claims a call for itself and then for the shared record.
/// Removing that record therefore takes effect for all of them before the removal returns, and only
/// one of them can use it up.
///
/// The handler behind a view of batches shares the record of the batches, whose call has already
/// been claimed, so it only checks whether that record has been removed since.
///
/// The record may be released under a mutex, so nothing here retains an event: releasing one would
/// run closures' `deinit`s.
@usableFromInline final class SharedClaim: Sendable {
  private let record: HandlerRecord
  private let isClaimed: Bool
  private weak let handler: BusHandler?
  private weak let own: EventAnchor?

  /// - Parameter handler: `nil` for the record of batches.
  init(_ record: HandlerRecord, of handler: BusHandler?, in event: EventAnchor) {
    self.record = record
    isClaimed = handler == nil
    self.handler = handler
    own = event
  }

  func claim() -> Bool { isClaimed ? !isRemoved : record.claim() }

  var isRemoved: Bool {
    // A used-up bus handler ends in all events while its only call is still running.
    if record.has(HandlerFlags.spent), !isClaimed { return false }
    guard isClaimed, let shared = record.details?.options.sharedClaim else { return record.has(HandlerFlags.removed) }
    return shared.isRemoved || record.has(HandlerFlags.removed) && !shared.record.has(HandlerFlags.spent)
  }

  /// Retained with the closure of each handler. Never read under a mutex.
  var keeper: BusHandler? { handler }

  /// Works even if the handler's own claim has used it up. Never called under a mutex.
  func end(_ handler: HandlerRecord) {
    guard let own else { return }
    if !own.remove(handler) { own.core?.requestUnregistration(handler) }
  }

  /// Called after the claim or, for an inline call, after the call has ended. Never called under a
  /// mutex.
  func endIfSpent() { handler?.endIfSpent() }
}
