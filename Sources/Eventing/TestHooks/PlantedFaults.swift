// The planted faults of a claim, kept apart from `HandlerRecord.claim()`, which only reads these
// flags.
extension HandlerFlags {
  /// The flags under which a claim is refused.
  @inlinable @inline(__always) static var refusingClaims: UInt32 {
    if mutant(.claimIgnoresLocks) { return ended }
    if mutant(.claimIgnoresRemovals) { return lockedAtAll }
    return notCallable
  }

  /// The flag that a claim of a once handler sets.
  @inlinable @inline(__always) static var spentByClaim: UInt32 { mutant(.onceIsNotSpent) ? 0 : spent }
}
