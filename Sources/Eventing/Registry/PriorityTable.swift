/// Not synchronized, but guarded by the core. Adding is O(log *p*) for *p* priorities, or O(*p*)
/// for the first handler of a new priority. Removing costs the same, amortized.
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

  /// The caller releases the slot outside the mutex, because that may run user code.
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

@safe @usableFromInline struct PriorityBucket: ~Copyable {
  @usableFromInline typealias Pointer = UnsafeMutablePointer<PriorityBucket>

  @usableFromInline var slots: UnsafeMutablePointer<HandlerSlot>
  @usableFromInline var count: Int32 = 0
  var capacity: Int32
  var deadCount: Int32 = 0
  var groupStart: Int32 = -1
  @usableFromInline let priority: Int
  @usableFromInline var next: Pointer?

  static var minimumCapacity: Int32 { 4 }

  init(_ priority: Int, before next: Pointer?) {
    self.priority = priority
    unsafe self.next = unsafe next
    capacity = PriorityBucket.minimumCapacity
    unsafe slots = .allocate(capacity: Int(PriorityBucket.minimumCapacity))
  }

  mutating func append(_ body: ErasedHandler, _ record: HandlerRecord, inGroup: Bool) {
    if count == capacity { resize(count < 512 ? 2 * count : count + count / 8) }
    unsafe (slots + Int(count)).initialize(to: HandlerSlot(body, record))
    unsafe record.index = count
    count &+= 1
    if inGroup {
      if groupStart < 0 { unsafe groupStart = record.index }
      return
    }
    // A record gets its id before it is added, so a larger id may arrive first. Slots are sorted by
    // id, so that ids reflect the order of the handlers.
    while unsafe record.index > 0, unsafe slots[Int(record.index) - 1].record.id > record.id { moveUp(record) }
  }

  /// Moving up each slot by itself would cost *n* × *m* for *n* handlers and *m* others that joined
  /// at the same time.
  @inline(never) mutating func sortGroup() {
    let start = Int(groupStart)
    groupStart = -1
    guard start >= 0, start < count else { return }
    var oldest = UInt64.max
    for index in start..<Int(count) { oldest = unsafe min(oldest, slots[index].record.id) }
    var first = start
    while first > 0, unsafe slots[first - 1].record.id > oldest { first -= 1 }
    guard first < start else { return }
    let order = (first..<Int(count)).map { unsafe (id: slots[$0].record.id, index: $0) }.sorted { $0.id < $1.id }
    let sorted = UnsafeMutablePointer<HandlerSlot>.allocate(capacity: order.count)
    for (to, from) in order.enumerated() { unsafe (sorted + to).moveInitialize(from: slots + from.index, count: 1) }
    unsafe (slots + first).moveInitialize(from: sorted, count: order.count)
    unsafe sorted.deallocate()
    for index in first..<Int(count) where unsafe slots[index].record.index >= 0 {
      unsafe slots[index].record.index = Int32(index)
    }
  }

  @inline(never) mutating func moveUp(_ record: HandlerRecord) {
    let index = unsafe record.index
    let other = unsafe slots[Int(index) - 1].record
    let slot = unsafe (slots + Int(index)).move()
    unsafe (slots + Int(index)).moveInitialize(from: slots + Int(index) - 1, count: 1)
    unsafe (slots + Int(index) - 1).initialize(to: slot)
    unsafe record.index = index - 1
    if unsafe other.index >= 0 { unsafe other.index = index }
  }

  /// The caller releases the returned slot outside the mutex, because that may run user code.
  mutating func remove(_ record: HandlerRecord) -> HandlerSlot {
    let index = unsafe record.index
    unsafe record.index = -1
    let slot = unsafe (slots + Int(index)).move()
    if index == count &- 1 {
      count &-= 1
      while count > 0, unsafe slots[Int(count) - 1].record.index < 0 {
        count &-= 1
        deadCount &-= 1
        unsafe (slots + Int(count)).deinitialize(count: 1)
      }
    } else {
      unsafe (slots + Int(index)).initialize(to: HandlerSlot(.none, record))
      deadCount &+= 1
    }
    if deadCount > count / 2 { compact() } else { shrink() }
    return slot
  }

  mutating func compact() {
    var to = 0
    for from in 0..<Int(count) {
      if unsafe slots[from].record.index < 0 {
        unsafe (slots + from).deinitialize(count: 1)
        continue
      }
      if to != from {
        unsafe (slots + to).moveInitialize(from: slots + from, count: 1)
        unsafe slots[to].record.index = Int32(to)
      }
      to += 1
    }
    deadCount = 0
    if groupStart > 0 { groupStart = 0 }  // the slots of the group have moved down
    count = Int32(to)
    shrink()
  }

  mutating func shrink() {
    var size = capacity
    while size > 64, count < size / 4 { size /= 2 }
    if size != capacity { resize(max(64, size)) }
  }

  mutating func resize(_ size: Int32) {
    let other = UnsafeMutablePointer<HandlerSlot>.allocate(capacity: Int(size))
    unsafe other.moveInitialize(from: slots, count: Int(count))
    unsafe slots.deallocate()
    unsafe slots = unsafe other
    capacity = size
  }

  @inlinable deinit {
    unsafe slots.deinitialize(count: Int(count))
    unsafe slots.deallocate()
  }
}

extension PriorityTable {
  borrowing func bucket(of priority: Int) -> BucketPointer? {
    unsafe index.isEmpty ? first : index[position(of: priority)]
  }

  borrowing func position(of priority: Int) -> Int {
    var low = 0
    var high = unsafe index.count
    while low < high {
      let middle = (low + high) / 2
      if unsafe index[middle].pointee.priority > priority { low = middle + 1 } else { high = middle }
    }
    return low
  }

  @inline(never) mutating func makeBucket(_ priority: Int) -> BucketPointer {
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

  /// The empty bucket of priority 0 is kept, so that adding and removing the only handler doesn't
  /// allocate.
  @inline(never) mutating func dropBucket(_ priority: Int) {
    if unsafe index.isEmpty, let only = unsafe first { unsafe index.append(only) }
    let at = position(of: priority)
    let bucket = unsafe index.remove(at: at)
    if at > 0 { unsafe index[at - 1].pointee.next = unsafe bucket.pointee.next }
    unsafe bucket.deinitialize(count: 1)
    unsafe bucket.deallocate()
    rebuildIndex()
  }

  mutating func rebuildIndex() {
    unsafe first = unsafe index.first
    if unsafe index.count < 2 { unsafe index = unsafe [] }
  }
}
