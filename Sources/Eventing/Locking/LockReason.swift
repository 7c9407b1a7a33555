import Synchronization

package enum LockReason: Hashable, Sendable {
  case handler
  case event
  case scope(Int)

  private static let lastScope = Atomic<Int>(0)
  static var newScope: LockReason { .scope(lastScope.wrappingAdd(1, ordering: .relaxed).newValue) }

  func begun(in flags: UInt32) -> UInt32 {
    switch self {
    case .handler: flags | HandlerFlags.locked
    case .event: flags | HandlerFlags.eventLocked
    case .scope: flags &+ HandlerFlags.scopedLock
    }
  }

  func ended(in flags: UInt32) -> UInt32 {
    switch self {
    case .handler: flags & ~HandlerFlags.locked
    case .event: flags & ~HandlerFlags.eventLocked
    case .scope: flags &- HandlerFlags.scopedLock
    }
  }
}

/// The end of a lock is an item of the mailbox. Until the thread inside processes it, the lock
/// still keeps the handler from being called.
struct LockReasons {
  private var known: [(reason: LockReason, holding: Buffering?, number: Int)] = []
  /// Ended by a caller, but still in force until the thread inside processes their end.
  private var ended: Set<LockReason> = []
  private static let lastNumber = Atomic<Int>(0)

  var holding: Buffering? { known.last?.holding }

  /// Replaces a lock with the same reason whose end may still be in the mailbox. Because of its
  /// number, that end doesn't end the new lock.
  @inline(never) mutating func begin(_ reason: LockReason, _ holding: Buffering?) {
    ended.remove(reason)
    known.removeAll { $0.reason == reason }
    known.append((reason, holding, LockReasons.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue))
  }

  private func number(of reason: LockReason) -> Int { known.first { $0.reason == reason }?.number ?? 0 }

  mutating func end(_ reason: LockReason) -> Int {
    ended.insert(reason)
    return number(of: reason)
  }

  func flags(_ flags: UInt32) -> UInt32 { ended.reduce(flags) { $1.ended(in: $0) } }

  mutating func forget(_ reason: LockReason, _ number: Int) -> Bool {
    guard number == self.number(of: reason), ended.remove(reason) != nil else { return false }
    known.removeAll { $0.reason == reason }
    return true
  }
}

final class LockEnd: Sendable {
  let reason: LockReason
  let locks: [(record: HandlerRecord, number: Int)]

  init(_ reason: LockReason, _ locks: [(record: HandlerRecord, number: Int)]) {
    self.reason = reason
    self.locks = locks
  }
}
