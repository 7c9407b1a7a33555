import Synchronization

// Guarded by: core.mutex.
package struct HoldingState {
  private(set) var buffers: [UInt64: HoldingBuffer] = [:]
  var eventLockHolding: Buffering?

  subscript(record: HandlerRecord) -> HoldingBuffer? { buffers[record.id] }

  mutating func makeBuffer(for record: HandlerRecord, _ type: PayloadType) -> HoldingBuffer {
    if let buffer = buffers[record.id] { return buffer }
    let buffer = HoldingBuffer(type)
    buffers[record.id] = buffer
    return buffer
  }

  mutating func removeBuffer(of record: HandlerRecord) -> HoldingBuffer? {
    defer { buffers.giveBackRoom() }
    return buffers.removeValue(forKey: record.id)
  }

  package func count(for record: HandlerRecord) -> Int {
    buffers[record.id]?.knownCount.load(ordering: .relaxed) ?? 0
  }
}

/// A transport waits on this buffer for the occurrences that it brought until the lock ends.
// Safe: each field says what guards it.
final class HoldingBuffer: WaitNode, @unchecked Sendable {
  // Guarded by: core.mutex.
  @exclusivity(unchecked) var locks = LockReasons()
  /// Oldest first. Isolation: core.
  @exclusivity(unchecked) var items: PayloadQueue<HeldOccurrence>

  /// The number of ``items`` at the end that share one `holding`. Isolation: core.
  @exclusivity(unchecked) private var runCount = 0

  /// Changed only inside the core.
  let knownCount = Atomic<Int>(0)

  init(_ type: PayloadType) {
    unsafe items = PayloadQueue(type)
    super.init()
  }

  override func needs(_ goal: Invocation) -> WaitNeeds { .free }

  // Isolation of the two functions: core.
  func noteCount() { unsafe knownCount.store(items.count, ordering: .relaxed) }

  func replace(_ sequence: UInt64, with payload: BorrowedPayload) {
    guard
      let place = unsafe (0..<items.count).first(where: {
        unsafe items[$0].sequence == sequence && !items[$0].isReplayed
      })
    else { return }
    unsafe items.replace(at: place, with: payload)
  }

  /// The caller holds `core.mutex`.
  var holdingFlag: UInt32 { unsafe locks.holding == nil ? 0 : HandlerFlags.isHolding }

  /// An announcement is kept only if there is also room for its change, so that no change is lost
  /// to its announcement. Isolation: core.
  func keep(
    _ payload: BorrowedPayload, _ held: HeldOccurrence, isAnnouncement: Bool
  ) -> (isKept: Bool, replaced: HeldOccurrence?) {
    defer { noteCount() }
    // Only occurrences held by the same `newest` make room for a newer one.
    let run = unsafe items.isEmpty || items[items.count - 1].holding != held.holding ? 0 : min(runCount, items.count)
    let waiting = unsafe held.holding.keepsNewest ? run : items.count
    if isAnnouncement {
      let hasRoom = !held.holding.keepsNewest || !held.holding.isBounded
      guard hasRoom, held.holding.decision(waiting: waiting + 1, isSend: false) == .keep else { return (false, nil) }
    }
    let decision = held.holding.decision(waiting: waiting, isSend: false)
    if decision == .dropIt { return (false, nil) }
    let replaced = unsafe decision == .dropOldest ? items.remove(at: items.count - run) : nil
    unsafe items.append(held, payload)
    unsafe runCount = decision == .dropOldest ? run : run + 1
    return (true, replaced)
  }
}

struct HeldOccurrence: PayloadHeader, Sendable {
  let sequence: UInt64
  let instant: StableInstant?
  weak let sender: (any AnyObject & Sendable)?
  let path: ForwardingPath?
  /// A full buffer that suspends senders takes the occurrence after the lock ends, although the
  /// sender is no longer waiting.
  let isSend: Bool
  let isReplayed: Bool
  let context: CarriedContext?
  let holding: Buffering
  let completion: Completion?

  init(_ delivery: borrowing Delivery, _ holding: Buffering) {
    if let brought = delivery.completion, brought.staysInHand { completion = brought } else { completion = nil }
    sequence = delivery.sequence
    instant = delivery.instant
    sender = delivery.sender
    path = delivery.path
    isSend = delivery.isSend
    isReplayed = delivery.isReplay
    context = if let completion = delivery.completion { completion.context } else { CarriedContext.current() }
    self.holding = holding
  }
}
