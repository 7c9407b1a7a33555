public import Synchronization

/// Tokens and lanes retain the anchor instead of the event. As long as a token exists, no other
/// anchor can have the same address, so a token never identifies a different event.
// Safe: `changes` and the number are atomic. The other fields say what guards them.
@usableFromInline package final class EventAnchor: ComparedByIdentity, @unchecked Sendable {
  private weak let weakCore: EventCore?
  package let name: String?
  // Isolation: core.
  @exclusivity(unchecked) var observers: Observers?
  package let failureReference = OnceReference<Failures>()
  private let drawnNumber = Atomic<UInt64>(0)
  /// Separates the reference count, which threads write when they create or drop tokens, from the
  /// fields that are read before every call.
  private let line = CacheLine()

  /// Counts changes to handlers' states, which may be made outside the core during a delivery. A
  /// thread that finds a changed handler also increments it, because the thread that made the
  /// change may not have called ``noteChange()`` yet. Read before every call, so it isn't stored in
  /// the core, which contending threads write to.
  @usableFromInline package let changes = Atomic<UInt64>(1)
  /// The value of `changes` before a walk in which no handler needed the slow path. The fast path
  /// is open for sends while `changes` still has this value; 0 closes it. Isolation: core.
  @usableFromInline @exclusivity(unchecked) var fastPathEpoch: UInt64 = 1
  /// The same for posts, for which fewer handlers need the slow path. Isolation: core.
  @usableFromInline @exclusivity(unchecked) var postFastPathEpoch: UInt64 = 1

  private static let lastNumber = Atomic<UInt64>(0)

  init(_ core: EventCore) {
    weakCore = core
    name = core.name
  }

  package var number: UInt64 {
    let drawn = drawnNumber.load(ordering: .relaxed)
    if drawn != 0 { return drawn }
    let new = EventAnchor.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    let (done, old) = drawnNumber.compareExchange(expected: 0, desired: new, ordering: .relaxed)
    return done ? new : old
  }

  /// Never read under a mutex, because the strong reference may become the last one, and the core's
  /// `deinit` would then run here.
  package var core: EventCore? {
    assertNoMutexIsHeld("read a weak reference")
    return weakCore
  }

  @inline(never) func remove(_ record: HandlerRecord) -> Bool {
    let isMine = record.deactivate()
    record.details?.delays?.end()
    // Called even if the handler had already ended, because the thread that ended it may not have
    // called this yet.
    noteChange()
    guard isMine else { return false }
    core?.requestUnregistration(record)
    return true
  }

  // MARK: Fast path

  // Isolation: core.
  func invalidateFastPath() {
    unsafe fastPathEpoch = 0
    unsafe postFastPathEpoch = 0
  }

  /// A thread that changes a record calls this before it returns. A thread that finds a changed
  /// record must call this or `closeFastPath(for:)` before it acts on the change, or the next
  /// occurrence might take the fast path and reach a handler that was found locked or removed.
  func noteChange() {
    syncPoint(.noting)
    if !mutant(.removalIsNotNoted) { changes.wrappingAdd(1, ordering: .acquiringAndReleasing) }
  }

  // MARK: Failures

  func failures(_ policy: FailurePolicy = .collect) -> Failures {
    failureReference.load() ?? failureReference.set(Failures(policy))
  }

  var failurePolicy: FailurePolicy { failureReference.load()?.policy ?? .collect }

  var deadLetters: DeadLetters? { failureReference.load()?.deadLettersReference.load() }

  func report(_ failure: HandlerFailure) -> Bool { failures().note(failure) }

  @inline(__always) func forgetFailures(of record: HandlerRecord) {
    if let failures = failureReference.load() { forget(record, failures) }
  }

  @inline(never) func forget(_ record: HandlerRecord, _ failures: Failures) {
    failures.forget(record)
  }
}
