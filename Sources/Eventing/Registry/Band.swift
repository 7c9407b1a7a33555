/// The handlers of one priority, in the order of addition: rows in a buffer of their own, and the next band.
@safe @usableFromInline struct Band: ~Copyable {
  @usableFromInline typealias Pointer = UnsafeMutablePointer<Band>

  @usableFromInline var rows: UnsafeMutablePointer<Row>
  @usableFromInline var count: Int32 = 0
  @usableFromInline var capacity: Int32
  @usableFromInline var dead: Int32 = 0
  @usableFromInline let priority: Int
  @usableFromInline var next: Pointer?

  /// The fewest rows that a buffer is made for.
  @usableFromInline static var least: Int32 { 4 }

  @usableFromInline init(_ priority: Int, before next: Pointer?) {
    self.priority = priority
    unsafe self.next = unsafe next
    capacity = Band.least
    unsafe rows = .allocate(capacity: Int(Band.least))
  }

  /// Appends a row and tells its record where it is.
  @usableFromInline mutating func append(_ body: ErasedHandler, _ record: Record) {
    if count == capacity { resize(count < 512 ? 2 * count : count + count / 8) }
    unsafe (rows + Int(count)).initialize(to: Row(body, record))
    unsafe record.slot = count
    count &+= 1
    // Of two that are added at the same time, the one that got its number first comes first: so numbers tell the order.
    while unsafe record.slot > 0, unsafe rows[Int(record.slot) - 1].record.id > record.id { moveUp(record) }
  }

  @usableFromInline @inline(never) mutating func moveUp(_ record: Record) {
    let slot = unsafe record.slot
    let other = unsafe rows[Int(slot) - 1].record
    let row = unsafe (rows + Int(slot)).move()
    unsafe (rows + Int(slot)).moveInitialize(from: rows + Int(slot) - 1, count: 1)
    unsafe (rows + Int(slot) - 1).initialize(to: row)
    unsafe record.slot = slot - 1
    if unsafe other.slot >= 0 { unsafe other.slot = slot }
  }

  /// Takes a dead handler's closure out, and its row too if it is the last; otherwise a row without a closure keeps the place.
  ///
  /// The caller releases what it is given where user code may run.
  @usableFromInline mutating func remove(_ record: Record) -> Row {
    let slot = unsafe record.slot
    unsafe record.slot = -1
    let row = unsafe (rows + Int(slot)).move()
    if slot == count &- 1 {
      count &-= 1
      while count > 0, unsafe rows[Int(count) - 1].record.slot < 0 {
        count &-= 1
        dead &-= 1
        unsafe (rows + Int(count)).deinitialize(count: 1)
      }
    } else {
      unsafe (rows + Int(slot)).initialize(to: Row(.none, record))
      dead &+= 1
    }
    if dead > count / 2 { compact() } else { shrink() }
    return row
  }

  /// Closes the gaps. A dead row has no closure, so nothing is released that could run user code.
  @usableFromInline mutating func compact() {
    var to = 0
    for from in 0..<Int(count) {
      if unsafe rows[from].record.slot < 0 {
        unsafe (rows + from).deinitialize(count: 1)
        continue
      }
      if to != from {
        unsafe (rows + to).moveInitialize(from: rows + from, count: 1)
        unsafe rows[to].record.slot = Int32(to)
      }
      to += 1
    }
    dead = 0
    count = Int32(to)
    shrink()
  }

  @usableFromInline mutating func shrink() {
    var size = capacity
    while size > 64, count < size / 4 { size /= 2 }
    if size != capacity { resize(max(64, size)) }
  }

  @usableFromInline mutating func resize(_ size: Int32) {
    let other = UnsafeMutablePointer<Row>.allocate(capacity: Int(size))
    unsafe other.moveInitialize(from: rows, count: Int(count))
    unsafe rows.deallocate()
    unsafe rows = unsafe other
    capacity = size
  }

  @inlinable deinit {
    unsafe rows.deinitialize(count: Int(count))
    unsafe rows.deallocate()
  }
}
