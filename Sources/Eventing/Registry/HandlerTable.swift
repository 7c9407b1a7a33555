/// The handlers of one event in the order in which they are called: buckets of descending priority, in each the order of addition.
///
/// A plain value without threads; the core guards it. Adding costs O(1), with several priorities O(log priorities), and
/// O(priorities) for the first handler of a new one; removing costs the same, spread over the removals.
@safe @usableFromInline struct HandlerTable: ~Copyable {
  @usableFromInline typealias BucketPointer = PriorityBucket.Pointer

  /// All buckets by descending priority, while there are several; one needs no search.
  @usableFromInline var index: ContiguousArray<BucketPointer> = unsafe []
  /// How many slots there are, dead ones included.
  @usableFromInline var count: Int32 = 0
  /// How many of them are dead.
  @usableFromInline var deadCount: Int32 = 0
  /// The slot that is looked at next for an owner that is gone, and so is changed under the lock, too: the bucket's place in the index, and the slot's in the bucket.
  @usableFromInline var sweep: (bucket: Int32, slot: Int32) = (0, 0)
  /// The bucket of the highest priority; each knows the next.
  @usableFromInline var first: BucketPointer?

  @usableFromInline init() {}

  /// Adds a handler behind those of its priority.
  @usableFromInline mutating func append(_ body: ErasedHandler, _ record: HandlerRecord, priority: Int) {
    let bucket: BucketPointer
    if let only = unsafe first, unsafe index.isEmpty, unsafe only.pointee.priority == priority {
      unsafe bucket = unsafe only
    } else {
      unsafe bucket = unsafe makeBucket(priority)
    }
    unsafe bucket.pointee.append(body, record)
    count &+= 1
  }

  /// Takes a handler's closure out of its slot. The caller releases it where user code may run.
  @usableFromInline mutating func remove(_ record: HandlerRecord, priority: Int) -> HandlerSlot {
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

  /// Closes the gaps that removed handlers left.
  @usableFromInline mutating func compact() {
    count &-= deadCount
    deadCount = 0
    unsafe forEachBucket { bucket in if unsafe bucket.pointee.deadCount > 0 { unsafe bucket.pointee.compact() } }
    let empty = unsafe index.filter { unsafe $0.pointee.count == 0 && $0.pointee.priority != 0 }.map {
      unsafe $0.pointee.priority
    }
    for priority in empty { dropBucket(priority) }
  }

  // MARK: Walking

  @usableFromInline borrowing func forEachBucket(_ body: (BucketPointer) -> Void) {
    var bucket = unsafe first
    while let here = unsafe bucket {
      unsafe bucket = unsafe here.pointee.next
      unsafe body(here)
    }
  }

  /// Calls `body` with each slot, dead ones too, in order.
  @usableFromInline borrowing func forEachSlot(_ body: (UnsafeMutablePointer<HandlerSlot>) -> Void) {
    unsafe forEachBucket { bucket in
      for i in unsafe 0..<Int(bucket.pointee.count) { unsafe body(bucket.pointee.slots + i) }
    }
  }

  /// The handlers one after the other, over and over again, in O(1); nil where a slot has none.
  @usableFromInline mutating func nextToSweep() -> HandlerRecord? {
    if unsafe Int(sweep.bucket) >= max(1, index.count) { sweep = (0, 0) }
    guard let bucket = unsafe index.isEmpty ? first : index[Int(sweep.bucket)] else { return nil }
    let slot = Int(sweep.slot)
    sweep.slot &+= 1
    if unsafe sweep.slot >= bucket.pointee.count { sweep = (sweep.bucket &+ 1, 0) }
    guard unsafe slot < bucket.pointee.count else { return nil }
    let record = unsafe bucket.pointee.slots[slot].record
    return unsafe record.index >= 0 ? record : nil
  }

  /// Whether all handlers have been looked at since the first was.
  var isSweepDone: Bool { unsafe Int(sweep.bucket) >= max(1, index.count) || first == nil }

  // MARK: Bands

  /// The bucket of a priority that there is.
  @usableFromInline borrowing func bucket(of priority: Int) -> BucketPointer? {
    unsafe index.isEmpty ? first : index[position(of: priority)]
  }

  /// Where a priority is, or belongs, among several.
  @usableFromInline borrowing func position(of priority: Int) -> Int {
    var low = 0
    var high = unsafe index.count
    while low < high {
      let middle = (low + high) / 2
      if unsafe index[middle].pointee.priority > priority { low = middle + 1 } else { high = middle }
    }
    return low
  }

  @usableFromInline @inline(never) mutating func makeBucket(_ priority: Int) -> BucketPointer {
    if unsafe index.isEmpty, let only = unsafe first { unsafe index.append(only) }
    let at = position(of: priority)
    if unsafe at < index.count, unsafe index[at].pointee.priority == priority { return unsafe index[at] }
    let bucket = BucketPointer.allocate(capacity: 1)
    unsafe bucket.initialize(to: PriorityBucket(priority, before: at < index.count ? index[at] : nil))
    unsafe index.insert(bucket, at: at)
    if at > 0 { unsafe index[at - 1].pointee.next = unsafe bucket }
    rebuildIndex()
    return unsafe bucket
  }

  /// The bucket of priority 0 stays, so that adding and removing the only handler does not make it again and again.
  @usableFromInline @inline(never) mutating func dropBucket(_ priority: Int) {
    if unsafe index.isEmpty, let only = unsafe first { unsafe index.append(only) }
    let at = position(of: priority)
    let bucket = unsafe index.remove(at: at)
    if at > 0 { unsafe index[at - 1].pointee.next = unsafe bucket.pointee.next }
    unsafe bucket.deinitialize(count: 1)
    unsafe bucket.deallocate()
    rebuildIndex()
  }

  @usableFromInline mutating func rebuildIndex() {
    unsafe first = unsafe index.first
    if unsafe index.count < 2 { unsafe index = unsafe [] }
  }

  @inlinable deinit {
    var bucket = unsafe first
    while let here = unsafe bucket {
      unsafe bucket = unsafe here.pointee.next
      unsafe here.deinitialize(count: 1)
      unsafe here.deallocate()
    }
  }
}
