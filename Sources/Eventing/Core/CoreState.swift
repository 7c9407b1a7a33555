/// The bits of ``EventCore/stateWord``.
///
/// The three lowest bits are flags. The others are the number of the thread inside the core, and
/// are zero while a drain is scheduled but has not begun. By this number a post knows whether it
/// comes from a handler of the event.
@usableFromInline package enum CoreState {
  /// A thread is inside the core, or a drain is scheduled.
  @inlinable static var busy: UInt { 1 }
  /// A thread has enqueued work, and no drain has looked into the mailbox since.
  @inlinable static var queued: UInt { 2 }
  /// Set while the event is idle, if it keeps a history, is observed or has an `unhandled` event.
  /// The flag makes ``EventCore/enter()`` fail, so that an occurrence is enqueued, or delivered by
  /// ``EventCore/postWithReplay(_:)``. A drain clears the flag, and sets it again when it leaves.
  @inlinable static var mustEnqueue: UInt { 4 }
  /// All flags.
  @inlinable package static var flags: UInt { 7 }
}
