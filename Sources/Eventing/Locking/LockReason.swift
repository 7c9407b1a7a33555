import Synchronization

/// A reason for which a handler is locked. Each reason begins and ends for itself.
enum LockReason: Hashable, Sendable {
  /// `lock(token)` and its like.
  case handler
  /// `lock()` of the event.
  case event
  /// A `withLocked` that runs.
  case scope(Int)

  private static let lastScope = Atomic<Int>(0)
  static var newScope: LockReason { .scope(lastScope.wrappingAdd(1, ordering: .relaxed).newValue) }

  /// Returns a record's flags after the lock has begun.
  func begun(in flags: UInt32) -> UInt32 {
    switch self {
    case .handler: flags | HandlerFlags.locked
    case .event: flags | HandlerFlags.eventLocked
    case .scope: flags &+ HandlerFlags.scopedLock
    }
  }

  /// Returns a record's flags after the lock has ended.
  func ended(in flags: UInt32) -> UInt32 {
    switch self {
    case .handler: flags & ~HandlerFlags.locked
    case .event: flags & ~HandlerFlags.eventLocked
    case .scope: flags &- HandlerFlags.scopedLock
    }
  }
}

/// The locks of a handler of which one holds, or did: those in force, and those that have ended and
/// wait for their turn.
///
/// A value without synchronization.
struct LockReasons {
  /// The locks in force, with what they hold, in the order in which they began. Locks that were there
  /// before the holding buffer are not among them.
  private var known: [(reason: LockReason, holding: Holding)] = []
  private var ended: Set<LockReason> = []

  /// What the last lock that began holds.
  var holding: Holding { known.last?.holding ?? .nothing }

  mutating func begin(_ reason: LockReason, _ holding: Holding) {
    ended.remove(reason)
    known.removeAll { $0.reason == reason }
    known.append((reason, holding))
  }

  mutating func end(_ reason: LockReason) { ended.insert(reason) }

  /// Returns a handler's flags without the locks that have ended.
  func flags(_ flags: UInt32) -> UInt32 { ended.reduce(flags) { $1.ended(in: $0) } }

  /// Forgets the locks that have ended: their turn has come.
  mutating func forgetEnded() {
    known.removeAll { ended.contains($0.reason) }
    ended = []
  }
}
