/// A binary heap in blocks of memory, guarded by the mutex of the ``DelayQueue``. It grows and
/// shrinks one block at a time, because moving all entries would delay all other threads that use
/// the clock.
struct DelayHeap {
  private struct Entry {
    let deadline: Duration
    let number: UInt64
    let work: any DelayedWork

    func isBefore(_ other: Entry) -> Bool {
      deadline != other.deadline ? deadline < other.deadline : number < other.number
    }
  }

  private static var blockSize: Int { 512 }
  private var blocks: [[Entry]] = []
  private var count = 0
  private var lastNumber: UInt64 = 0

  var isEmpty: Bool { count == 0 }
  var firstDeadline: Duration? { count == 0 ? nil : self[0].deadline }

  mutating func insert(_ work: any DelayedWork, _ deadline: Duration) {
    lastNumber += 1
    let entry = Entry(deadline: deadline, number: lastNumber, work: work)
    let block = count / DelayHeap.blockSize
    if block == blocks.count {
      blocks.append([])
      blocks[block].reserveCapacity(DelayHeap.blockSize)
    }
    blocks[block].append(entry)
    count += 1
    siftUp(entry, from: count - 1)
  }

  mutating func popFirst(notAfter instant: Duration) -> (any DelayedWork)? {
    guard count > 0, self[0].deadline <= instant else { return nil }
    return remove(at: 0)
  }

  /// The caller must not release the last reference under the mutex.
  @discardableResult mutating func remove(at index: Int) -> any DelayedWork {
    let removed = self[index].work
    removed.heapIndex = -1
    count -= 1
    let last = blocks[count / DelayHeap.blockSize].removeLast()
    // One empty block is kept, so that work that comes and goes doesn't allocate each time.
    if blocks.count > count / DelayHeap.blockSize + 2 { blocks.removeLast() }
    guard index < count else { return removed }
    if index > 0, last.isBefore(self[(index - 1) / 2]) {
      siftUp(last, from: index)
    } else {
      siftDown(last, from: index)
    }
    return removed
  }

  private subscript(index: Int) -> Entry {
    get { blocks[index / DelayHeap.blockSize][index % DelayHeap.blockSize] }
    set {
      blocks[index / DelayHeap.blockSize][index % DelayHeap.blockSize] = newValue
      newValue.work.heapIndex = index
    }
  }

  private mutating func siftUp(_ entry: Entry, from start: Int) {
    var index = start
    while index > 0, case let parent = (index - 1) / 2, entry.isBefore(self[parent]) {
      self[index] = self[parent]
      index = parent
    }
    self[index] = entry
  }

  private mutating func siftDown(_ entry: Entry, from start: Int) {
    var index = start
    while case var child = 2 * index + 1, child < count {
      if child + 1 < count, self[child + 1].isBefore(self[child]) { child += 1 }
      guard self[child].isBefore(entry) else { break }
      self[index] = self[child]
      index = child
    }
    self[index] = entry
  }
}
