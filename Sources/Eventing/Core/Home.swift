public import Synchronization

/// What tokens and lanes know of their event: which one it is, and how to reach it while it lives.
///
/// Made with the first handler. As long as a token exists, no other home has its address; so it names its event for good.
// Safe: `changes` is atomic, `settled`, `settledForPosts` and `observers` are touched only from inside.
@usableFromInline final class Home: @unchecked Sendable {
  private weak let weakMailbox: Mailbox?
  /// Who observes the event. Only from inside.
  @usableFromInline @exclusivity(unchecked) var observers: Observers?
  @usableFromInline let failureReference = OnceReference<Failures>()
  /// Whoever makes or drops a token counts a reference to the home, in its first words; what follows is read before every call.
  private let line = CacheLine()

  /// Counts what changes, from outside, how some handler is to be called: see `Mailbox.deliver`. It is here, and not in the mailbox, because
  /// it is read before every call, and those who post write to the mailbox.
  @usableFromInline let changes = Atomic<UInt64>(1)
  /// What `changes` was before the last walk that found nothing to decide; no such value if a handler needs a decision each time. Only from inside.
  @usableFromInline @exclusivity(unchecked) var settled: UInt64 = 1
  /// The same of a walk that found nothing to decide for a post: handlers that run elsewhere decide nothing then. Only from inside.
  @usableFromInline @exclusivity(unchecked) var settledForPosts: UInt64 = 1

  @usableFromInline init(_ mailbox: Mailbox) { weakMailbox = mailbox }

  /// The event, if it is still there. Never read under a lock: this may be the last reference a moment later.
  @usableFromInline var mailbox: Mailbox? {
    assertNoLockIsHeld("read a weak reference")
    return weakMailbox
  }

  /// What is done with failures; made if it is not there.
  func failures(_ policy: FailurePolicy = .collect) -> Failures { failureReference.load() ?? failureReference.set(Failures(policy)) }

  /// Tells whoever asked; true if the occurrence stops here.
  @usableFromInline func note(_ failure: HandlerFailure) -> Bool { failureReference.load()?.note(failure) ?? false }

  /// A handler has gone, for good.
  @usableFromInline @inline(__always) func forgetFailures(of record: Record) {
    if let failures = failureReference.load() { forget(record, failures) }
  }

  @usableFromInline @inline(never) func forget(_ record: Record, _ failures: Failures) { failures.forget(record) }

  /// Ends a handler's life, wherever its event is; false if it was over.
  @usableFromInline func remove(_ record: Record) -> Bool {
    let isMine = record.end()
    noteChange()  // even if another thread ended it: it may not have noted that yet
    guard isMine else { return false }
    mailbox?.reclaim(record)
    return true
  }

  /// From inside: the next occurrence looks at each handler.
  @usableFromInline func unsettle() {
    unsafe settled = 0
    unsafe settledForPosts = 0
  }

  /// After a record's state changed, before that is promised to anybody.
  @usableFromInline func noteChange() { if !mutant(.removalIsNotNoted) { changes.wrappingAdd(1, ordering: .acquiringAndReleasing) } }
}
