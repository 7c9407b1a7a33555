/// The handlers of one priority, in the order of addition: slots in a buffer of their own, and the next bucket.
@safe @usableFromInline struct PriorityBucket: ~Copyable {
  @usableFromInline typealias Pointer = UnsafeMutablePointer<PriorityBucket>

  @usableFromInline var slots: UnsafeMutablePointer<HandlerSlot>
  @usableFromInline var count: Int32 = 0
  @usableFromInline var capacity: Int32
  @usableFromInline var deadCount: Int32 = 0
  @usableFromInline let priority: Int
  @usableFromInline var next: Pointer?

  /// The fewest slots that a buffer is made for.
  @usableFromInline static var least: Int32 { 4 }

  @usableFromInline init(_ priority: Int, before next: Pointer?) {
    self.priority = priority
    unsafe self.next = unsafe next
    capacity = PriorityBucket.least
    unsafe slots = .allocate(capacity: Int(PriorityBucket.least))
  }

  /// Appends a slot and tells its record where it is.
  @usableFromInline mutating func append(_ body: ErasedHandler, _ record: HandlerRecord) {
    if count == capacity { resize(count < 512 ? 2 * count : count + count / 8) }
    unsafe (slots + Int(count)).initialize(to: HandlerSlot(body, record))
    unsafe record.index = count
    count &+= 1
    // Of two that are added at the same time, the one that got its number first comes first: so numbers tell the order.
    while unsafe record.index > 0, unsafe slots[Int(record.index) - 1].record.id > record.id { moveUp(record) }
  }

  @usableFromInline @inline(never) mutating func moveUp(_ record: HandlerRecord) {
    let index = unsafe record.index
    let other = unsafe slots[Int(index) - 1].record
    let slot = unsafe (slots + Int(index)).move()
    unsafe (slots + Int(index)).moveInitialize(from: slots + Int(index) - 1, count: 1)
    unsafe (slots + Int(index) - 1).initialize(to: slot)
    unsafe record.index = index - 1
    if unsafe other.index >= 0 { unsafe other.index = index }
  }

  /// Takes a dead handler's closure out, and its slot too if it is the last; otherwise a slot without a closure keeps the place.
  ///
  /// The caller releases what it is given where user code may run.
  @usableFromInline mutating func remove(_ record: HandlerRecord) -> HandlerSlot {
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

  /// Closes the gaps. A dead slot has no closure, so nothing is released that could run user code.
  @usableFromInline mutating func compact() {
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
    count = Int32(to)
    shrink()
  }

  @usableFromInline mutating func shrink() {
    var size = capacity
    while size > 64, count < size / 4 { size /= 2 }
    if size != capacity { resize(max(64, size)) }
  }

  @usableFromInline mutating func resize(_ size: Int32) {
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
