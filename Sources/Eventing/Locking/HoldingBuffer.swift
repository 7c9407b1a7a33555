import Synchronization

/// What the locks of one handler hold for it.
// Safe: `locks` is guarded by the core's lock, `items` is touched only from inside.
final class HoldingBuffer: @unchecked Sendable {
  @exclusivity(unchecked) var locks = LockReasons()
  @exclusivity(unchecked) var items: PayloadQueue<HeldOccurrence>

  init(_ type: PayloadType) { unsafe items = PayloadQueue(type) }

  /// Under the core's lock.
  var holdsBit: UInt32 { unsafe locks.holding == .nothing ? 0 : HandlerFlags.isHolding }

  /// Inside: keeps one more if there is room.
  ///
  /// - Returns: whether it is kept, and what goes for it.
  func keep(_ payload: BorrowedPayload, _ held: HeldOccurrence) -> (isKept: Bool, replaced: HeldOccurrence?) {
    switch held.holding.kind {
    case .nothing: return (false, nil)
    case .upTo(let count):
      guard unsafe items.count < count else { return (false, nil) }
      unsafe items.append(held, payload)
      return (true, nil)
    case .latest:
      let replaced = unsafe !items.isEmpty && items[items.count - 1].holding.kind == .latest ? items.removeLast() : nil
      unsafe items.append(held, payload)
      return (true, replaced)
    }
  }
}

/// All of an occurrence but its payload, until the lock has ended.
struct HeldOccurrence: PayloadHeader, Sendable {
  let sequence: UInt64
  let instant: StableInstant?
  weak let sender: (any AnyObject & Sendable)?
  let path: ForwardingPath?
  /// Somebody waited for it, and so would have waited for room.
  let isSend: Bool
  /// The task-local values of the sender.
  let context: CarriedContext?
  /// What it was held for.
  let holding: Holding

  init(_ tally: borrowing DeliveryTally, _ holding: Holding) {
    sequence = tally.sequence
    instant = tally.instant
    sender = tally.sender
    path = tally.path
    isSend = tally.isSend
    context = if let completion = tally.completion { completion.context } else { CarriedContext.current() }
    self.holding = holding
  }
}

/// Who silences a handler: each for itself.
enum LockReason: Hashable, Sendable {
  case lock
  /// The event's own lock.
  case eventLock
  /// A running `withLocked`.
  case scope(Int)

  private static let lastScope = Atomic<Int>(0)
  static var newScope: LockReason { .scope(lastScope.wrappingAdd(1, ordering: .relaxed).newValue) }

  func begun(in flags: UInt32) -> UInt32 {
    switch self {
    case .lock: flags | HandlerFlags.locked
    case .eventLock: flags | HandlerFlags.eventLocked
    case .scope: flags &+ HandlerFlags.scopedLock
    }
  }

  func ended(in flags: UInt32) -> UInt32 {
    switch self {
    case .lock: flags & ~HandlerFlags.locked
    case .eventLock: flags & ~HandlerFlags.eventLocked
    case .scope: flags &- HandlerFlags.scopedLock
    }
  }
}

/// The locks of a handler of which one holds, or did: those in force, and those that have ended and wait for their turn.
///
/// A plain value without threads; the core guards it.
struct LockReasons {
  /// With what they hold, in the order in which they were made. Those that were there before are not among them.
  private var known: [(lockReason: LockReason, holding: Holding)] = []
  private var ended: Set<LockReason> = []

  /// Of the last one that was made.
  var holding: Holding { known.last?.holding ?? .nothing }

  mutating func begin(_ lockReason: LockReason, _ holding: Holding) {
    ended.remove(lockReason)
    known.removeAll { $0.lockReason == lockReason }
    known.append((lockReason, holding))
  }

  mutating func end(_ lockReason: LockReason) { ended.insert(lockReason) }

  /// A handler's flags without those that have ended.
  func flags(_ flags: UInt32) -> UInt32 { ended.reduce(flags) { $1.ended(in: $0) } }

  /// Their turn has come.
  mutating func forgetEnded() {
    known.removeAll { ended.contains($0.lockReason) }
    ended = []
  }
}
