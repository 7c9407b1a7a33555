/// The handlers of one event in the order in which they are called: bands of descending priority, in each the order of addition.
///
/// A plain value without threads; the mailbox guards it. Adding costs O(1), with several priorities O(log priorities), and
/// O(priorities) for the first handler of a new one; removing costs the same, spread over the removals.
@safe @usableFromInline struct Table: ~Copyable {
  @usableFromInline typealias BandPointer = Band.Pointer

  /// All bands by descending priority, while there are several; one needs no search.
  @usableFromInline var index: ContiguousArray<BandPointer> = unsafe []
  /// How many rows there are, dead ones included.
  @usableFromInline var count: Int32 = 0
  /// How many of them are dead.
  @usableFromInline var dead: Int32 = 0
  /// The row that is looked at next for an owner that is gone, and so is changed under the lock, too: the band's place in the index, and the row's in the band.
  @usableFromInline var sweep: (band: Int32, row: Int32) = (0, 0)
  /// The band of the highest priority; each knows the next.
  @usableFromInline var first: BandPointer?

  @usableFromInline init() {}

  /// Adds a handler behind those of its priority.
  @usableFromInline mutating func append(_ body: ErasedHandler, _ record: Record, priority: Int) {
    let band: BandPointer
    if let only = unsafe first, unsafe index.isEmpty, unsafe only.pointee.priority == priority {
      unsafe band = unsafe only
    } else {
      unsafe band = unsafe makeBand(priority)
    }
    unsafe band.pointee.append(body, record)
    count &+= 1
  }

  /// Takes a handler's closure out of its row. The caller releases it where user code may run.
  @usableFromInline mutating func remove(_ record: Record, priority: Int) -> Row {
    guard let band = unsafe band(of: priority) else { preconditionFailure("a row is in the band of its priority") }
    let before = unsafe (count: band.pointee.count, dead: band.pointee.dead)
    let row = unsafe band.pointee.remove(record)
    unsafe count &-= before.count &- band.pointee.count
    unsafe dead &+= band.pointee.dead &- before.dead
    if unsafe band.pointee.count == 0, priority != 0 { dropBand(priority) }
    return row
  }

  /// Closes the gaps that removed handlers left.
  @usableFromInline mutating func compact() {
    count &-= dead
    dead = 0
    unsafe forEachBand { band in if unsafe band.pointee.dead > 0 { unsafe band.pointee.compact() } }
    let empty = unsafe index.filter { unsafe $0.pointee.count == 0 && $0.pointee.priority != 0 }.map { unsafe $0.pointee.priority }
    for priority in empty { dropBand(priority) }
  }

  // MARK: Walking

  @usableFromInline borrowing func forEachBand(_ body: (BandPointer) -> Void) {
    var band = unsafe first
    while let here = unsafe band {
      unsafe band = unsafe here.pointee.next
      unsafe body(here)
    }
  }

  /// Calls `body` with each row, dead ones too, in order.
  @usableFromInline borrowing func forEachRow(_ body: (UnsafeMutablePointer<Row>) -> Void) {
    unsafe forEachBand { band in
      for i in unsafe 0..<Int(band.pointee.count) { unsafe body(band.pointee.rows + i) }
    }
  }

  /// The handlers one after the other, over and over again, in O(1); nil where a row has none.
  @usableFromInline mutating func nextToLookAt() -> Record? {
    if unsafe Int(sweep.band) >= max(1, index.count) { sweep = (0, 0) }
    guard let band = unsafe index.isEmpty ? first : index[Int(sweep.band)] else { return nil }
    let row = Int(sweep.row)
    sweep.row &+= 1
    if unsafe sweep.row >= band.pointee.count { sweep = (sweep.band &+ 1, 0) }
    guard unsafe row < band.pointee.count else { return nil }
    let record = unsafe band.pointee.rows[row].record
    return unsafe record.slot >= 0 ? record : nil
  }

  /// Whether all handlers have been looked at since the first was.
  var isRoundDone: Bool { unsafe Int(sweep.band) >= max(1, index.count) || first == nil }

  // MARK: Bands

  /// The band of a priority that there is.
  @usableFromInline borrowing func band(of priority: Int) -> BandPointer? { unsafe index.isEmpty ? first : index[position(of: priority)] }

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

  @usableFromInline @inline(never) mutating func makeBand(_ priority: Int) -> BandPointer {
    if unsafe index.isEmpty, let only = unsafe first { unsafe index.append(only) }
    let at = position(of: priority)
    if unsafe at < index.count, unsafe index[at].pointee.priority == priority { return unsafe index[at] }
    let band = BandPointer.allocate(capacity: 1)
    unsafe band.initialize(to: Band(priority, before: at < index.count ? index[at] : nil))
    unsafe index.insert(band, at: at)
    if at > 0 { unsafe index[at - 1].pointee.next = unsafe band }
    settleIndex()
    return unsafe band
  }

  /// The band of priority 0 stays, so that adding and removing the only handler does not make it again and again.
  @usableFromInline @inline(never) mutating func dropBand(_ priority: Int) {
    if unsafe index.isEmpty, let only = unsafe first { unsafe index.append(only) }
    let at = position(of: priority)
    let band = unsafe index.remove(at: at)
    if at > 0 { unsafe index[at - 1].pointee.next = unsafe band.pointee.next }
    unsafe band.deinitialize(count: 1)
    unsafe band.deallocate()
    settleIndex()
  }

  @usableFromInline mutating func settleIndex() {
    unsafe first = unsafe index.first
    if unsafe index.count < 2 { unsafe index = unsafe [] }
  }

  @inlinable deinit {
    var band = unsafe first
    while let here = unsafe band {
      unsafe band = unsafe here.pointee.next
      unsafe here.deinitialize(count: 1)
      unsafe here.deallocate()
    }
  }
}
