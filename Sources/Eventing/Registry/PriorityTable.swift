/// The handlers of one event or key, in the order in which they are called: by descending priority,
/// and within a priority in the order of addition.
///
/// A value without synchronization; the core guards it.
///
/// Complexity: adding is O(1) with one priority and O(log *p*) with *p* priorities. Adding the
/// first handler of another priority is O(*p*). Removing costs as much as adding, amortized.
@safe @usableFromInline package struct PriorityTable: ~Copyable {
  @usableFromInline typealias BucketPointer = PriorityBucket.Pointer

  /// All buckets by descending priority, if there are several. Empty if there is one bucket, which
  /// needs no search.
  var index: ContiguousArray<BucketPointer> = unsafe []
  /// The number of slots, including dead ones.
  @usableFromInline package var count: Int32 = 0
  /// The number of dead slots: their handlers are unregistered, and their places are not yet
  /// removed.
  package var deadCount: Int32 = 0
  /// The slot whose handler is checked next for a lost owner or key: the index of the bucket, and
  /// the index of the slot in it. Changed by the thread inside the core, under `core.mutex`.
  @usableFromInline var sweep: (bucket: Int32, slot: Int32) = (0, 0)
  /// The bucket of the highest priority; each bucket has a pointer to the next.
  @usableFromInline var first: BucketPointer?

  init() {}

  /// Adds a handler behind the other handlers of its priority.
  ///
  /// - Parameter inGroup: Whether the caller will call ``sortGroup()``.
  mutating func append(
    _ body: ErasedHandler, _ record: HandlerRecord, priority: Int, inGroup: Bool = false
  ) {
    let bucket: BucketPointer
    if let only = unsafe first, unsafe index.isEmpty, unsafe only.pointee.priority == priority {
      unsafe bucket = unsafe only
    } else {
      unsafe bucket = unsafe makeBucket(priority)
    }
    unsafe bucket.pointee.append(body, record, inGroup: inGroup)
    count &+= 1
  }

  /// Puts the handlers of a group, which have just been appended, in their order.
  mutating func sortGroup() {
    unsafe forEachBucket { bucket in if unsafe bucket.pointee.groupStart >= 0 { unsafe bucket.pointee.sortGroup() } }
  }

  /// Removes a handler. If other slots follow its slot in the bucket, a dead slot may keep the
  /// place until the table is compacted.
  ///
  /// - Returns: The slot with the closure. The caller releases it where user code may run, so not
  ///   under the mutex.
  mutating func remove(_ record: HandlerRecord, priority: Int) -> HandlerSlot {
    guard let bucket = unsafe bucket(of: priority) else {
      preconditionFailure("a slot is in the bucket of its priority")
    }
    let before = unsafe (count: bucket.pointee.count, dead: bucket.pointee.deadCount)
    let slot = unsafe bucket.pointee.remove(record)
    unsafe count &-= before.count &- bucket.pointee.count
    unsafe deadCount &+= bucket.pointee.deadCount &- before.dead
    if unsafe bucket.pointee.count == 0, priority != 0 { dropBucket(priority) }
    return slot
  }

  /// Removes the dead slots.
  mutating func compact() {
    count &-= deadCount
    deadCount = 0
    unsafe forEachBucket { bucket in if unsafe bucket.pointee.deadCount > 0 { unsafe bucket.pointee.compact() } }
    let empty = unsafe index.filter { unsafe $0.pointee.count == 0 && $0.pointee.priority != 0 }.map {
      unsafe $0.pointee.priority
    }
    for priority in empty { dropBucket(priority) }
  }

  // MARK: Walking

  borrowing func forEachBucket(_ body: (BucketPointer) -> Void) {
    var bucket = unsafe first
    while let here = unsafe bucket {
      unsafe bucket = unsafe here.pointee.next
      unsafe body(here)
    }
  }

  /// Calls `body` with each slot in order, including slots of unregistered handlers.
  @inline(never) borrowing func forEachSlot(_ body: (UnsafeMutablePointer<HandlerSlot>) -> Void) {
    unsafe forEachBucket { bucket in
      for i in unsafe 0..<Int(bucket.pointee.count) { unsafe body(bucket.pointee.slots + i) }
    }
  }

  /// Returns the next handler for the sweep, in which the caller unregisters handlers whose owner
  /// or key is gone. After the last slot, the sweep goes on with the first one. `nil` if the table
  /// is empty, or if the handler of the next slot has been unregistered. Complexity: O(1).
  mutating func nextToSweep() -> HandlerRecord? {
    if unsafe Int(sweep.bucket) >= max(1, index.count) { sweep = (0, 0) }
    guard let bucket = unsafe index.isEmpty ? first : index[Int(sweep.bucket)] else { return nil }
    let slot = Int(sweep.slot)
    sweep.slot &+= 1
    if unsafe sweep.slot >= bucket.pointee.count { sweep = (sweep.bucket &+ 1, 0) }
    guard unsafe slot < bucket.pointee.count else { return nil }
    let record = unsafe bucket.pointee.slots[slot].record
    return unsafe record.index >= 0 ? record : nil
  }

  /// Whether ``nextToSweep()`` has come to the end of the table, and will begin with the first
  /// handler again.
  var isSweepDone: Bool { unsafe Int(sweep.bucket) >= max(1, index.count) || first == nil }

  @inlinable deinit {
    var bucket = unsafe first
    while let here = unsafe bucket {
      unsafe bucket = unsafe here.pointee.next
      unsafe here.deinitialize(count: 1)
      unsafe here.deallocate()
    }
  }
}
