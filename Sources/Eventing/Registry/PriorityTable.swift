/// No synchronization; the core guards it. Adding is O(log *p*) for *p* priorities; the first
/// handler of another priority is O(*p*). Removing costs as much, amortized.
@safe @usableFromInline package struct PriorityTable: ~Copyable {
  @usableFromInline typealias BucketPointer = PriorityBucket.Pointer

  var index: ContiguousArray<BucketPointer> = unsafe []
  @usableFromInline package var count: Int32 = 0
  package var deadCount: Int32 = 0
  /// Changed inside the core, under `core.mutex`.
  @usableFromInline var sweep: (bucket: Int32, slot: Int32) = (0, 0)
  @usableFromInline var first: BucketPointer?

  init() {}

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

  mutating func sortGroup() {
    unsafe forEachBucket { bucket in if unsafe bucket.pointee.groupStart >= 0 { unsafe bucket.pointee.sortGroup() } }
  }

  /// The caller releases the slot where user code may run, so not under the mutex.
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

  @inline(never) borrowing func forEachSlot(_ body: (UnsafeMutablePointer<HandlerSlot>) -> Void) {
    unsafe forEachBucket { bucket in
      for i in unsafe 0..<Int(bucket.pointee.count) { unsafe body(bucket.pointee.slots + i) }
    }
  }

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
