// Kept apart from `HandlerRecord.claim()`, which only reads these flags.
extension HandlerFlags {
  @inlinable @inline(__always) static var refusingClaims: UInt32 {
    if mutant(.claimIgnoresLocks) { return ended }
    if mutant(.claimIgnoresRemovals) { return lockedAtAll }
    return notCallable
  }

  @inlinable @inline(__always) static var spentByClaim: UInt32 { mutant(.onceIsNotSpent) ? 0 : spent }
}
