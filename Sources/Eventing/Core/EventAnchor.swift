public import Synchronization

/// The object that tokens and lanes retain instead of the event. It tells events apart, and leads
/// to the core while the core exists.
///
/// A core creates its anchor at the latest with the first handler. A token retains the anchor, so
/// no other anchor gets the address of this one while the token exists. So a token never names
/// another event.
// Safe: `changes` and the number are atomic. The other fields say what guards them.
@usableFromInline package final class EventAnchor: @unchecked Sendable {
  private weak let weakCore: EventCore?
  /// The name of the event.
  package let name: String?
  /// The observers of the event; `nil` if it is not observed. Isolation: core.
  @exclusivity(unchecked) var observers: Observers?
  package let failureReference = OnceReference<Failures>()
  /// The value of ``number``; 0 before the first read of ``number``.
  private let drawnNumber = Atomic<UInt64>(0)
  /// Separates the reference count, which threads that create or drop tokens write, from the fields
  /// that are read before every call.
  private let line = CacheLine()

  /// A count of the changes of handlers' states, such as locks and removals. The thread that makes
  /// such a change need not be inside the core, so another thread may deliver at that moment. A
  /// thread that finds a handler changed adds one, too: the thread that changed the handler may not
  /// have counted that yet (``noteChange()``).
  ///
  /// The thread that delivers reads this count before every call: see
  /// ``EventCore/callEach(_:from:_:epoch:)``. So the count lies here, and not in the core, to which
  /// contending threads write.
  @usableFromInline package let changes = Atomic<UInt64>(1)
  /// The epoch for sends: while `changes` has this value, the fast path is open for sends. If no
  /// handler needs the slow path in a walk over all handlers, the walk stores here the value that
  /// `changes` had when the walk began. 0 closes the fast path, because `changes` is never 0.
  /// Isolation: core.
  @usableFromInline @exclusivity(unchecked) var fastPathEpoch: UInt64 = 1
  /// The epoch for posts: while `changes` has this value, the fast path is open for posts. Set like
  /// `fastPathEpoch`, after a walk in which no handler needs the slow path for posts. Many handlers
  /// on lanes need the slow path for sends, but not for posts. Isolation: core.
  @usableFromInline @exclusivity(unchecked) var postFastPathEpoch: UInt64 = 1

  private static let lastNumber = Atomic<UInt64>(0)

  init(_ core: EventCore) {
    weakCore = core
    name = core.name
  }

  /// The number of the event, for its ``EventIdentity``. The first read, on any thread, takes the
  /// next free number.
  package var number: UInt64 {
    let drawn = drawnNumber.load(ordering: .relaxed)
    if drawn != 0 { return drawn }
    let new = EventAnchor.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    let (done, old) = drawnNumber.compareExchange(expected: 0, desired: new, ordering: .relaxed)
    return done ? new : old
  }

  /// The core; `nil` if the event is gone. Never read under a mutex: the strong reference may be
  /// the last one a moment later, and then the `deinit` of the core runs here.
  package var core: EventCore? {
    assertNoMutexIsHeld("read a weak reference")
    return weakCore
  }

  /// Deactivates and unregisters a handler of an event that may be gone. Returns false if the
  /// handler had ended before.
  @inline(never) func remove(_ record: HandlerRecord) -> Bool {
    let isMine = record.deactivate()
    record.details?.delays?.end()
    // Called even if the handler had ended before: the thread that ended it may not have called
    // `noteChange()` yet.
    noteChange()
    guard isMine else { return false }
    core?.requestUnregistration(record)
    return true
  }

  // MARK: Fast path

  /// Closes the fast path: the next occurrence reads each record. Isolation: core.
  func invalidateFastPath() {
    unsafe fastPathEpoch = 0
    unsafe postFastPathEpoch = 0
  }

  /// Closes the fast path, from any thread. Called after a record's state has changed, and before
  /// the method that changed it returns.
  ///
  /// A thread that finds a record changed calls this too, or `closeFastPath(for:)`, before it acts
  /// on the change. Otherwise, if the thread that changed the record has not called `noteChange()`
  /// yet, the next occurrence takes the fast path and reaches a handler that was already found
  /// locked or removed.
  func noteChange() {
    syncPoint(.noting)
    if !mutant(.removalIsNotNoted) { changes.wrappingAdd(1, ordering: .acquiringAndReleasing) }
  }

  // MARK: Failures

  /// Returns the failures of the event's handlers; creates the object if there is none.
  func failures(_ policy: FailurePolicy = .collect) -> Failures {
    failureReference.load() ?? failureReference.set(Failures(policy))
  }

  /// The treatment of handlers that throw.
  var failurePolicy: FailurePolicy { failureReference.load()?.policy ?? .collect }

  /// The event of dead letters; `nil` before the first access to `Event.deadLetters`.
  var deadLetters: DeadLetters? { failureReference.load()?.deadLettersReference.load() }

  /// Passes a failure to the event's ``Failures``, which post it, count it and apply the policy.
  /// Returns whether the policy stops the occurrence.
  func report(_ failure: HandlerFailure) -> Bool { failures().note(failure) }

  /// Discards the counts of the failures of a handler that is unregistered.
  @inline(__always) func forgetFailures(of record: HandlerRecord) {
    if let failures = failureReference.load() { forget(record, failures) }
  }

  @inline(never) func forget(_ record: HandlerRecord, _ failures: Failures) {
    failures.forget(record)
  }
}
