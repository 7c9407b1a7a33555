/// Above the flags is the number of the thread inside the core, by which a post knows whether it
/// comes from a handler of the event. No number while a scheduled drain has not begun.
@usableFromInline package enum CoreState {
  @inlinable static var busy: UInt { 1 }
  /// A thread has enqueued work, and no drain has looked into the mailbox since.
  @inlinable static var queued: UInt { 2 }
  /// Set on an idle event with a history, an observer or an `unhandled` event, so that
  /// ``EventCore/enter()`` fails. A drain clears the flag, and sets it again when it leaves.
  @inlinable static var mustEnqueue: UInt { 4 }
  @inlinable package static var flags: UInt { 7 }
}
