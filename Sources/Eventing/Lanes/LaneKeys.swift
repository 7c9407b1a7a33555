import Synchronization

// Safe: each field says what guards it.
@safe final class KeyQueue: WaitNode, @unchecked Sendable {
  /// Safe: the handler owns the table of the key.
  unowned(unsafe) let queue: LaneQueue
  /// Also true between two attempts. Guarded by: lane.mutex.
  @exclusivity(unchecked) var isActive = false
  /// For a handler that takes batches, all items of the key. Guarded by: lane.mutex.
  @exclusivity(unchecked) var parked: PayloadQueue<LaneItem>
  // Guarded by: lane.mutex.
  @exclusivity(unchecked) var numbers = Deque<UInt64>()
  /// The waiting payloads may begin as a batch. Guarded by: lane.mutex.
  @exclusivity(unchecked) var isOpen = false
  /// An item for the key is in the handler's queue. Guarded by: lane.mutex.
  @exclusivity(unchecked) var isQueued = false
  // Guarded by: lane.mutex.
  @exclusivity(unchecked) var timer: Delay?
  /// Changed under lane.mutex.
  let worker = WorkerReference()
  // Isolation: core.
  @exclusivity(unchecked) var pushed = 0
  /// Changed under lane.mutex.
  let ended = Atomic<Int>(0)

  init(_ queue: LaneQueue) {
    unsafe self.queue = queue
    unsafe parked = PayloadQueue(queue.layout)
  }

  override func needs(_ goal: Invocation) -> WaitNeeds {
    if let worker = worker.load() { return unsafe .any([worker, queue]) }
    return unsafe queue.lane.needs
  }

  /// The caller holds `lane.mutex`.
  @inline(__always) func noteEnd(_ count: Int = 1) {
    ended.publish(ended.load(ordering: .relaxed) &+ count)
  }

  // MARK: The queue. The caller holds `lane.mutex`

  var hasCalls: Bool { unsafe !numbers.isEmpty }
  var waitingCount: Int { unsafe numbers.count }
  var hasBarrier: Bool { unsafe parked.count > numbers.count }
  var firstNumber: UInt64 { unsafe numbers.first ?? .max }

  func popCall(to address: UnsafeMutableRawPointer) -> LaneItem? {
    guard unsafe numbers.popFirst() != nil else { return nil }
    if !hasCalls { unsafe queue.parkedKeys[ObjectIdentifier(self)] = nil }
    return unsafe parked.popCall(to: address)
  }

  func popFollowers(_ after: inout HandlerLane.After) {
    while unsafe !parked.isEmpty, unsafe !parked.first.isCall {
      let item = unsafe parked.takeFirst()
      if let completion = item.completion { after.add { $0.passed.append((completion, self)) } }
    }
    unsafe parked.recycle()
  }

  func beginBatch(_ limit: Int, _ call: Call) {
    var number = 0
    while unsafe number < min(limit, parked.count), unsafe parked[number].isCall {
      number += 1
      _ = unsafe numbers.popFirst()
    }
    unsafe call.beginBatch(number, of: &parked, .passUnretained(self), queue.layout)
  }

  /// Barriers that wait for the key's running call stay.
  func popAll(into queue: inout PayloadQueue<LaneItem>, _ after: inout HandlerLane.After) {
    noteEnd(waitingCount)
    for _ in unsafe 0..<parked.count {
      let item = unsafe parked.takeFirst()
      if item.isCall {
        unsafe queue.append(item, takenFrom: &parked)
      } else if item.kind == .barrier, let completion = item.completion {
        if unsafe isActive { unsafe parked.append(item) } else { after.add { $0.passed.append((completion, self)) } }
      }
    }
    unsafe parked.recycle()
    unsafe (isOpen, isQueued) = (false, false)
    unsafe numbers = Deque()
  }

  /// The lane may still refer to the key after its occurrences have been dropped. Isolation: core.
  var isUsed: Bool {
    unsafe pushed != ended.load(ordering: .acquiring)
      || queue.lane.mutex.withLock { unsafe isActive || isQueued || !parked.isEmpty }
  }
}

extension PayloadQueue where Header == LaneItem {
  mutating func popCall(to address: UnsafeMutableRawPointer) -> LaneItem {
    var distance = 0
    while !self[distance].isCall { distance += 1 }
    if distance > 0 { return unsafe take(distance, to: address) }
    let item = unsafe takeFirst(to: address)
    recycle()
    return item
  }
}

/// Doesn't own the worker, because the workers of a lane with keys live as long as the lane. Set
/// before the call begins and cleared before another call can have the worker.
@safe struct WorkerReference: ~Copyable {
  private let worker = unsafe Atomic<Unmanaged<Worker>?>(nil)

  borrowing func load() -> Worker? { unsafe worker.load(ordering: .acquiring)?.takeUnretainedValue() }
  borrowing func set(_ new: Worker) { unsafe worker.publish(.passUnretained(new)) }
  borrowing func clear() { unsafe worker.publish(nil) }
}

/// A class, because a call through a protocol would retain the object.
// Safe: has no state; see TypedLaneKeys.
class LaneKeys: @unchecked Sendable {
  /// Runs user code. Isolation: core.
  func key(of payload: BorrowedPayload, on queue: LaneQueue) -> Unmanaged<KeyQueue> {
    preconditionFailure("each table overrides key(of:on:)")
  }
  func sweep() {}
  var count: Int { 0 }

  static let leastLimit = 1_024
}

// Safe: accessed only inside the core, except `storedCount`.
@safe final class TypedLaneKeys<Key: Hashable & Sendable>: LaneKeys, @unchecked Sendable {
  private let keyOf: @Sendable (BorrowedPayload) -> Key
  /// The table owns a reference to each key. With strong references, each lookup would retain the
  /// key.
  @exclusivity(unchecked) private var keys: [Key: Unmanaged<KeyQueue>] = unsafe [:]
  @exclusivity(unchecked) private var limit = LaneKeys.leastLimit
  private let storedCount = Atomic<Int>(0)

  init(_ keyOf: @escaping @Sendable (BorrowedPayload) -> Key) { self.keyOf = keyOf }

  deinit { unsafe keys.values.forEach { unsafe $0.release() } }

  override var count: Int { storedCount.load(ordering: .relaxed) }

  // Specialized for common key types. For other types, hashing and comparing go through the key's
  // witness table, which takes about 90 ns on x86-64 Linux.
  @_specialize(where Key == Int)
  @_specialize(where Key == UInt64)
  @_specialize(where Key == String)
  override func key(of payload: BorrowedPayload, on queue: LaneQueue) -> Unmanaged<KeyQueue> {
    let value = keyOf(payload)
    if let key = unsafe keys[value] {
      unsafe key._withUnsafeGuaranteedRef { unsafe $0.pushed &+= 1 }
      return unsafe key
    }
    if unsafe keys.count >= limit { sweep() }
    let key = unsafe Unmanaged.passRetained(KeyQueue(queue))
    unsafe key._withUnsafeGuaranteedRef { unsafe $0.pushed = 1 }
    unsafe keys[value] = key
    storedCount.store(unsafe keys.count, ordering: .relaxed)
    return unsafe key
  }

  override func sweep() {
    unsafe keys = unsafe keys.filter { _, key in
      let isUsed = unsafe key._withUnsafeGuaranteedRef { $0.isUsed }
      if !isUsed { unsafe key.release() }
      return isUsed
    }
    unsafe limit = max(LaneKeys.leastLimit, 2 * keys.count)
    storedCount.store(unsafe keys.count, ordering: .relaxed)
  }
}
