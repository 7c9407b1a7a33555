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
    // A record gets its id before it is added, so a larger id may come here first. Slots are in the
    // order of ids, so that ids tell the order of handlers.
    while unsafe record.index > 0, unsafe slots[Int(record.index) - 1].record.id > record.id { moveUp(record) }
  }

  /// If each slot moved up by itself, *n* handlers beside *m* that joined meanwhile would cost *n*
  /// × *m*.
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

  /// The caller releases the returned slot where user code may run, so not under the mutex.
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
