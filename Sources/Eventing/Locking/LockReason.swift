import Synchronization

/// The reason of one lock of a handler: which call began the lock. A handler has at most one lock
/// for each reason. Each lock begins and ends independently of the others.
package enum LockReason: Hashable, Sendable {
  /// `lock(token)`, and the methods that lock several handlers.
  case handler
  /// `lock()` of the event.
  case event
  /// A running `withLocked`, by its number.
  case scope(Int)

  private static let lastScope = Atomic<Int>(0)
  /// The reason for the lock of a `withLocked` that begins now. No other `withLocked` has its
  /// number.
  static var newScope: LockReason { .scope(lastScope.wrappingAdd(1, ordering: .relaxed).newValue) }

  /// Returns the flags of a handler's record, plus a lock whose reason is this ``LockReason``.
  func begun(in flags: UInt32) -> UInt32 {
    switch self {
    case .handler: flags | HandlerFlags.locked
    case .event: flags | HandlerFlags.eventLocked
    case .scope: flags &+ HandlerFlags.scopedLock
    }
  }

  /// Returns the flags of a handler's record, minus the lock whose reason is this ``LockReason``.
  func ended(in flags: UInt32) -> UInt32 {
    switch self {
    case .handler: flags & ~HandlerFlags.locked
    case .event: flags & ~HandlerFlags.eventLocked
    case .scope: flags &- HandlerFlags.scopedLock
    }
  }
}

/// The locks of a handler with a holding buffer: locks in force, and locks that have ended.
///
/// The end of each lock is an item of the mailbox. Until the thread inside comes to that item, the
/// lock still keeps the handler from being called.
///
/// A value without synchronization.
struct LockReasons {
  /// The locks that keep the handler from being called, each with its `holding`, in the order in
  /// which they began. The locks in `ended` are among them, until the thread inside comes to their
  /// end in the mailbox. Locks that began before the handler had a holding buffer are missing.
  private var known: [(reason: LockReason, holding: Buffering?, number: Int)] = []
  /// The locks that a caller has ended, and that keep the handler from being called until the
  /// thread inside comes to their end in the mailbox.
  private var ended: Set<LockReason> = []
  private static let lastNumber = Atomic<Int>(0)

  /// The `holding` of the lock that began last; `nil` if that lock holds nothing.
  var holding: Buffering? { known.last?.holding }

  /// Adds a lock as the newest one, with a number that no other lock has. If `known` has a lock
  /// with this reason already, the new lock takes its place. A caller may have ended the old lock,
  /// and the item for that end may still be in the mailbox. The item has the old number, so it does
  /// not end the new lock.
  @inline(never) mutating func begin(_ reason: LockReason, _ holding: Buffering?) {
    ended.remove(reason)
    known.removeAll { $0.reason == reason }
    known.append((reason, holding, LockReasons.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue))
  }

  /// Returns the number of the handler's lock with a given reason; 0 if `known` has no such lock.
  private func number(of reason: LockReason) -> Int { known.first { $0.reason == reason }?.number ?? 0 }

  /// Notes that a caller has ended a lock. The lock's flag in the record of the handler stays, and
  /// keeps the handler from being called. The thread inside clears the flag after ``forget(_:_:)``
  /// has removed the lock.
  ///
  /// - Returns: The number of the lock, for the item of the mailbox.
  mutating func end(_ reason: LockReason) -> Int {
    ended.insert(reason)
    return number(of: reason)
  }

  /// Returns the given flags of the handler's record, minus the locks that callers have ended.
  func flags(_ flags: UInt32) -> UInt32 { ended.reduce(flags) { $1.ended(in: $0) } }

  /// Removes a lock. Called when the thread inside comes to the end of the lock in the mailbox. If
  /// the lock with this number is gone, or has begun again since a caller ended it, returns false,
  /// and changes nothing.
  mutating func forget(_ reason: LockReason, _ number: Int) -> Bool {
    guard number == self.number(of: reason), ended.remove(reason) != nil else { return false }
    known.removeAll { $0.reason == reason }
    return true
  }
}

/// The end of the locks that several handlers have for one reason, as an item of the mailbox.
final class LockEnd: Sendable {
  let reason: LockReason
  /// The handlers, each with the number of its lock: see ``LockReasons``.
  let locks: [(record: HandlerRecord, number: Int)]

  init(_ reason: LockReason, _ locks: [(record: HandlerRecord, number: Int)]) {
    self.reason = reason
    self.locks = locks
  }
}
