/// The flags of a handler's state. If no flag of `slowPathMask` is set, the handler may be called
/// without ``EventCore/decide(_:_:_:_:_:)``.
@usableFromInline package enum HandlerFlags {
  /// The handler was removed, or its owner or event is gone.
  static var removed: UInt32 { 1 << 0 }
  /// The one call of a once handler has begun.
  @usableFromInline static var spent: UInt32 { 1 << 1 }
  /// The handler is locked, by itself or with a group: `lock(token)` and its like.
  static var locked: UInt32 { 1 << 2 }
  /// The event is locked. The flag is in every record, so that a call needs no separate check of
  /// the event.
  static var eventLocked: UInt32 { 1 << 3 }
  /// The handler is called at most once.
  package static var once: UInt32 { 1 << 4 }
  /// The handler has an owner, or does not run inline, or takes more than the payload.
  static var needsSlowPath: UInt32 { 1 << 5 }
  /// The record is a ``DetailedRecord``. This is the only flag that ``slowPathMask`` leaves out: a
  /// handler that has no other flag can be called on the fast path.
  static var detailed: UInt32 { 1 << 6 }
  /// The handler has a ``HoldingBuffer``: one of its locks holds occurrences, or did. While the
  /// buffer exists, the handler's locks begin only under the core's mutex, and end only inside the
  /// core.
  package static var hasHoldingBuffer: UInt32 { 1 << 7 }
  /// A lock holds the occurrences that the locked handler misses.
  static var isHolding: UInt32 { 1 << 8 }
  /// A call of the handler is also claimed for another handler: see ``SharedClaim``.
  static var sharesClaim: UInt32 { 1 << 9 }
  /// The lowest bit of the number of running `withLocked` calls that lock the handler. The number
  /// takes all bits of the state from this one up.
  static var scopedLock: UInt32 { 1 << 10 }

  /// The handler's life is over.
  @usableFromInline package static var ended: UInt32 { removed | spent }
  package static var lockedByCaller: UInt32 { locked | ~(scopedLock - 1) }
  @usableFromInline package static var lockedAtAll: UInt32 { eventLocked | lockedByCaller }
  @usableFromInline static var notCallable: UInt32 { ended | lockedAtAll }
  static var slowPathMask: UInt32 { ~detailed }
}
