/// The bits of ``EventCore/stateWord``.
///
/// The three lowest bits are flags. The others name the thread inside, and are zero while a drain is
/// scheduled but has not begun. So a post knows whether a handler of its own event makes it.
@usableFromInline enum CoreState {
  /// One thread is inside, or one drain is scheduled.
  @inlinable static var busy: UInt { 1 }
  /// Something is enqueued.
  @inlinable static var queued: UInt { 2 }
  /// The idle event keeps a history or is observed. ``EventCore/enter()`` fails, so that every
  /// occurrence is enqueued.
  @inlinable static var mustEnqueue: UInt { 4 }
  @inlinable static var flags: UInt { 7 }
}
