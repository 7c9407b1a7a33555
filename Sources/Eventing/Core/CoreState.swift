/// The bits of ``EventCore/stateWord``.
///
/// The three lowest bits are flags. The others are the number of the thread inside the core, and
/// are zero while a drain is scheduled but has not begun. By this number a post knows whether it
/// comes from a handler of the event.
@usableFromInline enum CoreState {
  /// A thread is inside the core, or a drain is scheduled.
  @inlinable static var busy: UInt { 1 }
  /// The queue has work.
  @inlinable static var queued: UInt { 2 }
  /// The event is idle, and keeps a history, is observed or has an `unheard` event.
  /// ``EventCore/enter()`` fails, so that an occurrence is enqueued, or delivered by
  /// ``EventCore/postWithReplay(_:)``.
  @inlinable static var mustEnqueue: UInt { 4 }
  /// All flags.
  @inlinable static var flags: UInt { 7 }
}
