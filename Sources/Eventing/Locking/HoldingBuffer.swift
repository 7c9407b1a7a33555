import Synchronization

/// The holding buffers of an event's handlers. Guarded by: core.mutex.
package struct HoldingState {
  /// The buffers, by the ids of the handlers' records.
  private(set) var buffers: [UInt64: HoldingBuffer] = [:]
  /// The `holding` of the lock of the event, which applies to each handler; `nil` if the lock holds
  /// nothing.
  var eventLockHolding: Buffering?

  subscript(record: HandlerRecord) -> HoldingBuffer? { buffers[record.id] }

  /// Returns the buffer of a handler; creates it if there is none.
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

  /// Returns the number of occurrences that locks hold for a handler.
  package func count(for record: HandlerRecord) -> Int {
    buffers[record.id]?.knownCount.load(ordering: .relaxed) ?? 0
  }
}

/// The occurrences that the locks of one handler hold.
///
/// It is a node of the wait graph, too: a transport waits here for what it brought, until the lock
/// ends.
// Safe: each field says what guards it.
final class HoldingBuffer: WaitNode, @unchecked Sendable {
  /// The handler's locks. Guarded by: core.mutex.
  @exclusivity(unchecked) var locks = LockReasons()
  /// The held occurrences, the oldest first. Isolation: core.
  @exclusivity(unchecked) var items: PayloadQueue<HeldOccurrence>

  /// The number of the last ``items`` that one lock with the same `holding` has kept, unless some
  /// of them have left the buffer since. Isolation: core.
  @exclusivity(unchecked) private var runCount = 0

  /// The number of ``items``. Read by any thread; changed only inside the core.
  let knownCount = Atomic<Int>(0)

  init(_ type: PayloadType) {
    unsafe items = PayloadQueue(type)
    super.init()
  }

  override func needs(_ goal: Invocation) -> WaitNeeds { .free }

  /// Stores the number of items in `knownCount`, where other threads read it. Isolation: core.
  func noteCount() { unsafe knownCount.store(items.count, ordering: .relaxed) }

  /// Replaces the payload of an occurrence by one that an interceptor has put in its place.
  /// Isolation: core.
  func replace(_ sequence: UInt64, with payload: BorrowedPayload) {
    guard
      let place = unsafe (0..<items.count).first(where: {
        unsafe items[$0].sequence == sequence && !items[$0].isReplayed
      })
    else { return }
    unsafe items.replace(at: place, with: payload)
  }

  /// `HandlerFlags.isHolding` if the newest lock keeps occurrences; otherwise 0. The caller holds
  /// `core.mutex`.
  var holdingFlag: UInt32 { unsafe locks.holding == nil ? 0 : HandlerFlags.isHolding }

  /// Keeps one more occurrence if there is room. Isolation: core.
  ///
  /// - Parameter isAnnouncement: Whether the occurrence announces a change, which comes next. It is
  ///   kept only if there is room for both, so that no change is lost to its announcement.
  /// - Returns: Whether the occurrence is kept, and the older one that it replaces.
  func keep(
    _ payload: BorrowedPayload, _ held: HeldOccurrence, isAnnouncement: Bool
  ) -> (isKept: Bool, replaced: HeldOccurrence?) {
    defer { noteCount() }
    // Only what one and the same `newest` holds makes room for a newer occurrence.
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

/// A held occurrence. Its payload lies beside it in ``HoldingBuffer/items``.
struct HeldOccurrence: PayloadHeader, Sendable {
  let sequence: UInt64
  let instant: StableInstant?
  weak let sender: (any AnyObject & Sendable)?
  let path: ForwardingPath?
  /// Whether a `send` brought the occurrence. If so, a full buffer that suspends senders takes the
  /// occurrence after the lock, although the sender no longer waits.
  let isSend: Bool
  /// Whether the payload was replayed, for this handler alone.
  let isReplayed: Bool
  /// The task-local values of the sender, if any are carried.
  let context: CarriedContext?
  /// The `holding` of the lock that holds the occurrence.
  let holding: Buffering
  /// The completion, if a transport brought the occurrence: see ``Completion/staysInHand``.
  let completion: Completion?

  init(_ tally: borrowing Delivery, _ holding: Buffering) {
    if let brought = tally.completion, brought.staysInHand { completion = brought } else { completion = nil }
    sequence = tally.sequence
    instant = tally.instant
    sender = tally.sender
    path = tally.path
    isSend = tally.isSend
    isReplayed = tally.isReplay
    context = if let completion = tally.completion { completion.context } else { CarriedContext.current() }
    self.holding = holding
  }
}
