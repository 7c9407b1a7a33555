import Synchronization

/// What the locks of one handler hold for it.
// Safe: `locks` is guarded by the mailbox's lock, `items` is touched only from inside.
final class Hold: @unchecked Sendable {
  @exclusivity(unchecked) var locks = Silencers()
  @exclusivity(unchecked) var items: PayloadQueue<Held>

  init(_ type: PayloadType) { unsafe items = PayloadQueue(type) }

  /// Under the mailbox's lock.
  var holdsBit: UInt32 { unsafe locks.holding == .nothing ? 0 : Bit.holds }

  /// Inside: keeps one more if there is room.
  ///
  /// - Returns: whether it is kept, and what goes for it.
  func keep(_ payload: Loan, _ held: Held) -> (isKept: Bool, replaced: Held?) {
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
struct Held: PayloadSlot, Sendable {
  let sequence: UInt64
  let instant: Moment?
  weak let sender: (any AnyObject & Sendable)?
  let path: Path?
  /// Somebody waited for it, and so would have waited for room.
  let isSend: Bool
  /// The task-local values of the sender.
  let context: CarriedContext?
  /// What it was held for.
  let holding: Holding

  init(_ tally: borrowing Tally, _ holding: Holding) {
    sequence = tally.sequence
    instant = tally.instant
    sender = tally.sender
    path = tally.path
    isSend = tally.isSend
    context = if let flight = tally.flight { flight.context } else { CarriedContext.current() }
    self.holding = holding
  }
}

/// Who silences a handler: each for itself.
enum Silencer: Hashable, Sendable {
  case lock
  /// The event's own lock.
  case gate
  /// A running `withLocked`.
  case scope(Int)

  private static let lastScope = Atomic<Int>(0)
  static var newScope: Silencer { .scope(lastScope.wrappingAdd(1, ordering: .relaxed).newValue) }

  func begun(in bits: UInt32) -> UInt32 {
    switch self {
    case .lock: bits | Bit.locked
    case .gate: bits | Bit.gated
    case .scope: bits &+ Bit.scope
    }
  }

  func ended(in bits: UInt32) -> UInt32 {
    switch self {
    case .lock: bits & ~Bit.locked
    case .gate: bits & ~Bit.gated
    case .scope: bits &- Bit.scope
    }
  }
}

/// The locks of a handler of which one holds, or did: those in force, and those that have ended and wait for their turn.
///
/// A plain value without threads; the mailbox guards it.
struct Silencers {
  /// With what they hold, in the order in which they were made. Those that were there before are not among them.
  private var known: [(silencer: Silencer, holding: Holding)] = []
  private var ended: Set<Silencer> = []

  /// Of the last one that was made.
  var holding: Holding { known.last?.holding ?? .nothing }

  mutating func begin(_ silencer: Silencer, _ holding: Holding) {
    ended.remove(silencer)
    known.removeAll { $0.silencer == silencer }
    known.append((silencer, holding))
  }

  mutating func end(_ silencer: Silencer) { ended.insert(silencer) }

  /// A handler's bits without those that have ended.
  func bits(_ bits: UInt32) -> UInt32 { ended.reduce(bits) { $1.ended(in: $0) } }

  /// Their turn has come.
  mutating func forgetEnded() {
    known.removeAll { ended.contains($0.silencer) }
    ended = []
  }
}
