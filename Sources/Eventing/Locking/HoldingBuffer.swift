import Synchronization

/// The holding buffers of an event's handlers. Guarded by: core.mutex.
struct HoldingState {
  /// By the ids of the records.
  private(set) var buffers: [UInt64: HoldingBuffer] = [:]
  /// What the lock of the event holds for each handler.
  var eventLockHolding = Holding.nothing

  subscript(record: HandlerRecord) -> HoldingBuffer? { buffers[record.id] }

  /// Returns the buffer of a handler. Makes it if there is none.
  mutating func makeBuffer(for record: HandlerRecord, _ type: PayloadType) -> HoldingBuffer {
    if let buffer = buffers[record.id] { return buffer }
    let buffer = HoldingBuffer(type)
    buffers[record.id] = buffer
    return buffer
  }

  /// Removes and returns the buffer of a handler.
  mutating func removeBuffer(of record: HandlerRecord) -> HoldingBuffer? {
    defer { buffers.giveBackRoom() }
    return buffers.removeValue(forKey: record.id)
  }

  /// The number of occurrences that locks hold for a handler.
  func count(for record: HandlerRecord) -> Int { unsafe buffers[record.id]?.items.count ?? 0 }
}

/// The occurrences that the locks of one handler hold.
// Safe: the fields say what guards them.
final class HoldingBuffer: @unchecked Sendable {
  /// Guarded by: core.mutex.
  @exclusivity(unchecked) var locks = LockReasons()
  /// Isolation: core.
  @exclusivity(unchecked) var items: PayloadQueue<HeldOccurrence>

  init(_ type: PayloadType) { unsafe items = PayloadQueue(type) }

  /// The flag of a record whose locks hold something. Guarded by: core.mutex.
  var holdingFlag: UInt32 { unsafe locks.holding == .nothing ? 0 : HandlerFlags.isHolding }

  /// Keeps one more occurrence if there is room. Isolation: core.
  ///
  /// - Returns: Whether it is kept, and the occurrence that goes for it.
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

/// An occurrence, without its payload, until the lock that holds it has ended.
struct HeldOccurrence: PayloadHeader, Sendable {
  let sequence: UInt64
  let instant: StableInstant?
  weak let sender: (any AnyObject & Sendable)?
  let path: ForwardingPath?
  /// Whether a sender waited, and so would have waited for room.
  let isSend: Bool
  /// The task-local values of the sender.
  let context: CarriedContext?
  /// What the lock holds.
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
