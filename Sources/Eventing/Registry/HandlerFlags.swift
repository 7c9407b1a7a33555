@usableFromInline package enum HandlerFlags {
  static var removed: UInt32 { 1 << 0 }
  @usableFromInline static var spent: UInt32 { 1 << 1 }
  static var locked: UInt32 { 1 << 2 }
  /// In every record, so that a call need not check the event.
  static var eventLocked: UInt32 { 1 << 3 }
  package static var once: UInt32 { 1 << 4 }
  static var needsSlowPath: UInt32 { 1 << 5 }
  static var detailed: UInt32 { 1 << 6 }
  /// A lock holds occurrences, or did. Locks then begin only under the core's mutex, and end only
  /// inside the core.
  package static var hasHoldingBuffer: UInt32 { 1 << 7 }
  static var isHolding: UInt32 { 1 << 8 }
  static var sharesClaim: UInt32 { 1 << 9 }
  /// The number of running `withLocked` calls takes this bit and all higher ones.
  static var scopedLock: UInt32 { 1 << 10 }

  @usableFromInline package static var ended: UInt32 { removed | spent }
  package static var lockedByCaller: UInt32 { locked | ~(scopedLock - 1) }
  @usableFromInline package static var lockedAtAll: UInt32 { eventLocked | lockedByCaller }
  @usableFromInline static var notCallable: UInt32 { ended | lockedAtAll }
  static var slowPathMask: UInt32 { ~detailed }
}
