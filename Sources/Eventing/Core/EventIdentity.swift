public import Synchronization

/// What tokens and lanes know of their event: which one it is, and how to reach it while it lives.
///
/// Made with the first handler. As long as a token exists, no other identity has its address; so it names its event for good.
// Safe: `changes` is atomic, `fastPathEpoch`, `postFastPathEpoch` and `observers` are touched only from inside.
@usableFromInline final class EventIdentity: @unchecked Sendable {
  private weak let weakCore: EventCore?
  /// Who observes the event. Only from inside.
  @usableFromInline @exclusivity(unchecked) var observers: Observers?
  @usableFromInline let failureReference = OnceReference<Failures>()
  /// Whoever makes or drops a token counts a reference to the identity, in its first words; what follows is read before every call.
  private let line = CacheLine()

  /// Counts what changes, from outside, how some handler is to be called: see `EventCore.deliver`. It is here, and not in the core, because
  /// it is read before every call, and those who post write to the core.
  @usableFromInline let changes = Atomic<UInt64>(1)
  /// What `changes` was before the last walk that found nothing to decide; no such value if a handler needs a decision each time. Only from inside.
  @usableFromInline @exclusivity(unchecked) var fastPathEpoch: UInt64 = 1
  /// The same of a walk that found nothing to decide for a post: handlers that run elsewhere decide nothing then. Only from inside.
  @usableFromInline @exclusivity(unchecked) var postFastPathEpoch: UInt64 = 1

  @usableFromInline init(_ core: EventCore) { weakCore = core }

  /// The event, if it is still there. Never read under a lock: this may be the last reference a moment later.
  @usableFromInline var core: EventCore? {
    assertNoMutexIsHeld("read a weak reference")
    return weakCore
  }

  /// What is done with failures; made if it is not there.
  func failures(_ policy: FailurePolicy = .collect) -> Failures {
    failureReference.load() ?? failureReference.set(Failures(policy))
  }

  /// Tells whoever asked; true if the occurrence stops here.
  @usableFromInline func note(_ failure: HandlerFailure) -> Bool { failureReference.load()?.note(failure) ?? false }

  /// A handler has gone, for good.
  @usableFromInline @inline(__always) func forgetFailures(of record: HandlerRecord) {
    if let failures = failureReference.load() { forget(record, failures) }
  }

  @usableFromInline @inline(never) func forget(_ record: HandlerRecord, _ failures: Failures) {
    failures.forget(record)
  }

  /// Ends a handler's life, wherever its event is; false if it was over.
  @usableFromInline func remove(_ record: HandlerRecord) -> Bool {
    let isMine = record.deactivate()
    noteChange()  // even if another thread ended it: it may not have noted that yet
    guard isMine else { return false }
    core?.requestUnregistration(record)
    return true
  }

  /// From inside: the next occurrence looks at each handler.
  @usableFromInline func invalidateFastPath() {
    unsafe fastPathEpoch = 0
    unsafe postFastPathEpoch = 0
  }

  /// After a record's state changed, before that is promised to anybody.
  @usableFromInline func noteChange() {
    if !mutant(.removalIsNotNoted) { changes.wrappingAdd(1, ordering: .acquiringAndReleasing) }
  }
}
