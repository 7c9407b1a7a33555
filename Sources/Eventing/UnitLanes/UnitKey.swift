import Synchronization

/// One key of a handler whose calls for equal keys come in order. The key is also a node of the
/// wait graph. A unit that waits for its turn waits for its key. Until a batch begins, the sends of
/// its payloads wait for the key of the batch.
// Safe: each field says what guards it.
final class UnitKey: WaitNode, @unchecked Sendable {
  private let scheduler: UnitScheduler
  /// Whether a unit of the key runs, or is between two attempts. Guarded by: scheduler.mutex.
  @exclusivity(unchecked) var isActive = false
  /// The units whose turn came while another unit of the key was active. Guarded by:
  /// scheduler.mutex.
  @exclusivity(unchecked) var parked = Deque<LaneUnit>()
  /// An upper bound for the number of ended units in `parked`. Guarded by: scheduler.mutex.
  @exclusivity(unchecked) private var endedCount = 0
  /// The batch that takes further payloads. Guarded by: scheduler.mutex.
  @exclusivity(unchecked) var gathering: LaneUnit?
  /// The slot of the unit that runs. Set only by the thread or task that runs the unit.
  let slot = SlotReference()
  /// The number of payloads of the key that wait, or whose call has not ended.
  let uses = Atomic<Int>(0)

  init(_ scheduler: UnitScheduler) {
    self.scheduler = scheduler
    super.init()
  }

  /// Notes that a unit ended while it waited. When more than 64 + `parked.count` / 2 such units
  /// have been noted, removes them from `parked`. The caller holds `scheduler.mutex`.
  ///
  /// - Parameter ended: Gets the removed units, which must be released after the unlock.
  func noteEnded(_ ended: inout [LaneUnit]) {
    unsafe endedCount += 1
    guard unsafe endedCount > 64 + parked.count / 2 else { return }
    unsafe parked.forEach { if unsafe $0.stage == .ended { ended.append($0) } }
    unsafe parked.removeAll { unsafe $0.stage == .ended }
    unsafe endedCount = 0
  }

  override func needs(_ goal: Invocation) -> WaitNeeds {
    if let slot = slot.load() { return .any([slot, scheduler]) }
    return .any([scheduler])
  }
}

/// The keys of the payloads that wait on a lane, or whose calls run there.
protocol UnitKeying: AnyObject, Sendable {
  /// Returns the key of a payload, and adds 1 to its `uses`. Runs user code. Isolation: core.
  func key(of payload: BorrowedPayload, on scheduler: UnitScheduler) -> UnitKey
  /// Forgets each key for which no payload waits and no call runs. Isolation: core.
  func sweep()
  /// The number of keys, unused ones included.
  var count: Int { get }
}

// Safe: everything that changes is touched inside the core only.
final class UnitKeys<Key: Hashable & Sendable>: UnitKeying, @unchecked Sendable {
  private let keyOf: @Sendable (BorrowedPayload) -> Key
  @exclusivity(unchecked) private var keys: [Key: UnitKey] = [:]
  /// The number of stored keys at which `key(of:on:)` forgets the unused keys, before it adds
  /// another.
  @exclusivity(unchecked) private var limit = UnitKeyLimit.least
  private let storedCount = Atomic<Int>(0)

  init(_ keyOf: @escaping @Sendable (BorrowedPayload) -> Key) { self.keyOf = keyOf }

  var count: Int { storedCount.load(ordering: .relaxed) }

  // Specialised for the usual keys. Unspecialised, hashing and comparing a key goes through its
  // witness table, which takes about 90 ns on x86-64 Linux.
  @_specialize(where Key == Int)
  @_specialize(where Key == UInt64)
  @_specialize(where Key == String)
  func key(of payload: BorrowedPayload, on scheduler: UnitScheduler) -> UnitKey {
    let value = keyOf(payload)
    if let key = unsafe keys[value] {
      key.uses.wrappingAdd(1, ordering: .relaxed)
      return key
    }
    if unsafe keys.count >= limit { sweep() }
    let key = UnitKey(scheduler)
    key.uses.wrappingAdd(1, ordering: .relaxed)
    unsafe keys[value] = key
    storedCount.store(unsafe keys.count, ordering: .relaxed)
    return key
  }

  func sweep() {
    unsafe keys = keys.filter { $0.value.uses.load(ordering: .acquiring) > 0 }
    unsafe limit = max(UnitKeyLimit.least, 2 * keys.count)
    storedCount.store(unsafe keys.count, ordering: .relaxed)
  }
}

enum UnitKeyLimit {
  /// The smallest number of stored keys at which a lane forgets the unused ones. With fewer keys it
  /// keeps all.
  static let least = 1_024
}
